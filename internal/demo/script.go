package demo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"rcsupervisor/channel/pretend"
	"rcsupervisor/internal/supervisor"
)

// ErrUnexpected means that a step of the script came out otherwise than
// expected.
var ErrUnexpected = errors.New("not everything went as expected")

// patience bounds each step of the script. quiet is how long a second answer
// is waited for that must not come.
const (
	patience = 30 * time.Second
	quiet    = 700 * time.Millisecond
)

// A step of the script. play returns what happened, in the words of want when
// all is well.
type step struct {
	name string
	want string
	play func(context.Context, *stage, *supervisor.Supervisor) (string, error)
}

// Script plays a fixed conversation and writes for each step what was expected
// and what happened.
func Script(ctx context.Context, o Options) error {
	s, err := setUp(address(o.Addr), []bot{
		{name: "ada"},
		{name: "babbage", settings: "health:\n  silence: 2s\n  ping: 1s\n"},
		{name: "curie", settings: "health:\n  check: 5s\n"},
	})
	if err != nil {
		return err
	}
	super, err := s.supervise(func(supervisor.Event) {})
	if err != nil {
		return errors.Join(err, s.strike())
	}
	running, stop := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() { done <- super.Run(running, nil) }()
	good := 0
	for i, st := range steps {
		ok := perform(ctx, o.Out, i+1, st, s, super)
		if ok {
			good++
		}
	}
	stop()
	err = errors.Join(<-done, s.strike())
	fmt.Fprintf(o.Out, "demo: %d steps, %d as expected\n", len(steps), good)
	if err == nil && good != len(steps) {
		err = ErrUnexpected
	}
	return err
}

func perform(ctx context.Context, out io.Writer, n int, st step, s *stage, super *supervisor.Supervisor) bool {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	began := time.Now()
	got, err := st.play(ctx, s, super)
	if err != nil {
		got = err.Error()
	}
	mark := "ok  "
	if got != st.want {
		mark = "FAIL"
	}
	fmt.Fprintf(out, "%s %d. %s (%.1fs)\n", mark, n, st.name, time.Since(began).Seconds())
	folded(out, "       expected: ", st.want)
	folded(out, "       happened: ", got)
	return got == st.want
}

// folded writes a text after a head, in lines of at most 80 columns.
func folded(out io.Writer, head, text string) {
	const width = 80
	line := head
	for word := range strings.FieldsSeq(text) {
		if len(line)+len(word) > width && line != head && strings.TrimSpace(line) != "" {
			fmt.Fprintln(out, strings.TrimRight(line, " "))
			line = strings.Repeat(" ", len(head))
		}
		line += word + " "
	}
	fmt.Fprintln(out, strings.TrimRight(line, " "))
}

var steps = []step{
	{"three bots start", "ada, babbage and curie are online", func(ctx context.Context, s *stage, _ *supervisor.Supervisor) (string, error) {
		for _, t := range s.tenants {
			if err := s.watch.await(ctx, t.Name, online); err != nil {
				return "", fmt.Errorf("%s is not online: %w", t.Name, err)
			}
		}
		return "ada, babbage and curie are online", nil
	}},
	{"a direct message to ada", "ada: echo: hello", func(ctx context.Context, s *stage, _ *supervisor.Supervisor) (string, error) {
		return s.ask(ctx, "ada", s.direct["ada"], "hello")
	}},
	{"a mention of ada in the channel", "ada: echo: what time is it?", func(ctx context.Context, s *stage, _ *supervisor.Supervisor) (string, error) {
		return s.ask(ctx, "ada", s.lounge, "@ada what time is it?")
	}},
	{"a mention of babbage in the same channel", "babbage: echo: and you?; the others say nothing", func(ctx context.Context, s *stage, _ *supervisor.Supervisor) (string, error) {
		before := len(s.server.Messages(s.lounge))
		got, err := s.ask(ctx, "babbage", s.lounge, "@babbage and you?")
		if err != nil {
			return "", err
		}
		others := s.count(ctx, s.lounge, before, func(m pretend.Message) bool { return s.isBot(m) && m.User.Username != "babbage" })
		return got + "; " + says(others), nil
	}},
	{"a reaction to a question that was answered", "no second answer", func(ctx context.Context, s *stage, _ *supervisor.Supervisor) (string, error) {
		return s.touch(ctx, func(id string) { s.server.React(id, s.owner, ":tada:") })
	}},
	{"an edit of a question that was answered", "no second answer", func(ctx context.Context, s *stage, _ *supervisor.Supervisor) (string, error) {
		return s.touch(ctx, func(id string) { s.server.Edit(id, s.owner, "@ada what day is it?") })
	}},
	{"babbage's socket falls silent (its limit is 2s here)", "babbage: silent, then online; ada keeps her socket; babbage: echo: are you back?", silence},
	{"curie's token is refused", "curie: needs-token refused; the others are online", refuse},
	{"curie's token is replaced in her sealed file", "curie: echo: are you there?", replace},
}

