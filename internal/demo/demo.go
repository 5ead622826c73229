package demo

import (
	"context"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"rcsupervisor/internal/supervisor"
)

// Options say how a demo is shown.
type Options struct {
	Addr string    // where the server listens; "" for a free port of loopback
	Out  io.Writer // the address and the events
}

// Play runs the demo until ctx ends, and leaves nothing behind.
func Play(ctx context.Context, o Options) error {
	s, err := setUp(address(o.Addr), []bot{{name: "ada"}, {name: "babbage"}, {name: "curie"}})
	if err != nil {
		return err
	}
	show := &printer{out: o.Out, began: time.Now()}
	fmt.Fprintf(o.Out, `Three bots answer on a pretend Rocket.Chat. Chat with them as olivia:

    %s/#me=olivia

Each line below is something that happened. Ctrl-C ends the demo and removes it.

`, s.url)
	super, err := s.supervise(func(e supervisor.Event) {
		if ctx.Err() == nil { // how it ends is no part of the show
			show.event(e)
		}
	})
	if err == nil {
		err = super.Run(ctx, nil)
	}
	if err2 := s.strike(); err == nil {
		err = err2
	}
	return err
}

func address(addr string) string {
	if addr == "" {
		return "127.0.0.1:0"
	}
	return addr
}

// A printer writes one line per event that a person cares for.
type printer struct {
	out   io.Writer
	began time.Time

	mu       sync.Mutex
	answered map[string]uint64
	state    map[string]string
}

func (p *printer) event(e supervisor.Event) {
	if e.Record != nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.state == nil {
		p.state, p.answered = make(map[string]string), make(map[string]uint64)
	}
	state := strings.TrimSpace(string(e.History.State) + " " + parens(string(e.History.Reason)))
	if state != p.state[e.Profile] {
		p.state[e.Profile] = state
		p.line(e.Profile, state)
	}
	if e.Report == nil {
		return
	}
	if n := e.Report.Counters.Answered; n > p.answered[e.Profile] {
		p.answered[e.Profile] = n
		p.line(e.Profile, fmt.Sprintf("answered (%d so far)", n))
	}
}

func (p *printer) line(name, what string) {
	fmt.Fprintf(p.out, "%7.2fs  %-8s %s\n", time.Since(p.began).Seconds(), name, what)
}

func parens(s string) string {
	if s == "" {
		return ""
	}
	return "(" + s + ")"
}
