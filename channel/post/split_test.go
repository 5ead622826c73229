package post

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/rivo/uniseg"
	"pgregory.net/rapid"
)

// limit is what a part may hold, as the channel uses it.
const limit = 4800

func words(n int) string { return strings.TrimSpace(strings.Repeat("word ", n)) }

func TestSplitWhatFitsIsOnePart(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"hello", "hello"},
		{"\n\n  hello\nthere  \n", "  hello\nthere"},
		{"```go\nx := 1\n```", "```go\nx := 1\n```"},
		{"```go\nnever closed", "```go\nnever closed"},
		{strings.Repeat("a", limit), strings.Repeat("a", limit)},
		{strings.Repeat("😀", limit/2), strings.Repeat("😀", limit/2)},
	} {
		if got := Split(c.in, limit); !slices.Equal(got, []string{c.want}) {
			t.Errorf("%.40q: %.80q", c.in, got)
		}
	}
	for _, nothing := range []string{"", " ", "\n\n\n", "\x00\x01", "\ufeff", strings.Repeat(" \n", limit)} {
		if got := Split(nothing, limit); len(got) != 0 {
			t.Errorf("%.40q has %d parts: %.40q", nothing, len(got), got)
		}
	}
}

// x is a word of so many letters.
func x(n int) string { return strings.Repeat("x", n) }

// splitPlaces are texts, and where each is cut.
var splitPlaces = []struct {
	name  string
	in    string
	limit int
	want  []string
}{
	{
		"between paragraphs, though more lines would fit",
		x(40) + "\n\n" + x(30) + "\n" + x(20) + "\n" + x(20), 100,
		[]string{x(40) + "\n\n" + x(30) + "\n" + x(20), x(20)},
	},
	{
		"a paragraph that ends past the half wins over a later line",
		x(60) + "\n\n" + x(20) + "\n" + x(60), 100,
		[]string{x(60), x(20) + "\n" + x(60)},
	},
	{
		"between lines, if the paragraph would leave a small part",
		x(10) + "\n\n" + x(50) + "\n" + x(60), 100,
		[]string{x(10) + "\n\n" + x(50), x(60)},
	},
	{
		"between sentences, if the lines would",
		x(10) + "\n" + "This is one. This is two of them. And " + x(70), 64,
		[]string{x(10) + "\nThis is one. This is two of them.", "And", x(64), x(6)},
	},
	{
		"between words", words(30), 64,
		[]string{words(13), words(13), words(4)},
	},
	{
		"a word that is too long for the rest goes to the next part whole",
		x(20) + "\n" + x(60), 64,
		[]string{x(20), x(60)},
	},
	{
		"between graphemes", strings.Repeat("👩‍👩‍👧‍👦", 8), 64, // 11 units each
		[]string{strings.Repeat("👩‍👩‍👧‍👦", 5), strings.Repeat("👩‍👩‍👧‍👦", 3)},
	},
	{
		"flags are pairs", strings.Repeat("🇩🇪", 20), 66,
		[]string{strings.Repeat("🇩🇪", 16), strings.Repeat("🇩🇪", 4)},
	},
	{
		"an accent stays with its letter", strings.Repeat("e\u0301", 50), 65,
		[]string{strings.Repeat("e\u0301", 32), strings.Repeat("e\u0301", 18)},
	},
	{
		"where a script has no spaces", strings.Repeat("漢字", 40), 64,
		[]string{strings.Repeat("漢字", 32), strings.Repeat("漢字", 8)},
	},
	{
		"the indent of a line is kept",
		x(60) + "\n    - point", 64,
		[]string{x(60), "    - point"},
	},
	{
		"not in a code span",
		x(50) + " `some code here` " + x(20), 64,
		[]string{x(50), "`some code here` " + x(20)},
	},
	{
		"nor in one of more backticks",
		x(50) + " ``a ` b c d e f`` " + x(20), 64,
		[]string{x(50), "``a ` b c d e f`` " + x(20)},
	},
	{
		"a backtick alone begins nothing",
		x(50) + " `some code here " + x(20), 64,
		[]string{x(50) + " `some code", "here " + x(20)},
	},
	{
		"not in a link",
		x(40) + " [a text of words](https://a.example/b(c)) " + x(20), 64,
		[]string{x(40), "[a text of words](https://a.example/b(c)) " + x(20)},
	},
	{
		"not in an address",
		x(40) + " https://a.example/one-two-three-four/five?six=seven#eight " + x(20), 64,
		[]string{x(40), "https://a.example/one-two-three-four/five?six=seven#eight", x(20)},
	},
	{
		"in a code span that is longer than a part, between its words",
		"`" + words(20) + "`", 64,
		[]string{"`" + words(12), words(8) + "`"},
	},
	{
		"a cut calls nobody",
		x(60) + "@allison", 64,
		[]string{x(60), "@allison"},
	},
	{
		"nor at a hyphen",
		x(55) + " @here-bot" + x(50), 64,
		[]string{x(55), "@here-bot" + x(50)},
	},
	{
		"nor in the midst of a name longer than a part",
		x(50) + "@all---" + x(80), 64,
		[]string{x(50), "@all---" + x(57), x(23)},
	},
	{
		"white space that is longer than a part goes",
		"a" + strings.Repeat(" ", 100) + "👩‍👩‍👧‍👦", 64,
		[]string{"a", "👩‍👩‍👧‍👦"},
	},
	{
		"and makes no fence of backticks within a line",
		x(61) + " ```\n" + x(20), 64,
		[]string{x(60), "x ```\n" + x(20)},
	},
}

