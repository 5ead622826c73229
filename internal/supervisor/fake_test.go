package supervisor

import (
	"context"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	"rcsupervisor/channel"
	"rcsupervisor/healthcheck"
	"rcsupervisor/internal/ownerfs"
	"rcsupervisor/internal/worker"
	"rcsupervisor/profile"
	"rcsupervisor/sealed"
)

// A town is homes that exist in memory alone, for tests on a clock of their
// own: nothing in it waits for a disk.
type town struct {
	updates chan profile.Update
	keys    *sealed.Keyring
}

var _ watcher = (*town)(nil)

func (w *town) Run(ctx context.Context) error {
	<-ctx.Done()
	close(w.updates)
	return ctx.Err()
}

func (w *town) Updates() <-chan profile.Update { return w.updates }

func (w *town) Look(context.Context) (*profile.Snapshot, <-chan struct{}, error) {
	told := make(chan struct{})
	close(told)
	return &profile.Snapshot{}, told, nil
}

// reading is a home as it is read, with another content for each n.
func (w *town) reading(t testing.TB, name string, n byte, e sealed.Envelope) profile.Reading {
	t.Helper()
	e.Profile, e.SealedAt = name, time.Unix(1e9, 0).UTC()
	data, err := sealed.Seal(e, w.keys)
	if err != nil {
		t.Fatal(err)
	}
	s := profile.DefaultSettings()
	s.Agent.Kind = "echo"
	return profile.Reading{Profile: profile.Profile{
		Name: name, Home: "/homes/" + name, ID: ownerfs.ID{Dev: 1, Ino: uint64(len(name)) + uint64(name[len(name)-1])}, Owner: os.Geteuid(),
		Settings: s, Access: profile.DefaultAccess(), Sealed: data, Hashes: profile.Hashes{Settings: profile.Hash{n}, Sealed: profile.Hash{n}},
	}}
}

// tell brings changes to the supervisor.
func (w *town) tell(changes ...profile.HomeChange) { w.updates <- profile.Update{Changes: changes} }

// A puppet is a carrier whose runs do what a test says.
type puppet struct {
	mu    sync.Mutex
	runs  map[string]*puppetRun // those that live
	over  []string              // what must not be
	begun int
}

var _ worker.Carrier = (*puppet)(nil)

func newPuppet() *puppet { return &puppet{runs: make(map[string]*puppetRun)} }

func (*puppet) Kind() worker.Kind { return worker.Process }

func (p *puppet) Begin(job worker.Job, ear worker.Ear) worker.Run {
	p.mu.Lock()
	defer p.mu.Unlock()
	name := job.Start.Profile
	r := &puppetRun{puppet: p, name: name, start: job.Start, ear: ear, heard: time.Now()}
	if p.runs[name] != nil {
		p.over = append(p.over, name+" has two runs at once")
	}
	p.runs[name] = r
	p.begun++
	return r
}

func (p *puppet) Close() {
	p.mu.Lock()
	all := make([]*puppetRun, 0, len(p.runs))
	for _, r := range p.runs {
		all = append(all, r)
	}
	p.mu.Unlock()
	for _, r := range all {
		r.end(worker.End{Reason: healthcheck.Operator})
	}
}

// A puppetRun is one run, and what its channel was told.
type puppetRun struct {
	puppet *puppet
	name   string
	start  channel.Start
	ear    worker.Ear

	// Guarded by puppet.mu.
	number  uint64 // of the last Connect
	dialing bool
	online  bool
	asked   time.Time
	heard   time.Time
	mute    bool // takes no commands
	stopped bool
	rests   int // how often it was to give its agent's place up
	ended   bool
}

func (r *puppetRun) Command(c channel.Command) {
	p := r.puppet
	p.mu.Lock()
	defer p.mu.Unlock()
	if r.ended {
		return
	}
	if r.mute {
		if r.asked.IsZero() {
			r.asked = time.Now()
		}
		return
	}
	switch c := c.(type) {
	case channel.Connect:
		if r.dialing || r.online {
			p.over = append(p.over, fmt.Sprintf("%s is told to connect while it is connected", r.name))
		}
		if c.Number <= r.number {
			p.over = append(p.over, fmt.Sprintf("%s: connection %d after %d", r.name, c.Number, r.number))
		}
		r.number, r.dialing = c.Number, true
	case channel.Apply:
		r.start.Credentials = c.Credentials
	case channel.Rest:
		r.rests++
	case channel.Beat:
		r.heard = time.Now()
	case channel.Stop, channel.Drain:
		r.stopped = true
	}
}

func (r *puppetRun) Pulse() worker.Pulse {
	r.puppet.mu.Lock()
	defer r.puppet.mu.Unlock()
	return worker.Pulse{Heard: r.heard, Asked: r.asked}
}

func (r *puppetRun) Kill(why worker.End) bool {
	go r.end(why)
	return true
}

func (r *puppetRun) PID() int { return 1 }

// end is the end of the run.
func (r *puppetRun) end(e worker.End) {
	r.puppet.mu.Lock()
	if r.ended {
		r.puppet.mu.Unlock()
		return
	}
	r.ended = true
	delete(r.puppet.runs, r.name)
	r.puppet.mu.Unlock()
	r.ear.Over(e)
}

// report says that the connection is online, or how it ended.
func (r *puppetRun) report(end *channel.End) {
	r.puppet.mu.Lock()
	if r.ended || !r.dialing && !r.online {
		r.puppet.mu.Unlock()
		return
	}
	rep := channel.Report{Run: r.start.Run, Connection: r.number, Phase: channel.Waiting, End: end}
	r.dialing, r.online = false, end == nil
	if end == nil {
		rep.Phase, rep.OnlineSince = channel.Online, time.Now()
	}
	r.heard = time.Now()
	r.puppet.mu.Unlock()
	r.ear.Report(rep)
}

// living are the runs that live, by profile.
func (p *puppet) living() map[string]*puppetRun {
	p.mu.Lock()
	defer p.mu.Unlock()
	all := make(map[string]*puppetRun, len(p.runs))
	for name, r := range p.runs {
		all[name] = r
	}
	return all
}

// faults are what must not be and was.
func (p *puppet) faults() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]string(nil), p.over...)
}
