package enroll

import (
	"context"
	"fmt"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"rcsupervisor/channel/ddp"
	"rcsupervisor/channel/dial"
	"rcsupervisor/channel/rest"
	"rcsupervisor/healthcheck"
	"rcsupervisor/internal/ownerfs"
	"rcsupervisor/profile"
	"rcsupervisor/sealed"
)

// A Finding is what came of looking at one thing.
type Finding struct {
	What string `json:"what"` // home, settings, agent, seal, known, server, token, socket, access, warning
	OK   bool   `json:"ok"`
	Warn bool   `json:"warn"` // it works, and should be known
	Text string `json:"text"`
	Try  string `json:"try,omitempty"` // what mends it
}

// Check looks a profile over in the order in which a start would need it, and
// reports each finding as it comes. It stops where going on makes no sense,
// and reports whether nothing failed. The error is that of not finding the
// profile.
func (d *Desk) Check(ctx context.Context, by Caller, name string, report func(Finding)) (good bool, err error) {
	r, err := d.Profile(ctx, by, name)
	if err != nil {
		return false, err
	}
	c := &checking{Desk: d, by: by, r: r, report: report, good: true}
	if !c.files() || !c.seal() {
		return false, nil
	}
	c.known()
	if c.server(ctx) {
		c.socket(ctx)
	}
	c.access()
	for _, n := range profile.Notices(r.Profile, r.Access) {
		facts := healthcheck.Facts{Profile: name, Home: r.Home}
		w, _ := healthcheck.Lookup(n.Code)
		c.say(Finding{What: "warning", Warn: true, Text: n.Code + ": " + healthcheck.Warn(n.Code, facts, n.Detail).Text, Try: unlessCheck(w.Action(facts))})
	}
	return c.good, nil
}

// unlessCheck drops the advice to do what is being done.
func unlessCheck(try string) string {
	if strings.HasPrefix(try, "rcsupervisor check ") {
		return ""
	}
	return try
}

// A checking is one look at one profile.
type checking struct {
	*Desk
	by       Caller
	r        profile.Reading
	report   func(Finding)
	good     bool
	envelope sealed.Envelope
	network  *dial.Network
}

func (c *checking) say(f Finding) bool {
	c.report(f)
	c.good = c.good && (f.OK || f.Warn)
	return f.OK || f.Warn
}

// files looks at the home and what people wrote into it.
func (c *checking) files() bool {
	if c.r.Err != nil {
		return c.say(failed("home", c.r.Err))
	}
	c.say(Finding{What: "home", OK: true, Text: c.r.Home})
	s := c.r.Settings
	f := Finding{What: "settings", OK: true, Text: "agent " + s.Agent.Kind}
	path := filepath.Join(c.r.Home, profile.Folder, profile.SettingsFile)
	switch {
	case !s.Enabled:
		f = Finding{What: "settings", Warn: true, Text: fmt.Sprintf("%s:%d: enabled is false", path, c.r.Lines["enabled"]), Try: "set it to true"}
	case !c.Host.AllowsKind(s.Agent.Kind):
		f = Finding{What: "settings", Text: "the host file does not allow agents of the kind " + s.Agent.Kind, Try: "edit " + ownerfs.Quote(path)}
	}
	c.say(f)
	if s.Agent.Kind != "echo" {
		c.agent()
	}
	n, err := network(c.r.Home, c.r.Owner, s)
	if err == nil {
		err = n.Check()
	}
	if err != nil {
		f := failed("settings", err)
		if f.Try == "" {
			f.Try = "edit " + ownerfs.Quote(path)
		}
		return c.say(f)
	}
	c.network = n
	return true
}

