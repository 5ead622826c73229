package channel

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"rcsupervisor/channel/pretend"
	"rcsupervisor/healthcheck"
)

// An ordeal is something that goes wrong with a connection that is online, and
// what has to come of it: it is noticed in time, for the right reason, and the
// bot is back in time, has missed nothing and answers nothing twice.
type ordeal struct {
	name    string // with the reports it stands for
	fault   pretend.Fault
	lasts   time.Duration // until it is mended; 0: it is done at once
	notice  time.Duration // the first end is known within, from the beginning
	back    time.Duration // online again within, from the mending
	reasons []healthcheck.Reason
	dials   int  // at most so many connections in all
	deaf    bool // health.check finds it
}

var (
	closed      = []healthcheck.Reason{healthcheck.Closed}
	unreachable = []healthcheck.Reason{healthcheck.Closed, healthcheck.Unreachable}
	dropped     = []healthcheck.Reason{healthcheck.Closed, healthcheck.Dropped}
)

var ordeals = []ordeal{
	{
		name:  "hermes-plugin#3, hubot#261, hermes#19821: the other side vanished without a word",
		fault: pretend.Fault{Kind: pretend.HalfOpen}, lasts: 2 * time.Minute, notice: 71 * time.Second, back: 35 * time.Second, reasons: []healthcheck.Reason{healthcheck.Silent, healthcheck.Unreachable}, dials: 8,
	},
	{
		name:  "js.SDK#163, js.SDK#70, hermes#25476: the socket is open, and nothing comes",
		fault: pretend.Fault{Kind: pretend.Silent, User: "hermes"}, lasts: 71 * time.Second, notice: 71 * time.Second, back: 35 * time.Second, reasons: []healthcheck.Reason{healthcheck.Silent, healthcheck.Dropped}, dials: 5,
	},
	{
		name:  "RC#36023, RC#40774: pings go on, events don't",
		fault: pretend.Fault{Kind: pretend.Deaf, User: "hermes"}, lasts: 8 * time.Minute, notice: 8 * time.Minute, back: 7 * time.Minute, reasons: []healthcheck.Reason{healthcheck.Deaf}, dials: 4, deaf: true,
	},
	{
		name:  "js.SDK#109: closed with 1000, as for a token that has run out",
		fault: pretend.Fault{Kind: pretend.Drop, Code: 1000, Text: "Normal closure"}, notice: time.Second, back: time.Second, reasons: closed, dials: 2,
	},
	{
		name:  "a streamer's time-out",
		fault: pretend.Fault{Kind: pretend.Drop, Code: 4000, Text: "TIMEOUT"}, notice: time.Second, back: time.Second, reasons: closed, dials: 2,
	},
	{
		name:  "websockets/ws#2283, ergo#1578: 1006, a proxy cut an idle connection",
		fault: pretend.Fault{Kind: pretend.Drop}, notice: time.Second, back: time.Second, reasons: closed, dials: 2,
	},
	{
		name:  "matterbridge#855, #1419, #2089, #1011: the server is restarted",
		fault: pretend.Fault{Kind: pretend.Restart, Delay: pretend.Duration(40 * time.Second)}, lasts: 40 * time.Second, notice: time.Second, back: 6 * time.Second, reasons: unreachable, dials: 12,
	},
	{
		name:  "js.SDK#163, hermes-agent#46561: the server is away for hours",
		fault: pretend.Fault{Kind: pretend.Restart, Delay: pretend.Duration(5 * time.Hour)}, lasts: 5 * time.Hour, notice: time.Second, back: 6 * time.Second, reasons: unreachable, dials: 5*720 + 3,
	},
	{
		name:  "RC#22292: it comes back behind a proxy that says 502",
		fault: pretend.Fault{Kind: pretend.BadGateway}, lasts: 10 * time.Minute, notice: time.Second, back: 6 * time.Second, reasons: unreachable, dials: 140,
	},
	{
		name:  "RC.ReactNative#7443, RC#22292: it drops each connection after a second",
		fault: pretend.Fault{Kind: pretend.Flap, Delay: pretend.Duration(time.Second)}, lasts: time.Hour, notice: 3 * time.Second, back: 6 * time.Minute, reasons: closed, dials: 24,
	},
	{
		name:  "js.SDK#412, #413, #271: it takes connections and does not say `connected`",
		fault: pretend.Fault{Kind: pretend.HoldConnected}, lasts: 10 * time.Minute, notice: time.Second, back: 36 * time.Second, reasons: unreachable, dials: 24,
	},
	{
		name:  "hubot-rocketchat#204: it does not answer the login",
		fault: pretend.Fault{Kind: pretend.HoldLogin}, lasts: 10 * time.Minute, notice: time.Second, back: 92 * time.Second, reasons: dropped, dials: 16,
	},
	{
		name:  "js.SDK#412: it does not say `ready`",
		fault: pretend.Fault{Kind: pretend.HoldReady}, lasts: 10 * time.Minute, notice: time.Second, back: 92 * time.Second, reasons: dropped, dials: 16,
	},
	{
		name:  "it speaks another version of DDP",
		fault: pretend.Fault{Kind: pretend.Failed}, lasts: 10 * time.Minute, notice: time.Second, back: 62 * time.Second, reasons: dropped, dials: 18,
	},
	{
		name:  "hermes-plugin 1.5.0: the login's result is an error of the server",
		fault: pretend.Fault{Kind: pretend.LoginError}, lasts: 10 * time.Minute, notice: time.Second, back: 62 * time.Second, reasons: dropped, dials: 18,
	},
	{
		name:  "js.SDK#119: too many logins",
		fault: pretend.Fault{Kind: pretend.LoginRateLimited, Delay: pretend.Duration(90 * time.Second)}, lasts: 10 * time.Minute, notice: time.Second, back: 92 * time.Second, reasons: []healthcheck.Reason{healthcheck.Closed, healthcheck.RateLimited}, dials: 9,
	},
	{
		name:  "RC#23947, RC#8064, meteor#7383: a good token is refused for a while",
		fault: pretend.Fault{Kind: pretend.Transient403}, lasts: 10 * time.Minute, notice: time.Second, back: 62 * time.Second, reasons: dropped, dials: 18,
	},
	{
		name:  "Go.SDK#44: nosub without an error",
		fault: pretend.Fault{Kind: pretend.Nosub}, lasts: 10 * time.Minute, notice: time.Second, back: 62 * time.Second, reasons: dropped, dials: 18,
	},
	{
		name:  "hubot#142, RC#4040, Rocket.Chat.Net#2: the publication is not to be had",
		fault: pretend.Fault{Kind: pretend.NosubError}, lasts: 10 * time.Minute, notice: time.Second, back: 62 * time.Second, reasons: dropped, dials: 18,
	},
	{
		name:  "too many subscriptions",
		fault: pretend.Fault{Kind: pretend.NosubRateLimited, Delay: pretend.Duration(34 * time.Second)}, lasts: 10 * time.Minute, notice: time.Second, back: 36 * time.Second, reasons: []healthcheck.Reason{healthcheck.Closed, healthcheck.RateLimited}, dials: 20,
	},
	{
		name:  "RC#22817: the subscription is taken away later",
		fault: pretend.Fault{Kind: pretend.NosubLate, Delay: pretend.Duration(10 * time.Second)}, lasts: 10 * time.Minute, notice: time.Second, back: 6 * time.Minute, reasons: dropped, dials: 18,
	},
	{
		name:  "a frame of 5 MiB",
		fault: pretend.Fault{Kind: pretend.HugeFrame}, notice: time.Second, back: time.Second, reasons: []healthcheck.Reason{healthcheck.Dropped}, dials: 2,
	},
}

