package enroll

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"rcsupervisor/channel"
	"rcsupervisor/channel/ddp"
	"rcsupervisor/channel/dial"
	"rcsupervisor/channel/rest"
	"rcsupervisor/healthcheck"
	"rcsupervisor/internal/supervisor"
	"rcsupervisor/profile"
	"rcsupervisor/sealed"
)

// A Finding is what came of looking at one thing.
type Finding struct {
	What string // home, settings, seal, server, token, socket, access
	OK   bool
	Warn bool // it works, and should be known
	Text string
	Try  string // what mends it
}

// Check looks a profile over in the order in which a start would need it, and
// reports each finding as it comes. It stops where going on makes no sense,
// and reports whether nothing failed.
func Check(ctx context.Context, t supervisor.Tenant, r profile.Reading, k *sealed.Keyring, report func(Finding)) bool {
	good := true
	say := func(f Finding) bool {
		report(f)
		good = good && (f.OK || f.Warn)
		return f.OK || f.Warn
	}
	if r.Err != nil {
		return say(failed("home", r.Err))
	}
	say(Finding{What: "home", OK: true, Text: r.Home})
	say(Finding{What: "settings", OK: true, Text: "agent " + r.Settings.Agent.Kind})
	start, err := t.Load()
	if err != nil {
		return say(failed("seal", err))
	}
	c := start.Credentials
	say(Finding{What: "seal", OK: true, Text: fmt.Sprintf("opens; generation %d, for %s", c.Generation, c.Server)})
	checkSeal(t, k, say)
	if !checkServer(ctx, start, say) || !checkSocket(ctx, start, say) {
		return false
	}
	checkAccess(t.Name, r.Access, say)
	return good
}

// checkSeal notices recipients that have changed since it was sealed.
func checkSeal(t supervisor.Tenant, k *sealed.Keyring, say func(Finding) bool) {
	dir, err := t.Folder()
	if err != nil {
		return
	}
	defer dir.Close()
	e, err := sealed.Store{Folder: supervisor.Sealed(dir), Profile: t.Name}.Read(t.Identity)
	if err == nil && k != nil && e.Stale(k.Recipients()) {
		say(Finding{What: "seal", Warn: true, Text: "sealed for other recipients than recipients.txt names now", Try: "rcsupervisor reseal " + t.Name})
	}
}

func network(s channel.Start) *dial.Network {
	return &dial.Network{CAFile: s.CA, Proxy: s.Settings.Proxy}
}

// checkServer asks the server what it is, and who the bot is.
func checkServer(ctx context.Context, s channel.Start, say func(Finding) bool) bool {
	c := s.Credentials
	client, err := rest.New(rest.Config{Server: c.Server, UserID: c.UserID, Token: c.Token, Network: network(s)})
	if err != nil {
		return say(failed("seal", err))
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	info, err := client.Info(ctx)
	if err != nil {
		return say(failed("server", unproven(c.Server, err)))
	}
	say(Finding{What: "server", OK: true, Text: "Rocket.Chat " + info.Version})
	if off, known := client.ClockOffset(); known && off.Abs() > 2*time.Minute {
		say(Finding{What: "server", Warn: true, Text: "its clock is off ours by " + off.Round(time.Second).String(), Try: "timedatectl status"})
	}
	me, err := client.Me(ctx)
	if err != nil {
		return say(failed("token", unproven(c.Server, err)))
	}
	if me.ID != c.UserID {
		return say(Finding{What: "token", Text: fmt.Sprintf("belongs to @%s (%s), sealed is user id %s", me.Username, me.ID, c.UserID), Try: "rcsupervisor add " + s.Profile + " --server " + c.Server})
	}
	say(Finding{What: "token", OK: true, Text: "@" + me.Username})
	if slices.Contains(me.Roles, "admin") {
		say(Finding{What: "token", Warn: true, Text: "the bot is an administrator of the server", Try: "give the bot's account the role bot instead"})
	}
	return true
}

// checkSocket connects as a channel does, and lets go as soon as it is online.
func checkSocket(ctx context.Context, s channel.Start, say func(Finding) bool) bool {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	began := time.Now()
	end := ddp.Run(ctx, ddp.Config{
		Server: s.Credentials.Server, UserID: s.Credentials.UserID, Token: s.Credentials.Token, Network: network(s),
	}, &untilReady{func() { cancel(&ddp.End{Reason: healthcheck.Operator}) }})
	if end.Online {
		return say(Finding{What: "socket", OK: true, Text: "online after " + time.Since(began).Round(time.Millisecond).String()})
	}
	return say(Finding{What: "socket", Text: end.Error(), Try: "let WebSockets through to " + s.Credentials.Server + "/websocket"})
}

type untilReady struct{ ready func() }

func (*untilReady) Connected()        {}
func (u *untilReady) Ready(*ddp.Conn) { u.ready() }
func (*untilReady) Event(e ddp.Event) {}

// checkAccess says who may talk.
func checkAccess(name string, a profile.Access, say func(Finding) bool) {
	owners, members := 0, 0
	for _, p := range a.People {
		switch p.Role {
		case profile.Owner:
			owners++
		case profile.Member:
			members++
		}
	}
	f := Finding{What: "access", OK: true, Text: fmt.Sprintf("%d owners, %d members, %d rooms", owners, members, len(a.Rooms))}
	if owners+members == 0 {
		f = Finding{What: "access", Warn: true, Text: "nobody may talk to the bot yet", Try: "rcsupervisor people " + name + " owner USER-ID"}
	}
	say(f)
}

// failed makes a finding of an error, with what it says mends it.
func failed(what string, err error) Finding {
	f := Finding{What: what, Text: err.Error()}
	var h interface{ Hint() string }
	if errors.As(err, &h) {
		f.Try = h.Hint()
	}
	if fault, ok := errors.AsType[*profile.Fault](err); ok {
		f.Try = fault.Try
	}
	return f
}
