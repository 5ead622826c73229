package ddp_test

import (
	"testing"
	"time"

	"rcsupervisor/channel/ddp"
	"rcsupervisor/channel/dial"
	"rcsupervisor/channel/pretend"
	"rcsupervisor/healthcheck"
	"rcsupervisor/sealed"
)

// The whole against a server that was not written for these tests: three
// versions, both dialects, and its faults.
func TestAgainstPretend(t *testing.T) {
	type world struct {
		*pretend.Server
		bot, alice pretend.User
		lab        pretend.Room
	}
	online := func(r healthcheck.Reason) ddp.End { return ddp.End{Reason: r, Connected: true, Online: true} }
	early := func(r healthcheck.Reason) ddp.End { return ddp.End{Reason: r, Connected: true} }
	fault := func(f pretend.Fault) func(*world) { return func(w *world) { w.Break(f) } }
	later := func(d time.Duration, f pretend.Fault) func(*world) {
		return func(w *world) { time.AfterFunc(d, func() { w.Break(f) }) }
	}
	refused := early(healthcheck.Refused)
	refused.LoginRefused = true
	limited := func(e ddp.End, d time.Duration) ddp.End {
		e.Reason, e.RetryAfter = healthcheck.RateLimited, d
		return e
	}
	// Shorter than the time after which these servers would hang up on us.
	const silence = 20 * time.Second
	dropped4000 := online(healthcheck.Closed)
	dropped4000.CloseCode = 4000

	for name, c := range map[string]struct {
		do    func(*world)
		want  ddp.End
		after time.Duration // -1: whenever
	}{
		"silent":             {later(time.Minute, pretend.Fault{Kind: pretend.Silent}), online(healthcheck.Silent), -1},
		"half-open":          {later(time.Minute, pretend.Fault{Kind: pretend.HalfOpen}), online(healthcheck.Silent), -1},
		"drop":               {later(time.Minute, pretend.Fault{Kind: pretend.Drop, Code: 4000}), dropped4000, time.Minute},
		"cut":                {later(time.Minute, pretend.Fault{Kind: pretend.Drop, Code: 1006}), online(healthcheck.Closed), time.Minute},
		"restart":            {later(time.Minute, pretend.Fault{Kind: pretend.Restart}), online(healthcheck.Closed), time.Minute},
		"redirect":           {fault(pretend.Fault{Kind: pretend.RedirectSocket, URL: "https://evil.example/"}), ddp.End{Reason: healthcheck.Unreachable}, 0},
		"bad gateway":        {fault(pretend.Fault{Kind: pretend.BadGateway}), ddp.End{Reason: healthcheck.Unreachable}, 0},
		"hold connected":     {fault(pretend.Fault{Kind: pretend.HoldConnected}), ddp.End{Reason: healthcheck.Unreachable}, 30 * time.Second},
		"failed":             {fault(pretend.Fault{Kind: pretend.Failed}), ddp.End{Reason: healthcheck.Dropped}, 0},
		"hold login":         {fault(pretend.Fault{Kind: pretend.HoldLogin}), early(healthcheck.Dropped), 30 * time.Second},
		"hold ready":         {fault(pretend.Fault{Kind: pretend.HoldReady}), early(healthcheck.Dropped), 30 * time.Second},
		"refuse token":       {fault(pretend.Fault{Kind: pretend.RefuseToken}), refused, 0},
		"transient 403":      {fault(pretend.Fault{Kind: pretend.Transient403}), refused, 0},
		"login error":        {fault(pretend.Fault{Kind: pretend.LoginError}), early(healthcheck.Dropped), 0},
		"login rate limited": {fault(pretend.Fault{Kind: pretend.LoginRateLimited, Delay: pretend.Duration(3 * time.Second)}), limited(early(""), 3*time.Second), 0},
		"wrong id":           {fault(pretend.Fault{Kind: pretend.WrongID}), early(healthcheck.Identity), 0},
		"nosub":              {fault(pretend.Fault{Kind: pretend.Nosub}), early(healthcheck.Dropped), 0},
		"nosub error":        {fault(pretend.Fault{Kind: pretend.NosubError}), early(healthcheck.Dropped), 0},
		"nosub rate limited": {fault(pretend.Fault{Kind: pretend.NosubRateLimited, Delay: pretend.Duration(34 * time.Second)}), limited(early(""), 34*time.Second), 0},
		"nosub late":         {fault(pretend.Fault{Kind: pretend.NosubLate, Delay: pretend.Duration(time.Hour)}), online(healthcheck.Dropped), time.Hour},
		"huge frame":         {later(time.Minute, pretend.Fault{Kind: pretend.HugeFrame}), online(healthcheck.Dropped), time.Minute},
	} {
		for _, version := range []pretend.Version{pretend.V34, pretend.V7, pretend.V9} {
			t.Run(name+"/"+string(version), func(t *testing.T) {
				in(t, func(t *testing.T) {
					w := &world{Server: pretend.New(pretend.Options{Version: version})}
					defer w.Close()
					w.bot = w.AddUser("hermes", pretend.UserOptions{Roles: []string{"bot"}})
					w.alice = w.AddUser("alice", pretend.UserOptions{})
					w.lab = w.AddChannel("lab", w.bot, w.alice)
					c.do(w)
					h := &told{start: time.Now(), onReady: func(*ddp.Conn) {
						go func() {
							for _, odd := range []pretend.Kind{pretend.BadJSON, pretend.Binary, pretend.UnknownFrame} {
								w.Break(pretend.Fault{Kind: odd})
							}
							w.Say(w.alice, w.lab, "@hermes hello", pretend.SayOptions{ID: "first"})
						}()
					}}
					end := ddp.Run(t.Context(), ddp.Config{
						Server: "http://localhost", UserID: w.bot.ID, Token: sealed.NewSecret(w.bot.Token),
						Network: &dial.Network{DialContext: w.Pipe()},
						Silence: silence, Ping: 8 * time.Second,
					}, h)
					h.ended = time.Since(h.start)
					wantEnd(t, end, c.want)
					if c.after >= 0 {
						wantAfter(t, h, c.after)
					} else if got := time.Since(h.conn.LastFrame()); got != silence {
						t.Errorf("ended after a silence of %s", got)
					}
					if end.Online && (len(h.events) != 1 || h.lines[2] != "event first" || h.conn.Malformed() != 2) {
						t.Errorf("told %q, %d malformed", h.lines, h.conn.Malformed())
					}
				})
			})
		}
	}
}
