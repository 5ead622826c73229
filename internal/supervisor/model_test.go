package supervisor

import (
	"context"
	"fmt"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"rcsupervisor/channel"
	"rcsupervisor/healthcheck"
	"rcsupervisor/internal/worker"
	"rcsupervisor/profile"
	"rcsupervisor/sealed"
)

// keyring makes an identity for tests that seal in memory.
func keyring(t testing.TB) *sealed.Keyring {
	t.Helper()
	path := filepath.Join(t.TempDir(), "identity.txt")
	if _, err := sealed.Init(sealed.InitOptions{Path: path}); err != nil {
		t.Fatal(err)
	}
	k, err := sealed.FindKeyring(sealed.Options{File: path, Getenv: func(string) string { return "" }}, false)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// sealedBot is an envelope of a bot of the one server there is.
func sealedBot(user string, generation uint64) sealed.Envelope {
	return sealed.Envelope{
		Server: "http://127.0.0.1:3000", UserID: user, Token: sealed.NewSecret("token-of-" + user), Generation: generation,
		Keys: map[string]sealed.Secret{sealed.PostKey: sealed.NewSecret("a-key-to-post-with")},
	}
}

// In whatever order connections end, workers crash and hang, files change,
// homes come and go and people say what they want: no profile has two runs at
// once, no run is told to connect twice, and once the world is quiet everything
// that is to run is online and nothing else lives.
func TestTheSupervisorAsAModel(t *testing.T) {
	keys := keyring(t)
	names := []string{"a", "b", "c"}
	w := &town{keys: keys}
	// What is sealed takes time to seal, and is the same each time.
	readings := map[string][]profile.Reading{}
	for _, name := range names {
		for n := range byte(3) {
			readings[name] = append(readings[name], w.reading(t, name, n+1, sealedBot("user-"+name, uint64(n)+1)))
		}
	}
	rapid.Check(t, func(rt *rapid.T) {
		moves := rapid.SliceOfN(rapid.Custom(drawMove(names)), 1, 40).Draw(rt, "moves")
		wrong := "" // what is wrong is said outside the bubble, where rapid looks for it
		synctest.Test(t, func(t *testing.T) {
			m := newModel(t, keys)
			defer m.end()
			for _, name := range names {
				m.put(readings[name][0], profile.Appeared)
			}
			for _, mv := range moves {
				m.step(mv, readings[mv.name])
				if bad := m.puppet.faults(); len(bad) > 0 {
					wrong = fmt.Sprintf("%q\n%s", bad, strings.Join(m.done, "\n"))
					return
				}
			}
			wrong = m.settle()
		})
		if wrong != "" {
			rt.Fatal(wrong)
		}
	})
}

// A move is one thing that happens.
type move struct {
	name, what       string
	seconds, content int
}

func drawMove(names []string) func(*rapid.T) move {
	return func(t *rapid.T) move {
		return move{
			name: rapid.SampledFrom(names).Draw(t, "profile"),
			what: rapid.SampledFrom([]string{
				"online", "online", "online", "silent", "closed", "dropped", "refused", "rate-limited", "crash", "hang", "wait", "wait", "file", "bad file", "off", "on",
				"gone", "back", "stop", "start", "restart", "suspend", "resume",
			}).Draw(t, "what"),
			seconds: rapid.IntRange(1, 400).Draw(t, "seconds"),
			content: rapid.IntRange(0, 2).Draw(t, "content"),
		}
	}
}

type model struct {
	t      *testing.T
	town   *town
	puppet *puppet
	super  *Supervisor
	stop   func()
	there  map[string]bool
	wanted map[string]bool
	held   map[string]bool // suspended
	on     map[string]bool // enabled
	done   []string
}

func newModel(t *testing.T, keys *sealed.Keyring) *model {
	m := &model{
		t: t, town: &town{updates: make(chan profile.Update), keys: keys}, puppet: newPuppet(),
		there: map[string]bool{}, wanted: map[string]bool{}, held: map[string]bool{}, on: map[string]bool{},
	}
	var err error
	m.super, err = New(Config{
		Carrier: m.puppet, Drain: time.Second, Keys: NewKeys(func() (*sealed.Identity, *sealed.Keyring, error) { return keys.Identity(), keys, nil }),
		Env: channel.Env{Dial: func(context.Context, string, string) (net.Conn, error) { return nil, fmt.Errorf("there is no network") }},
	})
	if err != nil {
		t.Fatal(err)
	}
	m.super.watcher = m.town
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- m.super.Run(ctx, nil) }()
	m.stop = func() {
		cancel()
		for stopped := false; !stopped; {
			select {
			case <-done:
				stopped = true
			case <-time.After(time.Second): // whoever was told to end does
				for _, r := range m.puppet.living() {
					r.end(worker.End{Reason: healthcheck.Operator})
				}
			}
		}
	}
	return m
}

