package acp

import (
	"context"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"rcsupervisor/channel/agent"
)

// A stage is an agent with a home, and the processes that were started for it.
type stage struct {
	*Agent
	t     *testing.T
	home  string
	log   *locked
	mu    sync.Mutex
	specs []agent.Spec
	procs []*piped
	play  func(*peer)  // what a piped process does
	idle  atomic.Int64 // idle_stop
	fault error        // of the next start

	changed chan struct{} // capacity 1
	change  []func(*Config)
}

// newStage returns an agent whose process is a script behind pipes, for tests
// that turn the clock.
func newStage(t *testing.T, play func(*peer), change ...func(*Config)) *stage {
	t.Helper()
	s := &stage{t: t, home: t.TempDir(), play: play, change: change}
	if err := os.MkdirAll(filepath.Join(s.home, "rocketchat", "state"), 0o700); err != nil {
		t.Fatal(err)
	}
	s.begin()
	return s
}

// begin makes the stage's agent, anew when there was one.
func (s *stage) begin() {
	s.log, s.changed = &locked{}, make(chan struct{}, 1)
	c := Config{IdleStop: func() time.Duration { return time.Duration(s.idle.Load()) }}
	c.Program = agent.Program{
		Home: s.home, Command: []string{"agent"},
		Env:   func() ([]string, error) { return []string{"PATH=/usr/bin:/bin"}, nil },
		Spawn: s.spawn,
		Changed: func() {
			select {
			case s.changed <- struct{}{}:
			default:
			}
		},
		Log: slog.New(slog.NewTextHandler(s.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	}
	for _, f := range s.change {
		f(&c)
	}
	s.Agent = New(c)
}

// A locked is a text that several goroutines write.
type locked struct {
	mu sync.Mutex
	b  strings.Builder
}

func (l *locked) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func (l *locked) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(b)
}

func (s *stage) spawn(_ context.Context, spec agent.Spec) (agent.Process, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.specs = append(s.specs, spec)
	if s.fault != nil {
		return nil, s.fault
	}
	p := newPiped(s.play)
	s.procs = append(s.procs, p)
	return p, nil
}

func (s *stage) started() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.specs)
}

// close ends the agent, which has to take less time than it is given.
func (s *stage) close() {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if err := s.Close(ctx); err != nil {
		s.t.Errorf("Close: %v", err)
	}
}

// A piped process is a script in our own.
type piped struct {
	in        *io.PipeWriter
	out, errs *io.PipeReader
	theirs    *io.PipeReader
	stdout    *io.PipeWriter
	gone      chan struct{}
	once      sync.Once
	mu        sync.Mutex
	exit      error
}

func newPiped(play func(*peer)) *piped {
	p := &piped{gone: make(chan struct{})}
	p.theirs, p.in = io.Pipe()
	p.out, p.stdout = io.Pipe()
	var e *io.PipeWriter
	p.errs, e = io.Pipe()
	go func() {
		play(newPeer(p.theirs, p.stdout))
		e.Close()
		p.end(nil)
	}()
	return p
}

func (p *piped) end(err error) {
	p.once.Do(func() {
		p.mu.Lock()
		p.exit = err
		p.mu.Unlock()
		p.theirs.CloseWithError(io.EOF)
		p.stdout.Close()
		p.errs.CloseWithError(io.EOF)
		close(p.gone)
	})
}

func (p *piped) Stdin() io.WriteCloser { return p.in }
func (p *piped) Stdout() io.Reader     { return p.out }
func (p *piped) Stderr() io.Reader     { return p.errs }

func (p *piped) Kill() error {
	p.end(os.ErrProcessDone)
	return nil
}

func (p *piped) Wait() error {
	<-p.gone
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.exit
}

// question is one in a conversation.
func question(conversation, prompt string) agent.Question {
	return agent.Question{Profile: "alice", Conversation: conversation, Prompt: prompt}
}

// An outcome is all that came of a turn.
type outcome struct {
	text     string
	notices  []string
	progress []string
	asked    []agent.Asked
	took     []string // withdrawn
	files    []agent.FileOut
	done     agent.Done
	dones    int
}

// ask gives a question and answers its requests with decide, "" refuses.
func (s *stage) ask(conversation, prompt string, decide func(agent.Turn, agent.Asked)) outcome {
	s.t.Helper()
	turn, err := s.Begin(context.Background(), question(conversation, prompt))
	if err != nil {
		s.t.Fatal(err)
	}
	return watch(turn, decide)
}

func watch(turn agent.Turn, decide func(agent.Turn, agent.Asked)) (o outcome) {
	for e := range turn.Events() {
		switch e := e.(type) {
		case agent.Text:
			o.text += e.Chunk
		case agent.Notice:
			o.notices = append(o.notices, e.Text)
		case agent.Progress:
			o.progress = append(o.progress, e.Title)
		case agent.Withdrawn:
			o.took = append(o.took, e.ID)
		case agent.FileOut:
			o.files = append(o.files, e)
		case agent.Asked:
			o.asked = append(o.asked, e)
			if decide != nil {
				decide(turn, e)
			}
		case agent.Done:
			o.done = e
			o.dones++
		}
	}
	return o
}

// choose answers every request with one option.
func choose(option string) func(agent.Turn, agent.Asked) {
	return func(t agent.Turn, a agent.Asked) {
		if err := t.Answer(a.ID, option); err != nil {
			panic(a.Title + ": " + err.Error())
		}
	}
}
