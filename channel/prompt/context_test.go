package prompt

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"rcsupervisor/channel/chat"
)

// block returns the context's entries, without the lines around them; "" when
// there is none.
func block(prompt string) string {
	_, after, ok := strings.Cut(prompt, contextBegins)
	if !ok {
		return ""
	}
	inside, _, _ := strings.Cut(after, contextEnds)
	return inside
}

func earlier(n int, text string) (es []Earlier) {
	for i := range n {
		es = append(es, Earlier{Message: wrote(fmt.Sprint("m", i), alice, fmt.Sprintf("<%d>%s", i, text)), LetIn: true})
	}
	return es
}

func TestContextIsBounded(t *testing.T) {
	for _, c := range []struct {
		what            string
		messages, chars int
		earlier         []Earlier
		has, hasNot     []string
	}{
		{"none wanted", 0, 20000, earlier(3, ""), nil, []string{"<"}},
		{"no room", 20, 0, earlier(3, ""), nil, []string{"<"}},
		{"nothing said", 20, 20000, nil, nil, []string{"<"}},
		{"all fit", 20, 20000, earlier(3, ""), []string{"<0>", "<1>", "<2>"}, nil},
		{"the newest count", 2, 20000, earlier(5, ""), []string{"<3>", "<4>"}, []string{"<2>"}},
		{"by characters too", 20, 250, earlier(9, strings.Repeat("x", 100)), []string{"<8>"}, []string{"<6>"}},
		{"a long one is cut", 20, 400, earlier(1, strings.Repeat("x", 1000)), []string{"<0>", "(cut)"}, []string{strings.Repeat("x", 400)}},
		{"no gaps", 20, 300, append(earlier(1, "old"), earlier(2, strings.Repeat("x", 400))...), []string{"<1>"}, []string{"old"}},
		{"not a word of too long", 20, 90, earlier(1, strings.Repeat("x", 1000)), nil, []string{"<"}},
	} {
		got := block(Build(ask(func(q *Question) { q.Limits, q.Earlier = Limits{c.messages, c.chars}, c.earlier })))
		for _, s := range c.has {
			if !strings.Contains(got, s) {
				t.Errorf("%s: %q is missing in\n%s", c.what, s, got)
			}
		}
		for _, s := range c.hasNot {
			if strings.Contains(got, s) {
				t.Errorf("%s: %q stands in\n%s", c.what, s, got)
			}
		}
	}
}

func TestTheThreadsRootIsShown(t *testing.T) {
	es := earlier(30, strings.Repeat("x", 200))
	es[0].Root = true
	got := block(Build(ask(func(q *Question) { q.Limits, q.Earlier = Limits{5, 1000}, es })))
	if !strings.HasPrefix(got, "[Message that the thread is about") || !strings.Contains(got, "<0>") || !strings.Contains(got, "<29>") {
		t.Errorf("the root or the newest is missing:\n%s", got)
	}
	es[0].Message.Text = strings.Repeat("r", 5000)
	got = block(Build(ask(func(q *Question) { q.Limits, q.Earlier = Limits{5, 2000}, es })))
	if !strings.Contains(got, "(cut)") || !strings.Contains(got, "<29>") {
		t.Errorf("a long root leaves no room:\n%s", got)
	}
	if got = block(Build(ask(func(q *Question) { q.Limits, q.Earlier = Limits{1, 2000}, es }))); strings.Contains(got, "<29>") {
		t.Errorf("the root is one of the messages:\n%s", got)
	}
}

func TestWhatIsNoEarlierMessage(t *testing.T) {
	es := []Earlier{
		{Message: chat.Message{Type: "uj", Text: "hermes", Sender: alice}},
		{Message: chat.Message{Encrypted: true, Text: "c2VjcmV0", Sender: alice}},
		{Message: chat.Message{Ephemeral: true, Text: "psst", Sender: alice}},
		{Message: chat.Message{Text: " \u200b", Sender: alice}},
	}
	if got := block(Build(ask(func(q *Question) { q.Earlier = es }))); got != "" {
		t.Errorf("shown: %s", got)
	}
	es = append(es, Earlier{Message: chat.Message{Sender: bob, Files: []chat.File{{Name: "a].pdf"}}, Attachments: []chat.Attachment{{Description: "see page 3"}}}})
	want := "[Message, id u2, @bob] [unverified sender]\n    see page 3\n    (file: a .pdf)\n"
	if got := block(Build(ask(func(q *Question) { q.Earlier = es }))); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// Whatever was said, in whatever number and length, the context keeps its
// bounds and its order.
func TestContextBoundsHold(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limits := Limits{rapid.IntRange(0, 100).Draw(t, "messages"), rapid.IntRange(0, 3000).Draw(t, "chars")}
		lengths := rapid.SliceOfN(rapid.IntRange(0, 1500), 0, 40).Draw(t, "lengths")
		root := rapid.IntRange(-1, 40).Draw(t, "root")
		var es []Earlier
		for i, n := range lengths {
			es = append(es, Earlier{Message: wrote("m", alice, fmt.Sprintf("<%03d>", i)+strings.Repeat("ö\n", n/2)), Root: i == root})
		}
		got := block(Build(ask(func(q *Question) { q.Limits, q.Earlier = limits, es })))
		if n := utf8.RuneCountInString(got); n > limits.Chars {
			t.Fatalf("%d characters of %d", n, limits.Chars)
		}
		last, count := -1, 0
		for _, line := range strings.Split(got, "\n") {
			var i int
			if n, _ := fmt.Sscanf(strings.TrimSpace(line), "<%d>", &i); n == 1 {
				if i <= last {
					t.Fatalf("%d after %d", i, last)
				}
				last = i
				count++
			}
		}
		if count > limits.Messages {
			t.Fatalf("%d messages of %d", count, limits.Messages)
		}
		if root >= 0 && root < len(es) && limits.Messages > 0 && limits.Chars >= 1000 && !strings.Contains(got, fmt.Sprintf("<%03d>", root)) {
			t.Fatal("the root is missing")
		}
	})
}