// meets is whether a fault is met by a connection that is there already; else
// the connection is cut so that the next one meets it.
func (o ordeal) meets() bool {
	switch o.fault.Kind {
	case pretend.HalfOpen, pretend.Silent, pretend.Deaf, pretend.Drop, pretend.Restart, pretend.HugeFrame:
		return true
	}
	return false
}

func TestReportedLivenessAndReconnect(t *testing.T) {
	for _, o := range ordeals {
		t.Run(o.name, func(t *testing.T) {
			for _, v := range pretend.Versions() {
				inBubble(t, v, o.run, with(func(s *Start) { s.Settings.Limits.CatchUp = 24 * time.Hour }))
			}
		})
	}
}

func (o ordeal) run(h *house) {
	h.up()
	h.pass(2 * time.Minute) // what was online for a while starts with no streak
	h.say(h.owner, h.direct, "before")
	began := time.Now()
	mend := h.server.Break(o.fault)
	if !o.meets() {
		h.server.Break(pretend.Fault{Kind: pretend.Drop})
	}
	h.pass(10 * time.Millisecond)
	h.server.Say(h.member, h.lab, "@hermes missed one")
	h.server.Say(h.owner, h.direct, "missed two")
	h.awaitFor(max(o.notice, time.Millisecond), "the end", func(Report) bool { return len(h.super.reasons()) > 0 })
	if left := o.lasts - time.Since(began); left > 0 {
		h.pass(left)
	}
	mend()
	h.awaitFor(o.back, "the return", func(r Report) bool { return r.Phase == Online && r.Connection > 1 && r.End == nil })
	h.pass(3 * time.Minute)
	h.say(h.owner, h.direct, "after")
	h.pass(time.Minute)
	h.wants(h.direct, echoes("before", "missed two", "after")...)
	h.wants(h.lab, echoes("missed one")...)
	o.judge(h)
}