func (m *model) end() { m.stop() }

// put tells of a home.
func (m *model) put(r profile.Reading, kind profile.Kind) {
	m.town.tell(profile.HomeChange{Kind: kind, Name: r.Name, Now: r})
	if !m.there[r.Name] {
		m.there[r.Name] = true
		if _, known := m.wanted[r.Name]; !known {
			m.wanted[r.Name] = true
		}
	}
	m.on[r.Name] = r.Err != nil && m.on[r.Name] || r.Err == nil && r.Settings.Enabled
	m.obeyed()
}

// obeyed lets what was told to end come to its end.
func (m *model) obeyed() {
	synctest.Wait()
	for _, r := range m.puppet.living() {
		m.puppet.mu.Lock()
		stopped := r.stopped && !r.mute
		m.puppet.mu.Unlock()
		if stopped {
			r.end(worker.End{Reason: healthcheck.Operator})
		}
	}
	synctest.Wait()
}

// order gives a profile an order, on a goroutine of its own since stop waits
// for the run's end.
func (m *model) order(name string, do func(context.Context, string) error) error {
	result := make(chan error, 1)
	go func() { result <- do(context.Background(), name) }()
	m.obeyed()
	return <-result
}

// step does one thing of those that happen.
func (m *model) step(mv move, readings []profile.Reading) {
	name, what := mv.name, mv.what
	m.done = append(m.done, what+" "+name)
	r := m.puppet.living()[name]
	switch what {
	case "online":
		if r != nil {
			r.report(nil)
		}
	case "silent", "closed", "dropped", "refused", "rate-limited":
		if r != nil {
			r.report(&channel.End{Reason: healthcheck.Reason(what), At: time.Now()})
		}
	case "crash":
		if r != nil {
			r.end(worker.End{Reason: healthcheck.Crashed})
		}
	case "hang":
		if r != nil {
			m.puppet.mu.Lock()
			r.mute = true
			m.puppet.mu.Unlock()
		}
	case "wait":
		time.Sleep(time.Duration(mv.seconds) * time.Second)
	default:
		m.said(what, name, readings[mv.content])
	}
	m.obeyed()
}

// said is a step that a file or a person takes.
func (m *model) said(what, name string, reading profile.Reading) {
	switch what {
	case "file", "on":
		if m.there[name] {
			m.put(reading, profile.Changed)
		}
	case "bad file":
		if m.there[name] {
			reading.Err = &profile.Fault{Home: reading.Home, Err: fmt.Errorf("bad")}
			m.put(reading, profile.Changed)
		}
	case "off":
		if m.there[name] {
			reading.Settings.Enabled = false
			m.put(reading, profile.Changed)
		}
	case "gone":
		if m.there[name] {
			m.there[name] = false
			m.town.tell(profile.HomeChange{Kind: profile.Gone, Name: name})
		}
	case "back":
		if !m.there[name] {
			m.put(reading, profile.Appeared)
		}
	default:
		m.ordered(what, name)
	}
}

// ordered is a step that a person takes.
func (m *model) ordered(what, name string) {
	var err error
	switch what {
	case "stop":
		if err = m.order(name, m.super.Stop); err == nil {
			m.wanted[name] = false
		}
	case "start":
		if err = m.order(name, m.super.Start); err == nil {
			m.wanted[name] = true
		}
	case "restart":
		if err = m.order(name, m.super.Restart); err == nil {
			m.wanted[name] = true
		}
	case "suspend":
		if err = m.order(name, func(ctx context.Context, n string) error { return m.super.Suspend(ctx, n, "") }); err == nil {
			m.held[name] = true
		}
	case "resume":
		if err = m.order(name, m.super.Resume); err == nil {
			m.held[name] = false
		}
	}
	if err != nil {
		m.done = append(m.done, "  "+err.Error())
	}
}

