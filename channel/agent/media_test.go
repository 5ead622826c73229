package agent

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func scan(pieces ...string) (text string, paths []string) {
	var m MediaScan
	for _, p := range pieces {
		t, f := m.Write(p)
		text, paths = text+t, append(paths, f...)
	}
	t, f := m.End()
	return text + t, append(paths, f...)
}

func TestMediaLines(t *testing.T) {
	for _, c := range []struct{ in, text, paths string }{
		{"", "", ""},
		{"plain\ntext", "plain\ntext", ""},
		{"MEDIA:/a/b.png", "", "/a/b.png"},
		{"see\nMEDIA: out.png \nthere\n", "see\nthere\n", "out.png"},
		{"  MEDIA:`a b.png`\r\nMEDIA:\"c\"\n", "", "a b.png|c"},
		{"MEDIA:\nMEDIA: \n", "MEDIA:\nMEDIA: \n", ""},
		{"media:x\nthe MEDIA:x\nMEDIAN\n", "media:x\nthe MEDIA:x\nMEDIAN\n", ""},
		{"```sh\nMEDIA:x\n```\nMEDIA:y\n", "```sh\nMEDIA:x\n```\n", "y"},
		{"MEDIA:" + strings.Repeat("x", 5000) + "\nMEDIA:y", "MEDIA:" + strings.Repeat("x", 5000) + "\n", "y"},
	} {
		text, paths := scan(c.in)
		if text != c.text || strings.Join(paths, "|") != c.paths {
			t.Errorf("%.60q: %.60q %.60q", c.in, text, paths)
		}
	}
}

// However a text is cut into pieces, the same comes of it.
func TestMediaLinesInPieces(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		words := rapid.SliceOfN(rapid.SampledFrom([]string{"MEDIA:", "ME", "DIA:x", "\n", "a", " ", "```", "```\n", "MEDIA:/p\n", "é"}), 0, 30).Draw(t, "text")
		whole := strings.Join(words, "")
		var pieces []string
		for rest := whole; rest != ""; {
			n := rapid.IntRange(1, len(rest)).Draw(t, "cut")
			pieces, rest = append(pieces, rest[:n]), rest[n:]
		}
		text, paths := scan(whole)
		cutText, cutPaths := scan(pieces...)
		if text != cutText || strings.Join(paths, "\n") != strings.Join(cutPaths, "\n") {
			t.Fatalf("%q: %q %q\nin pieces %q: %q %q", whole, text, paths, pieces, cutText, cutPaths)
		}
	})
}
