package supervisor

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"sync/atomic"
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

// counted counts connections as they are made.
func counted(n *atomic.Int64, dial func(context.Context, string, string) (net.Conn, error)) func(context.Context, string, string) (net.Conn, error) {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		n.Add(1)
		return dial(ctx, network, addr)
	}
}

// The server of 300 channels goes away for a minute. While it is away one probe
// at a time asks for all of them; when it is back all are online within 10 s,
// none is refused by the server's own limits, and none counts as flapping. The
// clock is the test's own, the channels are real.
func TestTheServerOfThreeHundredIsAway(t *testing.T) {
	const n = 300
	keys := keyring(t)
	dir := tempDir(t)
	synctest.Test(t, func(t *testing.T) {
		server := pretend.New(pretend.Options{})
		defer server.Close()
		pipe := server.Pipe()
		var dials, probes atomic.Int64
		w := &town{updates: make(chan profile.Update), keys: keys}
		super, err := New(Config{
			Carrier: worker.NewShared(channel.Env{Dial: counted(&dials, pipe)}), Env: channel.Env{Dial: counted(&probes, pipe)}, Drain: time.Second,
			Keys: NewKeys(func() (*sealed.Identity, *sealed.Keyring, error) { return keys.Identity(), keys, nil }),
		})
		if err != nil {
			t.Fatal(err)
		}
		super.watcher = w
		ctx, cancel := context.WithCancel(context.Background())
		done := make(chan error, 1)
		go func() { done <- super.Run(ctx, nil) }()
		var all []profile.HomeChange
		for i := range n {
			name := fmt.Sprintf("bot%03d", i)
			user := server.AddUser(name, pretend.UserOptions{Bot: true})
			r := w.reading(t, name, 1, sealed.Envelope{
				Server: "http://127.0.0.1:3000", UserID: user.ID, Token: sealed.NewSecret(user.Token), Generation: 1,
				Keys: map[string]sealed.Secret{sealed.PostKey: sealed.NewSecret("a-key-to-post-with")},
			})
			r.Home = filepath.Join(dir, name)
			if err := os.MkdirAll(filepath.Join(r.Home, profile.Folder, profile.StateFolder), 0o700); err != nil {
				t.Fatal(err)
			}
			all = append(all, profile.HomeChange{Kind: profile.Appeared, Name: name, Now: r})
		}
		w.tell(all...)
		online := func() int { st, _ := super.Status(Everybody); return st.Supervisor.Online }
		until := func(what string, most time.Duration, ok func() bool) time.Duration {
			t.Helper()
			began := time.Now()
			for !ok() {
				if time.Since(began) > most {
					t.Fatalf("%s: not after %v; %d are online", what, most, online())
				}
				time.Sleep(50 * time.Millisecond)
			}
			return time.Since(began)
		}
		until("all online", 30*time.Second, func() bool { return online() == n })
		time.Sleep(2 * healthcheck.Steady)

		const away = time.Minute
		server.Break(pretend.Fault{Kind: pretend.Restart, Delay: pretend.Duration(away)})
		began, before := time.Now(), dials.Load()
		until("all offline", 10*time.Second, func() bool { return online() == 0 })
		time.Sleep(time.Until(began.Add(away - time.Second)))
		// Those that may go at once, before it is known.
		if n := dials.Load() - before; n > healthcheck.DialsPerServer {
			t.Errorf("%d dials to a server that is away", n)
		}
		if n := probes.Load(); n < 12 || n > 14 {
			t.Errorf("%d probes in a minute", n)
		}
		time.Sleep(time.Until(began.Add(away)))
		took := until("all online again", 30*time.Second, func() bool { return online() == n })
		if took > 10*time.Second {
			t.Errorf("all were online %v after its return", took)
		}
		st, _ := super.Status(Everybody)
		for _, p := range st.Profiles {
			if p.Flapping || deref(p.Reason) == string(healthcheck.RateLimited) {
				t.Errorf("%s is flapping %v, %s", p.Name, p.Flapping, deref(p.Reason))
			}
		}
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}