func TestSplitPlaces(t *testing.T) {
	for _, c := range splitPlaces {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, Split(c.in, c.limit)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			hold(t, c.in, c.limit)
		})
	}
}

func TestSplitFences(t *testing.T) {
	row := func(n int) string { return strings.TrimSpace(strings.Repeat("0123456789\n", n)) }
	for _, c := range []struct {
		name  string
		in    string
		limit int
		want  []string
	}{
		{
			"closed, and opened again with its language",
			"```go\n" + row(10) + "\n```\nafter", 70,
			[]string{"```go\n" + row(5) + "\n```", "```go\n" + row(5) + "\n```\nafter"},
		},
		{
			"without the rest of what stood behind it",
			"```go title=\"a.go\"\n" + row(10) + "\n```", 100,
			[]string{"```go title=\"a.go\"\n" + row(7) + "\n```", "```go\n" + row(3) + "\n```"},
		},
		{
			"with as many backticks",
			"````md\n" + row(5) + "\n```\n" + row(5) + "\n````", 100,
			[]string{"````md\n" + row(5) + "\n```\n" + row(2) + "\n````", "````md\n" + row(3) + "\n````"},
		},
		{
			"not for nothing but its end",
			"```\n" + row(5) + "\n``` \nafter", 62 + 2,
			[]string{"```\n" + row(5) + "\n```", "after"},
		},
		{
			"one that fits the next part is not cut",
			strings.Repeat("x", 60) + "\n```\n" + row(5) + "\n```", 100,
			[]string{strings.Repeat("x", 60), "```\n" + row(5) + "\n```"},
		},
		{
			"blank lines in code are code",
			"```\n" + row(4) + "\n\n\n  " + row(4) + "\n```", 65,
			[]string{"```\n" + row(4) + "\n\n\n```", "```\n  " + row(4) + "\n```"},
		},
		{
			"spaces in code are code, too",
			"```\n" + strings.Repeat("ab  ", 30) + "\n```", 64,
			[]string{"```\n" + strings.Repeat("ab  ", 14) + "\n```", "```\n" + strings.Repeat("ab  ", 14) + "\n```", "```\n" + strings.Repeat("ab  ", 2) + "\n```"},
		},
		{
			"one that is never closed is closed from the first cut on",
			"```sh\n" + row(10), 66,
			[]string{"```sh\n" + row(5) + "\n```", "```sh\n" + row(5) + "\n```"},
		},
		{
			"indented backticks and tildes are none",
			"   ```go\n" + row(8), 66,
			[]string{"   ```go\n" + row(5), row(3)},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, Split(c.in, c.limit)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			hold(t, c.in, c.limit)
		})
	}
}

// A grapheme can be longer than any part; then it is cut between characters.
func TestSplitGraphemeLongerThanAPart(t *testing.T) {
	in := "e" + strings.Repeat("\u0301", 200)
	got := Split(in, 64)
	if len(got) != 4 || strings.Join(got, "") != in {
		t.Errorf("%d parts: %q", len(got), got)
	}
	hold(t, in, 64)
}

