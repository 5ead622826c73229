package supervisor

import (
	"context"
	"net"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"rcsupervisor/channel"
	"rcsupervisor/channel/pretend"
	"rcsupervisor/healthcheck"
	"rcsupervisor/internal/worker"
	"rcsupervisor/profile"
	"rcsupervisor/sealed"
)

// A file that changes while the server is away changes nothing about the
// waiting: the profile is online once the server is back.
func TestAFileChangesWhileTheServerIsAway(t *testing.T) {
	t.Parallel()
	both(t, func(h *house) {
		h.add("alice", quick)
		mend := h.server.Break(pretend.Fault{Kind: pretend.Unreachable})
		h.start()
		h.await("alice", healthcheck.Backoff, healthcheck.Unreachable)
		h.write("alice", "channel.yaml", quick+"limits: {queue: 3}\n")
		h.until("the queue is 3", func() bool { return h.super.keeper("alice").view.Load().start.Settings.Limits.Queue == 3 })
		h.write("alice", "channel.yaml", quick+"limits: {queue: 4}\n")
		h.until("the queue is 4", func() bool { return h.super.keeper("alice").view.Load().start.Settings.Limits.Queue == 4 })
		mend()
		h.online("alice")
	})
}

// A profile that is started while its server is away waits like the others, and
// at no cost.
func TestStartWhileTheServerIsAway(t *testing.T) {
	t.Parallel()
	both(t, func(h *house) {
		h.add("alice", quick)
		h.add("bob", quick)
		h.start()
		h.online("alice", "bob")
		mend := h.server.Break(pretend.Fault{Kind: pretend.Unreachable})
		h.server.Break(pretend.Fault{Kind: pretend.Drop, Code: 1001})
		h.await("alice", healthcheck.Backoff, healthcheck.Unreachable)
		h.await("bob", healthcheck.Backoff, healthcheck.Unreachable)
		h.must(h.super.Stop(h.Context(), "alice"))
		before := h.events.Load()
		h.must(h.super.Start(h.Context(), "alice"))
		h.await("alice", healthcheck.Backoff, healthcheck.Unreachable)
		if n := h.events.Load() - before; n > 100 {
			h.Errorf("%d events for one start", n)
		}
		mend()
		h.online("alice", "bob")
	})
}

// Who is stopped while it waits for its server waits no more, also when its
// worker died meanwhile; and one whose worker died goes on waiting.
func TestAWorkerDiesWhileTheServerIsAway(t *testing.T) {
	t.Parallel()
	h := newHouse(t, worker.Process)
	h.add("alice", quick)
	h.add("bob", quick)
	mend := h.server.Break(pretend.Fault{Kind: pretend.Unreachable})
	h.start()
	for _, name := range []string{"alice", "bob"} {
		h.await(name, healthcheck.Backoff, healthcheck.Unreachable)
		h.must(syscall.Kill(h.pid(name), syscall.SIGKILL))
		h.awaitThat(name, "without a worker", func(p ProfileStatus) bool { return h.super.keeper(name).view.Load().pid == 0 })
		h.await(name, healthcheck.Backoff, healthcheck.Unreachable)
	}
	h.must(h.super.Stop(h.Context(), "alice"))
	var dump strings.Builder
	h.super.servers.dump(&dump)
	if !strings.Contains(dump.String(), "waiting=1\n") {
		h.Errorf("alice, bob: %s", &dump)
	}
	mend()
	h.online("bob")
	h.await("alice", healthcheck.Off, healthcheck.Operator)
}

// A way to a server that leads nowhere is no reason for those who take another
// to wait.
func TestAnotherWayToTheServer(t *testing.T) {
	t.Parallel()
	both(t, func(h *house) {
		h.add("alice", quick+"proxy: http://127.0.0.1:1\n")
		h.add("bob", quick)
		h.start()
		h.await("alice", healthcheck.Backoff, healthcheck.Unreachable)
		h.online("bob")
		h.server.Break(pretend.Fault{Kind: pretend.Drop, User: "bob", Code: 1001})
		h.was("bob", "connecting closed")
		h.online("bob")
		if s := h.states("bob"); strings.Contains(strings.Join(s, ","), "unreachable") {
			h.Errorf("bob was %q", s)
		}
		var dump strings.Builder
		h.super.servers.dump(&dump)
		if s := dump.String(); !strings.Contains(s, "by a way of its own down=true doubted=false waiting=1\n") {
			h.Errorf("%s", s)
		}
		// Once the way is mended it is taken.
		h.write("alice", "channel.yaml", quick)
		h.online("alice")
	})
}