// settle lets the world become good and time pass: what is to run is online.
func (m *model) settle() string {
	for range 40 {
		time.Sleep(time.Minute)
		m.obeyed()
		for _, r := range m.puppet.living() {
			m.puppet.mu.Lock()
			mute, dialing := r.mute, r.dialing
			m.puppet.mu.Unlock()
			if dialing && !mute {
				r.report(nil)
			}
		}
		synctest.Wait()
	}
	for name := range m.wanted {
		p, ok := m.super.Profile(Everybody, name)
		switch {
		case ok != m.there[name]:
			return fmt.Sprintf("%s is on the list: %v\n%s", name, ok, strings.Join(m.done, "\n"))
		case !ok:
		case slices.Contains([]healthcheck.State{healthcheck.NeedsToken, healthcheck.NeedsConfig}, p.State):
			// A refused token and a bad file wait for a person, as they should.
		case m.on[name] && m.wanted[name] && !m.held[name]:
			if p.State != healthcheck.Online && p.State != healthcheck.Held {
				return fmt.Sprintf("%s is %s %s\n%s", name, p.State, deref(p.Reason), strings.Join(m.done, "\n"))
			}
		default:
			if m.puppet.living()[name] != nil || p.State == healthcheck.Online {
				return fmt.Sprintf("%s runs and is not to: %s %s\n%s", name, p.State, deref(p.Reason), strings.Join(m.done, "\n"))
			}
		}
	}
	return ""
}

// A host that slept is no reason to kill anybody: when the watchman's own round
// comes late all clocks start anew. A run that then still hangs is found.
func TestTheHostSlept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var w watchman
		p := newPuppet()
		r := &run{Run: p.Begin(worker.Job{Start: channel.Start{Profile: "a"}}, nil)}
		w.add(r)
		inner := r.Run.(*puppetRun)
		inner.mute = true
		inner.asked = time.Now()
		if hung := w.round(time.Now().Add(4*time.Second), false); len(hung) != 0 {
			t.Errorf("after 4 s: %v", hung)
		}
		woke := time.Now().Add(time.Minute)
		if hung := w.round(woke, true); len(hung) != 0 {
			t.Errorf("a late round blames %v", hung)
		}
		if hung := w.round(woke.Add(4*time.Second), false); len(hung) != 0 {
			t.Errorf("4 s after it woke: %v", hung)
		}
		if hung := w.round(woke.Add(6*time.Second), false); hung[r] != "it takes no commands" {
			t.Errorf("6 s after it woke: %v", hung)
		}
		inner.mute, inner.asked = false, time.Time{}
		if hung := w.round(woke.Add(29*time.Second), false); len(hung) != 0 {
			t.Errorf("%v", hung)
		}
		inner.heard = woke
		if hung := w.round(woke.Add(31*time.Second), false); hung[r] != "nothing was heard of it" {
			t.Errorf("unheard: %v", hung)
		}
	})
}

// A quiet run is asked to say something, and not more often than needed.
func TestAQuietRunIsAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var w watchman
		p := newPuppet()
		r := &run{Run: p.Begin(worker.Job{Start: channel.Start{Profile: "a"}}, nil)}
		w.add(r)
		inner := r.Run.(*puppetRun)
		heard := inner.heard
		for i := range 13 {
			w.round(heard.Add(time.Duration(i)*time.Second), false)
		}
		if !inner.heard.Equal(heard) {
			t.Error("it was asked too soon")
		}
		w.round(heard.Add(13*time.Second), false)
		if inner.heard != time.Now() {
			t.Error("it was not asked")
		}
		w.remove(r)
		if hung := w.round(heard.Add(time.Hour), false); len(hung) != 0 {
			t.Error(hung)
		}
	})
}