// judge looks at how it was noticed, and at what it cost the server.
func (o ordeal) judge(h *house) {
	var seen []healthcheck.Reason
	for _, r := range h.super.reasons() {
		if !slices.Contains(seen, r) {
			seen = append(seen, r)
		}
	}
	if o.reasons != nil && !slices.Equal(seen, o.reasons) {
		h.t.Errorf("ended for %v, want %v", seen, o.reasons)
	}
	if n := len(h.super.at); n > o.dials {
		h.t.Errorf("%d connections were made, want at most %d", n, o.dials)
	}
	opened, ended := h.server.Sockets()
	if n := len(h.server.Connections(h.bot)); n != 1 {
		h.t.Errorf("%d sockets are open (%d opened, %d ended), want one", n, opened, ended)
	}
	if c := h.counters(); c.Answered != 4 || c.Missed != 0 || c.Misrouted+c.Failed+c.Late != 0 {
		h.t.Errorf("counted %+v", c)
	}
	if log := h.super.lines(); strings.Contains(log, h.bot.Token) || strings.Contains(log, "missed one") {
		h.t.Errorf("the log holds what it must not:\n%s", log)
	}
}

// What is odd and harms nobody ends nothing.
func TestOddFramesEndNothing(t *testing.T) {
	eachVersion(t, func(h *house) {
		h.up()
		for _, f := range []pretend.Fault{
			{Kind: pretend.BadJSON},
			{Kind: pretend.Binary},
			{Kind: pretend.UnknownFrame},
			{Kind: pretend.OddFrame, Text: `[]`},
			{Kind: pretend.OddFrame, Text: `{"msg":"changed","collection":"stream-room-messages","id":"id","fields":{"eventName":"__my_messages__","args":[]}}`},
			{Kind: pretend.OddFrame, Text: `{"msg":"changed","collection":"stream-room-messages","id":"id","fields":{"eventName":"__my_messages__","args":[{"_id":5}]}}`},
			{Kind: pretend.OddFrame, Text: `{"msg":"result","id":"login-1","error":{"error":403}}`},
			{Kind: pretend.OddFrame, Text: `{"msg":"nosub","id":"not-ours","error":{"error":404}}`},
			{Kind: pretend.OddFrame, Text: `{"msg":"pong","id":"p-nobodys-1"}`},
		} {
			h.server.Break(f)
			h.pass(time.Second)
		}
		h.say(h.owner, h.direct, "still there?")
		h.wants(h.direct, "echo: still there?")
		if n := len(h.super.reasons()); n != 0 {
			h.t.Errorf("it ended %v", h.super.reasons())
		}
		if c := h.counters(); c.Ignored["malformed"] != 2 {
			h.t.Errorf("counted %+v, want two malformed", c)
		}
	})
}