func silence(ctx context.Context, s *stage, _ *supervisor.Supervisor) (string, error) {
	socket := s.sockets("ada")
	mark := s.watch.mark("babbage")
	mend := s.server.Break(pretend.Fault{Kind: pretend.Silent, User: "babbage"})
	err := s.watch.await(ctx, "babbage", func(_ supervisor.Event, seen []string) bool {
		return slices.ContainsFunc(seen[mark:], func(s string) bool { return strings.HasSuffix(s, " silent") })
	})
	mend()
	if err != nil {
		return "", fmt.Errorf("the silence was not noticed: %w", err)
	}
	if err := s.watch.await(ctx, "babbage", online); err != nil {
		return "", fmt.Errorf("babbage did not come back: %w", err)
	}
	kept := "ada keeps her socket"
	if now := s.sockets("ada"); !slices.Equal(now, socket) {
		kept = "ada's socket changed"
	}
	got, err := s.ask(ctx, "babbage", s.direct["babbage"], "are you back?")
	return "babbage: silent, then online; " + kept + "; " + got, err
}

func refuse(ctx context.Context, s *stage, _ *supervisor.Supervisor) (string, error) {
	s.server.RevokeTokens(s.bots["curie"])
	err := s.watch.await(ctx, "curie", func(_ supervisor.Event, seen []string) bool {
		return seen[len(seen)-1] == "needs-token refused"
	})
	if err != nil {
		return "", fmt.Errorf("the refusal was not noticed: %w", err)
	}
	for _, other := range []string{"ada", "babbage"} {
		if err := s.watch.await(ctx, other, online); err != nil {
			return "", fmt.Errorf("%s is not online: %w", other, err)
		}
	}
	return "curie: needs-token refused; the others are online", nil
}

func replace(ctx context.Context, s *stage, _ *supervisor.Supervisor) (string, error) {
	if err := s.seal(s.tenant("curie"), s.server.AddToken(s.bots["curie"])); err != nil {
		return "", err
	}
	if err := s.watch.await(ctx, "curie", online); err != nil {
		return "", fmt.Errorf("curie did not come back: %w", err)
	}
	return s.ask(ctx, "curie", s.direct["curie"], "are you there?")
}

func online(e supervisor.Event, _ []string) bool { return e.History.State == "online" }

// ask says something as the owner and returns what the bot says next in the
// room.
func (s *stage) ask(ctx context.Context, bot string, room pretend.Room, text string) (string, error) {
	before := len(s.server.Messages(room))
	s.server.Say(s.owner, room, text)
	var answer string
	err := s.server.Await(ctx, func() bool {
		for _, m := range s.server.Messages(room)[before:] {
			if m.User.Username == bot {
				answer = m.Text
				return true
			}
		}
		return false
	})
	if err != nil {
		return "", fmt.Errorf("%s did not answer: %w", bot, err)
	}
	return bot + ": " + answer, nil
}

// touch does something to the question in the channel that ada answered, and
// counts what bots say after it.
func (s *stage) touch(ctx context.Context, do func(id string)) (string, error) {
	all := s.server.Messages(s.lounge)
	i := slices.IndexFunc(all, func(m pretend.Message) bool { return strings.HasPrefix(m.Text, "@ada") })
	if i < 0 {
		return "", errors.New("the question is gone")
	}
	do(all[i].ID)
	if n := s.count(ctx, s.lounge, len(all), s.isBot); n > 0 {
		return fmt.Sprintf("%d more answers", n), nil
	}
	return "no second answer", nil
}

// count waits for what must not come, and counts it.
func (s *stage) count(ctx context.Context, room pretend.Room, from int, is func(pretend.Message) bool) int {
	select {
	case <-time.After(quiet):
	case <-ctx.Done():
	}
	n := 0
	for _, m := range s.server.Messages(room)[from:] {
		if is(m) {
			n++
		}
	}
	return n
}

func says(n int) string {
	if n == 0 {
		return "the others say nothing"
	}
	return fmt.Sprintf("the others say %d things", n)
}

func (s *stage) isBot(m pretend.Message) bool {
	_, ok := s.bots[m.User.Username]
	return ok
}

// sockets are the numbers of a bot's connections that are open.
func (s *stage) sockets(bot string) []uint64 {
	var open []uint64
	for _, c := range s.server.Connections(s.bots[bot]) {
		open = append(open, c.Number)
	}
	return open
}
