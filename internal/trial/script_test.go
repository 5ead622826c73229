package trial

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"rcsupervisor/channel/agent"
)

// A script is an agent that answers each question with its id, in one to three
// parts, after as long as a thought takes.
type script struct {
	begun func(id string)      // called before anything else is done for a question
	think func() time.Duration // how long an answer takes
	ready func(id string)      // called when an answer is about to be given
	turns sync.WaitGroup
	quit  context.Context
	close context.CancelFunc
}

var _ agent.Agent = (*script)(nil)

func newScript() *script {
	s := &script{begun: func(string) {}, think: func() time.Duration { return 0 }, ready: func(string) {}}
	s.quit, s.close = context.WithCancel(context.Background())
	return s
}

func (s *script) Begin(_ context.Context, q agent.Question) (agent.Turn, error) {
	s.begun(q.Message.ID)
	ctx, cancel := context.WithCancel(s.quit)
	t := &scripted{events: make(chan agent.Event, 4), cancel: cancel}
	s.turns.Go(func() {
		defer cancel()
		s.answer(ctx, q.Message.ID, t.events)
	})
	return t, nil
}

// answer says the text in two pieces, which have no say in where it is cut.
func (s *script) answer(ctx context.Context, id string, events chan<- agent.Event) {
	defer close(events)
	if d := s.think(); d > 0 {
		timer := time.NewTimer(d)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
			events <- agent.Done{Stop: agent.Cancelled}
			return
		}
	}
	s.ready(id)
	text := strings.Join(answer(id), "\n\n")
	events <- agent.Text{Chunk: text[:len(text)/3]}
	events <- agent.Text{Chunk: text[len(text)/3:]}
	events <- agent.Done{Stop: agent.Ended}
}

func (s *script) State() agent.State { return agent.State{Kind: "script", State: agent.Ready} }

func (s *script) Close(context.Context) error {
	s.close()
	s.turns.Wait()
	return nil
}

type scripted struct {
	events chan agent.Event
	cancel context.CancelFunc
}

func (t *scripted) Events() <-chan agent.Event  { return t.events }
func (t *scripted) Cancel()                     { t.cancel() }
func (t *scripted) Answer(string, string) error { return errors.New("a script asks nothing") }

// parts is of how many parts the answer to a question is.
func parts(id string) int {
	h := fnv.New32a()
	h.Write([]byte(id))
	return 1 + int(h.Sum32()%3)
}

// filler makes a part so long that no two of them fit into one message.
var filler = strings.TrimSpace(strings.Repeat("and so on ", 260))

// answer is the whole answer to a question, part by part.
func answer(id string) []string {
	all := make([]string, parts(id))
	for i := range all {
		all[i] = fmt.Sprintf("answer to %s, part %d of %d: %s", id, i+1, len(all), filler)
	}
	return all
}

var partForm = regexp.MustCompile(`^answer to (\S+), part (\d) of (\d): `)

// partOf reads of which question a text is a part, and which.
func partOf(text string) (id string, index int, ok bool) {
	m := partForm.FindStringSubmatch(text)
	if m == nil {
		return "", 0, false
	}
	n, err := strconv.Atoi(m[2])
	return m[1], n - 1, err == nil
}