// agent looks for the program. It is only a hint: the agent starts in its own
// environment.
func (c *checking) agent() {
	program := c.r.Settings.Agent.Command[0]
	places := []string{"/usr/local/bin", "/usr/bin", "/bin"}
	if u, err := user.LookupId(strconv.Itoa(c.r.Owner)); err == nil {
		places = slices.Insert(places, 0, filepath.Join(u.HomeDir, ".local", "bin"))
	}
	candidates := []string{program}
	switch {
	case filepath.IsAbs(program):
	case strings.Contains(program, "/"):
		candidates = []string{filepath.Join(c.r.Home, program)}
	default:
		candidates = nil
		for _, dir := range places {
			candidates = append(candidates, filepath.Join(dir, program))
		}
	}
	for _, path := range candidates {
		if info, found, err := ownerfs.Probe(filepath.Dir(path), filepath.Base(path)); err == nil && info.Mode.IsDir() {
			if _, there := found[filepath.Base(path)]; there {
				c.say(Finding{What: "agent", OK: true, Text: path})
				return
			}
		}
	}
	c.say(Finding{What: "agent", Warn: true, Text: program + " was not found", Try: "its whole path in agent.command"})
}

// seal opens the envelope.
func (c *checking) seal() bool {
	keys, err := c.Keys()
	if err != nil {
		return c.say(failed("seal", err))
	}
	dir, err := ours(c.r.Home)
	if err != nil {
		return c.say(failed("seal", err))
	}
	defer dir.Close()
	e, err := sealed.Store{Folder: folder{dir}, Profile: c.r.Name}.Read(keys.Identity())
	if err != nil {
		return c.say(failed("seal", err))
	}
	c.envelope = e
	c.say(Finding{What: "seal", OK: true, Text: fmt.Sprintf("opens; generation %d, for %s", e.Generation, e.Server)})
	if e.Stale(keys.Recipients()) {
		c.say(Finding{What: "seal", Warn: true, Text: "sealed for other recipients than recipients.txt names now", Try: "rcsupervisor reseal " + c.r.Name})
	}
	if missing := e.Missing(c.r.Settings.Agent.Secrets); len(missing) > 0 {
		c.say(Finding{What: "seal", Warn: true, Text: "agent.secrets names what is not sealed: " + strings.Join(missing, ", "), Try: "rcsupervisor secret " + c.r.Name + " set " + missing[0]})
	}
	if !c.Host.AllowsServer(e.Server) {
		return c.say(Finding{What: "seal", Text: "the host file does not allow the server " + e.Server, Try: "ask whoever runs this host to add it to servers"})
	}
	return true
}

// known compares with what is remembered of the name.
func (c *checking) known() {
	entry, known, err := c.Names.Entry(c.r.Name)
	if err != nil {
		c.say(failed("known", err))
		return
	}
	if holders, err := c.others(c.by, c.r.Name, Bot{Server: c.envelope.Server, UserID: c.envelope.UserID}); err == nil && len(holders) > 0 {
		c.say(Finding{What: "known", Warn: true, Text: "another profile has this bot: " + strings.Join(holders, ", "), Try: "rcsupervisor remove " + c.r.Name + ", or give it another bot"})
	}
	if !known {
		return
	}
	e := c.envelope
	if verdict, text := entry.Judge(profile.Claim{Path: c.r.Home, Owner: c.r.Owner, Server: e.Server, Bot: e.UserID, Generation: e.Generation}); verdict != profile.Known {
		c.say(Finding{What: "known", Text: string(verdict) + ": " + text, Try: "rcsupervisor adopt " + c.r.Name})
	}
	if entry.Suspended {
		c.say(Finding{What: "known", Warn: true, Text: "suspended", Try: "rcsupervisor resume " + c.r.Name})
	} else if !entry.Wanted {
		c.say(Finding{What: "known", Warn: true, Text: "stopped", Try: "rcsupervisor start " + c.r.Name})
	}
	if entry.Accepted == nil || entry.Accepted.Believed(c.r.Owner, c.r.Owner) {
		return
	}
	for _, w := range profile.Widens(*entry.Accepted, profile.GrantsOf(c.r.Profile)) {
		c.say(Finding{What: "known", Warn: true, Text: "waits to be accepted: " + w.Text, Try: "rcsupervisor accept " + c.r.Name})
	}
}