// What opens a code block can take a part alone; then its code begins the next.
func TestSplitAfterAFenceThatFillsItsPart(t *testing.T) {
	for room := range 12 {
		fence := "````" + strings.Repeat(" ", 70-len("````")-len("\n````")-1-room) + "a"
		in := fence + "\ncode\n````\n" + fence + "  \nmore code"
		got := Split(in, 70)
		if len(got) < 2 || !strings.Contains(strings.Join(got, "\n"), "more code") {
			t.Errorf("%q", got)
		}
		for limit := 64; limit < 90; limit++ {
			hold(t, in, limit)
		}
	}
	// As found: what is left of a row of backticks that is too long to be one.
	hold(t, strings.Repeat("a", 20)+" "+strings.Repeat("```", 41)+"    a"+strings.Repeat(" ", 50)+"\naa", 65)
}

func TestSplitLeastPart(t *testing.T) {
	for _, limit := range []int{-1, 0, 1, 63, 64} {
		if got := Split(strings.Repeat("x", 65), limit); len(got) != 2 || len(got[0]) != LeastPart {
			t.Errorf("limit %d: %q", limit, got)
		}
	}
}

// hold checks what Split promises of any text.
func hold(t interface {
	Helper()
	Fatalf(string, ...any)
}, text string, limit int,
) {
	t.Helper()
	clean := Defuse(text)
	limit = max(limit, LeastPart)
	parts := Split(text, limit)
	for i, p := range parts {
		if n := len(utf16.Encode([]rune(p))); n > limit {
			t.Fatalf("part %d has %d units, %d are allowed: %q", i, n, limit, p)
		}
		if strings.TrimSpace(p) == "" || !utf8.ValidString(p) || strings.ContainsFunc(p, unfit) {
			t.Fatalf("part %d is not fit to be posted: %q", i, p)
		}
		if Defuse(p) != p {
			t.Fatalf("part %d calls everybody: %q", i, p)
		}
		if i < len(parts)-1 && openAtEnd(p, limit) {
			t.Fatalf("part %d leaves its code open: %q\n%q", i, p, text)
		}
	}
	pieces(t, clean, limit, parts)
}

// pieces checks that parts are the text, piece by piece, with nothing but white
// space and an end of a code block left out between them.
func pieces(t interface {
	Helper()
	Fatalf(string, ...any)
}, text string, limit int, parts []string,
) {
	t.Helper()
	ends := graphemes(text)
	c := cutter{text: text, limit: limit}
	done, n, open := 0, 0, ""
	for p, more := c.next(); more; p, more = c.next() {
		gap := text[done:p.from]
		if left := strings.TrimSpace(gap); left != "" && (open == "" || strings.Trim(left, "`") != "" || len(left) < len(open)) {
			t.Fatalf("%q is lost between parts", gap)
		}
		if strings.TrimSpace(text[p.from:p.to]) != "" {
			if want := p.before + text[p.from:p.to] + p.after; n >= len(parts) || parts[n] != want {
				t.Fatalf("part %d isn't %q", n, want)
			}
			n++
		}
		for _, at := range []int{p.from, p.to} {
			if size := ends[at]; size > 1 && size < 16 {
				t.Fatalf("a grapheme is cut at %d: %q | %q", at, text[max(0, at-30):at], text[at:min(at+30, len(text))])
			}
		}
		if p.before != "" && !strings.HasPrefix(p.before, "```") || p.after != "" && !strings.HasPrefix(p.after, "\n```") {
			t.Fatalf("%q and %q are put around a part", p.before, p.after)
		}
		done, open = p.to, strings.TrimSpace(p.after)
	}
	if n != len(parts) || strings.TrimSpace(strings.Trim(strings.TrimSpace(text[done:]), "`")) != "" {
		t.Fatalf("%d parts, and %q is left", len(parts), text[done:])
	}
}

// graphemes tells of each place inside a grapheme how many units that has;
// places between two are not in it. One of white space with something on it is
// left out: at the end of a part white space may go.
func graphemes(text string) map[int]int {
	inside := map[int]int{}
	at, state, rest := 0, -1, text
	for rest != "" {
		var cluster string
		cluster, rest, _, state = uniseg.FirstGraphemeClusterInString(rest, state)
		if !strings.ContainsFunc(cluster, unicode.IsSpace) {
			for i := 1; i < len(cluster); i++ {
				inside[at+i] = len(utf16.Encode([]rune(cluster)))
			}
		}
		at += len(cluster)
	}
	return inside
}