// A server that takes nothing more in, but speaks, is worked with: what it says
// is heard, and what is said goes over REST.
func TestAServerThatReadsNothing(t *testing.T) {
	eachVersion(t, func(h *house) {
		h.up()
		mend := h.server.Break(pretend.Fault{Kind: pretend.SlowReader, User: "hermes"})
		for i := range 5 {
			h.say(h.owner, h.direct, fmt.Sprint(i))
			h.pass(time.Minute)
		}
		mend()
		h.pass(time.Minute)
		h.wants(h.direct, echoes("0", "1", "2", "3", "4")...)
		if n := len(h.super.reasons()); n != 0 {
			h.t.Errorf("it ended %v", h.super.reasons())
		}
	})
}

// openclaw#70352, #32990: a link on which nobody says anything for hours is no
// reason to make another; and its last sign of life is known all the time.
func TestAQuietLinkStays(t *testing.T) {
	eachVersion(t, func(h *house) {
		h.up()
		for range 12 {
			h.pass(10 * time.Minute)
			r, _ := h.super.look()
			if age := time.Since(r.LastFrame); r.Phase != Online || age > 41*time.Second {
				h.t.Fatalf("%s, the last frame reported is of %s ago", r.Phase, age)
			}
		}
		if n := len(h.super.at); n != 1 {
			h.t.Errorf("%d connections were made: %v", n, h.super.reasons())
		}
		if opened, _ := h.server.Sockets(); opened != 1 {
			h.t.Errorf("%d sockets were opened", opened)
		}
		if h.super.reports > 1000 {
			h.t.Errorf("%d reports in two quiet hours", h.super.reports)
		}
	})
}

// hubot-rocketchat#131, js.SDK#163: a bot that is started before its server
// waits for it, without hurry and without giving up, and is there when it is.
func TestTheServerComesLater(t *testing.T) {
	for name, fault := range map[string]pretend.Fault{
		"nobody listens":      {Kind: pretend.Unreachable},
		"a proxy says 502":    {Kind: pretend.BadGateway},
		"a proxy says 503":    {Kind: pretend.BadGateway, Code: 503},
		"it redirects":        {Kind: pretend.RedirectSocket, URL: "https://elsewhere.example/websocket"},
		"it never says hello": {Kind: pretend.HoldConnected},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, pretend.V9, func(h *house) {
				mend := h.server.Break(fault)
				h.run()
				h.pass(time.Hour)
				if n := len(h.super.at); n < 10 || n > 3600/5+5 {
					h.t.Errorf("%d attempts in an hour", n)
				}
				for _, r := range h.super.reasons() {
					if r != healthcheck.Unreachable {
						h.t.Errorf("ended for %s", r)
					}
				}
				if n := h.server.Total("login"); n != 0 {
					h.t.Errorf("%d logins", n)
				}
				mend()
				h.awaitFor(36*time.Second, "online", func(r Report) bool { return r.Phase == Online })
				h.say(h.owner, h.direct, "there you are")
				h.pass(time.Second)
				h.wants(h.direct, "echo: there you are")
			})
		})
	}
}

// hubot#141, js.SDK#114, js.SDK#272: each restart of the server is one more
// connection, not one more subscription.
func TestManyRestarts(t *testing.T) {
	eachVersion(t, func(h *house) {
		h.up()
		var asked []string
		for i := range 12 {
			h.server.Break(pretend.Fault{Kind: pretend.Restart, Delay: pretend.Duration(2 * time.Second)})
			h.pass(time.Minute + time.Second)
			h.await("online", func(r Report) bool { return r.Phase == Online })
			asked = append(asked, fmt.Sprintf("question %d", i))
			h.say(h.owner, h.direct, asked[i])
			h.pass(70 * time.Second)
		}
		h.wants(h.direct, echoes(asked...)...)
		connections := h.server.Connections(h.bot)
		if len(connections) != 1 || len(connections[0].Subs) != 1 {
			h.t.Errorf("sockets and their subscriptions: %+v", connections)
		}
		if c := h.counters(); c.Duplicates != 0 {
			h.t.Errorf("counted %+v", c)
		}
	})
}
