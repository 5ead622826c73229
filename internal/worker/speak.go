package worker

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"rcsupervisor/channel"
	"rcsupervisor/sealed"
)

// speak is the supervisor's end of the link, from the worker's hello to the end
// of what it says. said is its last word, nil if there was none.
func (r *processRun) speak(conn net.Conn) (said *End, err error) {
	in := bufio.NewReader(conn)
	if err := r.greet(conn, in); err != nil {
		r.out.close()
		close(r.over)
		return nil, err
	}
	written := make(chan struct{})
	go func() {
		defer close(written)
		r.write(conn)
	}()
	said, err = r.read(in)
	close(r.over)
	r.out.close()
	conn.Close() // frees a writer that waits for a worker that does not read
	<-written
	r.dropAsks()
	return said, err
}

// greet hears the worker's hello, and hands over credentials and start.
func (r *processRun) greet(conn net.Conn, in *bufio.Reader) error {
	_ = conn.SetDeadline(time.Now().Add(helloWithin))
	k, body, err := readFrame(in, maxFromWorker)
	if err != nil {
		return err
	}
	if k != kindHello {
		return fmt.Errorf("%w: no hello", errNonsense)
	}
	var h wireHello
	if err := decode(body, &h); err != nil {
		return err
	}
	if h.V != linkVersion || h.Build != build() {
		return fmt.Errorf("%w: %w", errNonsense, errBuild(h))
	}
	if err := handOver(conn, r.job.Start); err != nil {
		return err
	}
	s := r.job.Start
	memory := r.job.Memory
	if r.group != nil && r.group.limited {
		memory = 0 // the cgroup holds it, for all together
	}
	err = writeJSON(conn, kindStart, wireStart{
		Profile: s.Profile, Home: s.Home, Run: s.Run, Memory: memory, wireFiles: wireFiles{s.Settings, s.Access, s.Siblings, s.CA},
	})
	r.out.handed(s.Credentials)
	r.job.Start.Credentials = sealed.Credentials{}
	_ = conn.SetDeadline(time.Time{})
	r.hear()
	return err
}

// handOver writes credentials, once, and leaves no copy.
func handOver(conn net.Conn, s channel.Start) error {
	data, err := s.Credentials.MarshalHandover()
	if err != nil {
		return err
	}
	defer clear(data)
	return writeFrame(conn, kindCredentials, data)
}

// write sends what is to be sent, as it comes, until the link ends.
func (r *processRun) write(conn net.Conn) {
	for {
		f, ok := r.out.next()
		if !ok {
			return
		}
		err := writeFrame(conn, f.kind, f.body)
		if f.kind == kindCredentials {
			clear(f.body)
		}
		if err != nil {
			return // the reader sees the end of it
		}
	}
}

// read takes in what the worker says, until it says no more.
func (r *processRun) read(in *bufio.Reader) (*End, error) {
	for {
		k, body, err := readFrame(in, maxFromWorker)
		if err != nil {
			return nil, err
		}
		r.hear()
		if err := r.flood.count(len(body), time.Now()); err != nil {
			return nil, err
		}
		end, err := r.take(k, body)
		if end != nil || err != nil {
			return end, err
		}
	}
}

// take takes one frame.
func (r *processRun) take(k kind, body []byte) (*End, error) {
	switch k {
	case kindReport:
		var report channel.Report
		if err := decode(body, &report); err != nil {
			return nil, err
		}
		if report.Run != r.job.Start.Run {
			return nil, fmt.Errorf("%w: a report of another run", errNonsense)
		}
		r.ear.Report(report)
	case kindLog:
		var rec channel.Record
		if err := decode(body, &rec); err != nil {
			return nil, err
		}
		r.ear.Log(rec)
	case kindTaken:
		var t wireTaken
		if err := decode(body, &t); err != nil {
			return nil, err
		}
		r.out.taken(t.Number)
	case kindAsk:
		var a wireAsk
		if err := decode(body, &a); err != nil {
			return nil, err
		}
		return nil, r.ask(a)
	case kindCancel:
		var c wireCancel
		if err := decode(body, &c); err != nil {
			return nil, err
		}
		r.forgetAsk(c.ID)
	case kindOver:
		var end End
		if err := decode(body, &end); err != nil {
			return nil, err
		}
		return &end, nil
	default:
		return nil, fmt.Errorf("%w: a frame of kind %q", errNonsense, byte(k))
	}
	return nil, nil
}

// maxAsks is how many questions of one worker may be open. A channel has a few
// turns and calls at a time; more is a fault.
const maxAsks = 512

// ask answers a question beside the reading.
func (r *processRun) ask(a wireAsk) error {
	ctx, cancel := context.WithCancel(context.Background())
	r.asking.Lock()
	_, twice := r.asks[a.ID]
	if twice || len(r.asks) >= maxAsks {
		r.asking.Unlock()
		cancel()
		return fmt.Errorf("%w: %d questions at a time", errNonsense, maxAsks)
	}
	r.asks[a.ID] = cancel
	r.asking.Unlock()
	r.work.Go(func() {
		reply := wireReply{ID: a.ID}
		var err error
		switch {
		case a.Permit != nil:
			err = r.ear.Allow(ctx, *a.Permit)
		case a.Request != nil:
			var answer channel.Reply
			answer, err = r.ear.Ask(ctx, *a.Request)
			reply.Reply = &answer
		default:
			err = errors.New("nothing was asked")
		}
		if err != nil {
			reply.Error = err.Error()
		}
		if r.forgetAsk(a.ID) {
			r.out.reply(reply)
		}
	})
	return nil
}

// forgetAsk drops a question, and reports whether it was still open.
func (r *processRun) forgetAsk(id uint64) bool {
	r.asking.Lock()
	defer r.asking.Unlock()
	cancel, ok := r.asks[id]
	if ok {
		cancel()
		delete(r.asks, id)
	}
	return ok
}

func (r *processRun) dropAsks() {
	r.asking.Lock()
	defer r.asking.Unlock()
	for id, cancel := range r.asks {
		cancel()
		delete(r.asks, id)
	}
}

// lastWords are what a worker writes to its stderr: of a Go program the story
// of its crash. The first lines are passed on.
type lastWords struct {
	ear   Ear
	lines int
	part  []byte
	first string // what a worker says that can't begin
}

// ownWords begin what a worker itself, and not Go, has to say at its end.
const ownWords = "worker: "

// Bounds of last words.
const (
	maxWords = 60
	maxWord  = 2000
)

func (w *lastWords) Write(b []byte) (int, error) {
	for _, c := range b {
		if c == '\n' {
			w.flush()
		} else if len(w.part) < maxWord {
			w.part = append(w.part, c)
		}
	}
	return len(b), nil
}

// flush passes a line on. The first says what happened; the rest is for those
// who debug.
func (w *lastWords) flush() {
	line := strings.TrimSpace(string(w.part))
	w.part = w.part[:0]
	if line == "" || w.lines >= maxWords {
		return
	}
	level := 8
	if w.lines > 0 {
		level = -4
	} else if own, ok := strings.CutPrefix(line, ownWords); ok {
		w.first = own
	}
	w.lines++
	w.ear.Log(channel.Record{Time: time.Now(), Level: level, Message: "the worker wrote to stderr", Attrs: map[string]string{"line": line}})
}

// marshal is json.Marshal of what can't fail.
func marshal(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // our own types: a mistake here, not a state of the world
	}
	return b
}