// openAtEnd is whether a part leaves a code block open: a line of three to
// eight backticks, and up to the next of at least as many and nothing else.
func openAtEnd(part string, limit int) bool {
	open := 0
	for line := range strings.SplitSeq(part, "\n") {
		info := strings.TrimLeft(line, "`")
		n := len(line) - len(info)
		info = strings.TrimRight(info, " \t")
		switch {
		case n < 3 || n > 8:
		case open > 0 && n >= open && info == "":
			open = 0
		case open == 0 && len(info) <= limit/4 && !strings.Contains(info, "`"):
			open = n
		}
	}
	return open > 0
}

// scraps are what texts of every kind are made of.
var scraps = []string{
	"a", "word", " ", "  ", "\n", "\n\n", "\r\n", "\t", ".", ". ", "! ", "-", "_", "/",
	"```", "```go\n", "\n```\n", "\n````\n", "`", "``", "~~~\n", "[", "](", ")", "[t](https://a.example/b)", "https://a.example/a-b-c?d=e",
	"@all", "@here", "@allison", "@", "all", "@all-", ".com", "> ", "- ", "# ", "||", "*",
	"é", "e\u0301", "漢字", "สวัสดี", "שלום", "👩‍👩‍👧‍👦", "🇩🇪", "😀", "\u200d", "\u200b", "\u0600", "\ufeff", "\u2028", "\x00", "\x1b[31m", "\xff", "\xf0\x9f",
}

func TestSplitProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var b strings.Builder
		for range rapid.IntRange(0, 200).Draw(t, "scraps") {
			s := rapid.SampledFrom(scraps).Draw(t, "scrap")
			b.WriteString(strings.Repeat(s, rapid.SampledFrom([]int{1, 1, 1, 2, 5, 40}).Draw(t, "times")))
		}
		hold(t, b.String(), rapid.SampledFrom([]int{64, 65, 100, 333, limit}).Draw(t, "limit"))
	})
}

func FuzzSplit(f *testing.F) {
	for _, s := range scraps {
		f.Add(s, 64)
		f.Add(strings.Repeat(s, 100), 70)
	}
	f.Add("```go\n"+strings.Repeat("x := 1\n", 40)+"```\nand @allison\n", 80)
	f.Fuzz(func(t *testing.T, text string, limit int) {
		if len(text) > 20_000 {
			return
		}
		hold(t, text, limit%5000)
	})
}

// BenchmarkSplitOdd takes what tempts to look at the same text again and again,
// such as the opening of what never closes. The rate is what to look at: it is
// that of plain words within a factor, and the same for ten times as much.
func BenchmarkSplitOdd(b *testing.B) {
	for _, s := range []string{"word ", "[", "`", "](", "[a](", "``a`", "https://", "@all-", "```\n", "x", "\n", ". 1", "e\u0301", " \u0301"} {
		for _, size := range []int{100_000, 1_000_000} {
			text := strings.Repeat(s, size/len(s))
			b.Run(fmt.Sprintf("%q/%d", s, size), func(b *testing.B) {
				b.SetBytes(int64(len(text)))
				for b.Loop() {
					Split(text, limit)
				}
			})
		}
	}
}

func BenchmarkSplit(b *testing.B) {
	prose := strings.Repeat("A sentence of some words, as they are. And another one, `with code`, and a [link](https://a.example/x).\n", 10)
	for name, text := range map[string]string{
		"short":     "An answer of one line.",
		"paragraph": strings.Repeat(prose+"\n", 20),
		"one-line":  strings.ReplaceAll(strings.Repeat(prose, 20), "\n", " "),
		"code":      "```go\n" + strings.Repeat("\tx := append(x, 1) // a comment\n", 700) + "```\n",
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				Split(text, limit)
			}
		})
		b.Run(name+"/baseline", func(b *testing.B) { // reading it once, grapheme by grapheme
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				uniseg.GraphemeClusterCount(text)
			}
		})
	}
}

func ExampleSplit() {
	for i, part := range Split("First.\n\n```go\nfmt.Println(1)\n```\n\n"+strings.Repeat("And so on. ", 8), 72) {
		fmt.Printf("%d: %q\n", i, part)
	}
	// Output:
	// 0: "First.\n\n```go\nfmt.Println(1)\n```\n\nAnd so on. And so on. And so on."
	// 1: "And so on. And so on. And so on. And so on. And so on."
}