// server asks the server what it is, and who the bot is.
func (c *checking) server(ctx context.Context) bool {
	e := c.envelope
	client, err := rest.New(rest.Config{Server: e.Server, UserID: e.UserID, Token: e.Token, Network: c.network})
	if err != nil {
		return c.say(failed("seal", err))
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	c.Desk.say("asking %s", e.Server)
	info, err := client.Info(ctx)
	if err != nil {
		return c.say(c.failed("server", unproven(e.UserID, e.Server, err)))
	}
	c.say(Finding{What: "server", OK: true, Text: "Rocket.Chat " + info.Version})
	if off, known := client.ClockOffset(); known && off.Abs() > 2*time.Minute {
		c.say(Finding{What: "server", Warn: true, Text: "its clock is off ours by " + off.Round(time.Second).String(), Try: "timedatectl status"})
	}
	me, err := client.Me(ctx)
	if err != nil {
		return c.say(c.failed("token", unproven(e.UserID, e.Server, err)))
	}
	if me.ID != e.UserID {
		return c.say(Finding{What: "token", Text: fmt.Sprintf("belongs to @%s (%s), sealed is user id %s", me.Username, me.ID, e.UserID), Try: "rcsupervisor add " + c.r.Name + " --server " + e.Server})
	}
	c.say(Finding{What: "token", OK: true, Text: "@" + me.Username})
	if slices.Contains(me.Roles, "admin") {
		c.say(Finding{What: "token", Warn: true, Text: "the bot is an administrator of the server", Try: "give the bot's account the role bot instead"})
	}
	return true
}

// socket connects as a channel does, and lets go as soon as it is online.
func (c *checking) socket(ctx context.Context) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	e := c.envelope
	began := time.Now()
	end := ddp.Run(ctx, ddp.Config{Server: e.Server, UserID: e.UserID, Token: e.Token, Network: c.network},
		&untilReady{func() { cancel(&ddp.End{Reason: healthcheck.Operator}) }})
	if end.Online {
		c.say(Finding{What: "socket", OK: true, Text: "online after " + time.Since(began).Round(time.Millisecond).String()})
		return
	}
	c.say(Finding{What: "socket", Text: end.Error(), Try: "let WebSockets through to " + e.Server + "/websocket"})
}

type untilReady struct{ ready func() }

func (*untilReady) Connected()        {}
func (u *untilReady) Ready(*ddp.Conn) { u.ready() }
func (*untilReady) Event(ddp.Event)   {}

// access says who may talk.
func (c *checking) access() {
	count := map[profile.Role]int{}
	for _, p := range c.r.Access.People {
		count[p.Role]++
	}
	f := Finding{What: "access", OK: true, Text: fmt.Sprintf("%d owners, %d members, %d rooms", count[profile.Owner], count[profile.Member], len(c.r.Access.Rooms))}
	if count[profile.Owner]+count[profile.Member] == 0 {
		f = Finding{What: "access", Warn: true, Text: "nobody may talk to the bot yet", Try: "rcsupervisor people " + c.r.Name + " owner @USERNAME"}
	}
	c.say(f)
}

// failed is a finding about what is sealed: other credentials mend it.
func (c *checking) failed(what string, err error) Finding {
	f := failed(what, err)
	switch {
	case f.Try == mendCertificate:
		f.Try = certificateOf(c.r.Home)
	case strings.HasPrefix(f.Try, "--"):
		f.Try = "rcsupervisor add " + c.r.Name + " " + f.Try
	}
	return f
}

// failed makes a finding of an error, with what it says mends it.
func failed(what string, err error) Finding {
	return Finding{What: what, Text: err.Error(), Try: Hint(err)}
}