// way is how a profile reaches a server, in tests of servers alone.
func way(server, proxy string) channel.Start {
	s := channel.Start{Settings: profile.DefaultSettings()}
	s.Settings.Proxy = proxy
	s.Credentials.Server, s.Credentials.UserID, s.Credentials.Token = server, "u", sealed.NewSecret("t")
	return s
}

// Where packets go nowhere a probe gives up early enough for the next one: a
// server is found again within a step of its return, and by one probe at a
// time.
func TestAProbeThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := pretend.New(pretend.Options{})
		defer server.Close()
		pipe := server.Pipe()
		var asking, probes int
		var back time.Time
		released := make(chan time.Time, 1)
		dial := func(ctx context.Context, network, addr string) (net.Conn, error) {
			asking++
			defer func() { asking-- }()
			if probes++; asking > 1 {
				t.Errorf("%d probes at once", asking)
			}
			if time.Now().Before(back) {
				<-ctx.Done()
				return nil, ctx.Err()
			}
			return pipe(ctx, network, addr)
		}
		s := newServers(channel.Env{Dial: dial}, nil, newAgents(0, 0), func([]string) { released <- time.Now() })
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); s.run(ctx) }()
		back = time.Now().Add(time.Minute)
		s.unreachable("alice", way("http://127.0.0.1:3000", ""))
		s.unreachable("bob", way("http://127.0.0.1:3000", ""))
		if late := (<-released).Sub(back); late < 0 || late > probeConnect+5*time.Second {
			t.Errorf("released %v after its return", late)
		}
		if probes < 6 || probes > 9 {
			t.Errorf("%d probes", probes)
		}
		cancel()
		<-done
	})
}

// Who wants to dial a server that is away is told so at once, also when he
// waited for his turn already, and who dials it is not disturbed.
func TestTurnedAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServers(channel.Env{}, nil, newAgents(0, 0), nil)
		here, there := way("http://127.0.0.1:3000", ""), way("http://127.0.0.1:3000", "http://127.0.0.1:8080")
		asked := make(map[string]chan error)
		ask := func(name string, w channel.Start) {
			c := make(chan error, 1)
			asked[name] = c
			s.heads(name, w)
			go func() { c <- s.mayDial(t.Context(), w.Credentials.Server, name) }()
			synctest.Wait()
		}
		told := func(name string, want error) {
			t.Helper()
			synctest.Wait()
			select {
			case err := <-asked[name]:
				if err != want || s.turnedAway(name) != (want != nil) || s.turnedAway(name) {
					t.Errorf("%s is told %v, want %v", name, err, want)
				}
			default:
				t.Errorf("%s waits", name)
			}
		}
		waits := func(name string) {
			t.Helper()
			synctest.Wait()
			if len(asked[name]) > 0 {
				t.Errorf("%s waits no more", name)
			}
		}
		for _, name := range []string{"a", "b", "c", "d"} {
			ask(name, here)
		}
		s.take(time.Now())
		ask("e", here)
		ask("f", there)
		s.take(time.Now())
		for _, name := range []string{"a", "b", "c", "d"} {
			told(name, nil)
		}
		waits("e")
		waits("f")
		s.dialed("a")
		s.unreachable("a", here)
		told("e", errAway)
		waits("f") // another way
		ask("g", here)
		told("g", errAway)
		s.dialed("g")
		s.take(time.Now())
		told("f", nil)
		s.connected("b", here) // it was there after all
		ask("g", here)
		s.take(time.Now())
		told("g", nil)
	})
}

// What is known of a server is forgotten when it is nothing any more, however
// many ways to it files have named.
func TestServersAreForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServers(channel.Env{}, nil, newAgents(0, 0), nil)
		for i := range 100 {
			w := way("http://127.0.0.1:3000", "http://127.0.0.1:"+itoa(i))
			s.heads("alice", w)
			s.unreachable("alice", w)
			s.leave("alice")
		}
		s.refused("bob", way("http://127.0.0.1:3000", ""))
		s.forget("bob")
		time.Sleep(time.Hour)
		s.take(time.Now())
		if n := len(s.known); n > 0 {
			t.Errorf("%d are known", n)
		}
		s.forget("alice")
		if n := len(s.paths) + len(s.ways) + len(s.turns) + len(s.away); n > 0 {
			t.Errorf("%d things are known of profiles that are no more", n)
		}
	})
}
