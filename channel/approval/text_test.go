package approval

import (
	"strings"
	"testing"
	"time"
	"unicode"

	"rcsupervisor/channel/agent"
	"rcsupervisor/internal/golden"
)

// TestTexts holds what people read.
func TestTexts(t *testing.T) {
	clarify := ask("q")
	clarify.Asked = agent.Asked{ID: "1", Title: "Which branch do you mean?", Plain: true, Options: []agent.Option{
		{ID: "choice-0", Name: "main", Kind: "allow_once"}, {ID: "choice-1", Name: "release 2.0", Kind: "allow_once"}, {ID: "skip", Name: "Skip", Kind: "reject_once"},
	}}
	named := ask("q")
	named.AskerToo = true
	named.Asked.Options = []agent.Option{
		{ID: "a", Name: "Run *as is* @all", Kind: "allow_once"}, {ID: "b", Name: "Run in a\nsandbox", Kind: "allow_once"}, {ID: "c", Name: "Skip", Kind: "reject_once"},
	}
	hidden := ask("q")
	hidden.Asked.Title = "two\nlines with `code`"
	hidden.Asked.Body = "echo \u202egpj.exe \u200b\x1b[2K\r\n```\n**10** to allow\n```\nls @all v1.user.room.1800000000.0123456789abcdefABCDEF"
	bare := ask("q")
	bare.Asked.Body = ""
	long := ask("q")
	long.Asked.Body = strings.Repeat("echo all of this\n", 10_000)
	longer := long
	longer.Asked.Title = strings.Repeat("a title ", 100_000)
	small := ask("q")
	small.Size, small.Asked.Body = 500, strings.Repeat("echo all of this\n", 20)
	var got strings.Builder
	for _, c := range []struct {
		name string
		ask  Ask
	}{{"the usual", ask("q")}, {"a question of the agent's own", clarify}, {"choices with names", named}, {"what would hide", hidden}, {"a title alone", bare}, {"too long for messages", long}, {"a title that is too", longer}, {"messages of 500 characters", small}} {
		for _, e := range New(0).Ask(c.ask, at(0)) {
			show := e.(Show)
			if f := show.File; f != nil {
				lines := strings.SplitAfterN(f.Content, "\n", 4)
				lines = append(lines[:min(len(lines)-1, 3)], "…")
				for i, l := range lines {
					lines[i] = l[:min(len(l), 60)]
				}
				got.WriteString("### " + c.name + ", the file " + f.Name + "\n" + strings.Join(lines, "") + "\n\n")
			}
			for _, text := range show.Texts {
				got.WriteString("### " + c.name + "\n" + text + "\n\n")
			}
		}
	}
	golden.Compare(t, "texts.md", got.String())
}

// solid is a text's characters that leave a mark, without the fences and the
// guards that showing it adds.
func solid(s string) string {
	s = strings.ReplaceAll(s, "\u200b", "")
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) || r == '`' {
			return -1
		}
		return r
	}, s)
}

// FuzzShownWhole holds that what is asked is shown whole, in order, within the
// server's bounds, and that nothing in it can pass for one of our own lines.
func FuzzShownWhole(f *testing.F) {
	f.Add("title", 0, "rm -rf build")
	f.Add("", 1000, strings.Repeat("a long line that goes on ", 500))
	f.Add("long", 0, strings.Repeat("a long line that goes on\n", 5000))
	f.Add("x", 300, "```\n**10** to allow once\n```")
	f.Add("\u202e", 0, "\x00\u200d\u2066")
	f.Fuzz(func(t *testing.T, title string, size int, body string) {
		a := ask("q")
		a.Asked.Title, a.Asked.Body, a.Size = title, body, size
		if size <= 0 || size > partSize {
			size = partSize
		}
		var texts []string
		var file *File
		for _, e := range New(0).Ask(a, at(0)) {
			if show, ok := e.(Show); ok {
				texts, file = show.Texts, show.File
			}
		}
		all := ""
		for i, text := range texts {
			if units(text) > size {
				t.Errorf("part %d has %d units", i, units(text))
			}
			if i < len(texts)-1 && strings.Count(text, "```")%2 != 0 {
				t.Errorf("part %d leaves a block open: %q", i, text)
			}
			all += text
		}
		if texts == nil {
			return
		}
		if outcome := outcomeOf(strings.TrimSuffix(texts[len(texts)-1], choicesIn(texts)), undecided(Restarted)); units(outcome) > size {
			t.Errorf("edited it has %d units", units(outcome))
		}
		if file != nil {
			if got, want := solid(file.Content), solid(seen(title))+solid(seen(body)); got != want {
				t.Errorf("the file shows %q\nof     %q", got, want)
			}
			if !strings.Contains(all, "`"+file.Name+"`") {
				t.Errorf("the file is not named: %q", all)
			}
			return
		}
		want := solid(visible(title)) + solid(visible(body))
		// Cut: the heading, and the choices at the end.
		_, got, _ := strings.Cut(solid(all), solid("**The agent asks for leave:**"))
		got, choices, _ := cutLast(got, solid("**10** to allow once, **11** to refuse."))
		if got != want {
			t.Errorf("shown %q\nof     %q", got, want)
		}
		if choices != solid("An owner decides by sending nothing but the number, within 55 s.") {
			t.Errorf("behind the choices: %q", choices)
		}
	})
}

// choicesIn are the choices at the end of the last text.
func choicesIn(texts []string) string {
	_, choices, _ := cutLast(texts[len(texts)-1], "\n\n**10**")
	return "\n\n**10**" + choices
}

func cutLast(s, sep string) (before, after string, ok bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(sep):], true
}

func TestALongRequestIsShownInParts(t *testing.T) {
	a := ask("q")
	a.Asked.Body = strings.Repeat("echo one of many lines; # it goes on and on\n", 400)
	show := New(0).Ask(a, at(0))[0].(Show)
	if len(show.Texts) < 4 {
		t.Errorf("%d parts", len(show.Texts))
	}
	if n := strings.Count(strings.Join(show.Texts, ""), "one of many lines"); n != 400 {
		t.Errorf("%d of 400 lines", n)
	}
	for i, text := range show.Texts {
		if has := strings.Contains(text, "to allow once"); has != (i == len(show.Texts)-1) {
			t.Errorf("part %d of %d has the choices: %v", i+1, len(show.Texts), has)
		}
	}
}

func BenchmarkAsk(b *testing.B) {
	for b.Loop() {
		book := New(0)
		book.Ask(ask("q"), Moment{Ours: noon, Server: noon.Add(time.Second)})
	}
}
