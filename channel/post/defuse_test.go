package post

import (
	"testing"
	"unicode/utf8"
)

func TestDefuse(t *testing.T) {
	for in, want := range map[string]string{
		"":                          "",
		"nobody":                    "nobody",
		"@all":                      "@\u200ball",
		"@here":                     "@\u200bhere",
		"@All and @HERE":            "@\u200bAll and @\u200bHERE",
		"hello @all, and (@here)!":  "hello @\u200ball, and (@\u200bhere)!",
		"@all.":                     "@\u200ball.",
		"@all-":                     "@\u200ball-",
		"_@all_":                    "_@\u200ball_",
		"*@all*":                    "*@\u200ball*",
		"@all's":                    "@\u200ball's",
		"@all:example.org":          "@\u200ball:example.org",
		"@all/here":                 "@\u200ball/here",
		"@@all@here":                "@@\u200ball@\u200bhere",
		"foo@all":                   "foo@\u200ball",
		"`@all`":                    "`@\u200ball`",
		"```\n@all\n```":            "```\n@\u200ball\n```",
		"[@all](https://a.example)": "[@\u200ball](https://a.example)",
		"@allison":                  "@allison",
		"@all-hands":                "@all-hands",
		"@all_hands":                "@all_hands",
		"@here.bot":                 "@here.bot",
		"@all--------x":             "@all--------x",
		"@all---------x":            "@\u200ball---------x",
		"@all.-_x":                  "@all.-_x",
		"@alle @hereby @all1 @allé": "@alle @hereby @all1 @allé",
		"bob@here.example":          "bob@here.example",
		"@ all @al @her":            "@ all @al @her",
		"@\u200ball":                "@\u200ball", // done already

		// What is dropped must not make one of two halves.
		"@\x00all":           "@\u200ball",
		"@\ufeffhere":        "@\u200bhere",
		"@a\x1bll":           "@\u200ball",
		"a\r\nb\rc\td\x7fe":  "a\nb\nc\tde",
		"a\xffb\xf0\x9fc":    "a\ufffdb\ufffd\ufffdc",
		"\u0085x\u2028y":     "x\u2028y",
		"\ufeffhello\u200by": "hello\u200by",
	} {
		got := Defuse(in)
		if got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
		if Defuse(got) != got {
			t.Errorf("%q: again it is %q", in, Defuse(got))
		}
	}
}

func FuzzDefuse(f *testing.F) {
	for _, s := range scraps {
		f.Add(s + "@all" + s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got := Defuse(text)
		if !utf8.ValidString(got) || Defuse(got) != got {
			t.Errorf("%q: %q, and again %q", text, got, Defuse(got))
		}
	})
}
