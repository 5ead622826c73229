package channel

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"rcsupervisor/channel/pretend"
	"rcsupervisor/healthcheck"
	"rcsupervisor/profile"
	"rcsupervisor/sealed"
)

// overTCP is a house outside any bubble: real sockets, real files, the real
// clock.
func overTCP(t *testing.T, secure bool, o pretend.Options) *house {
	t.Helper()
	s := pretend.New(o)
	h := build(t, s)
	var err error
	if secure {
		h.start.Credentials.Server, h.start.CA, err = s.ListenTLS("127.0.0.1:0")
	} else {
		h.start.Credentials.Server, err = s.Listen("127.0.0.1:0")
	}
	if err != nil {
		t.Fatal(err)
	}
	onDisk(h)
	h.probe = 300 * time.Millisecond
	t.Cleanup(func() {
		h.stop()
		s.Close()
	})
	return h
}

// hears waits until the bot has said exactly this in a room.
func (h *house) hears(room pretend.Room, texts ...string) {
	h.t.Helper()
	ctx, cancel := context.WithTimeout(h.t.Context(), 20*time.Second)
	defer cancel()
	if h.server.Await(ctx, func() bool { return slices.Equal(h.said(room), texts) }) != nil {
		h.wants(room, texts...)
	}
}

// online waits for the next connection after so many.
func (h *house) online(after uint64) Report {
	h.t.Helper()
	return h.awaitFor(20*time.Second, "online", func(r Report) bool {
		return r.Phase == Online && r.Connection > after && !r.CatchingUp
	})
}

// The whole way over TLS, below a base path, with a store on disk, twice.
func TestOverTLS(t *testing.T) {
	for _, v := range pretend.Versions() {
		t.Run(string(v), func(t *testing.T) {
			h := overTCP(t, true, pretend.Options{Version: v, BasePath: "/chat"})
			h.run().online(0)
			h.server.Say(h.owner, h.direct, "hello")
			h.server.Say(h.member, h.lab, "@hermes and here")
			h.hears(h.direct, "echo: hello")
			h.hears(h.lab, "echo: and here")
			h.again().run().online(0)
			h.server.Say(h.owner, h.direct, "hello again")
			h.hears(h.direct, "echo: hello", "echo: hello again")
		})
	}
}

// A certificate that is not believed is no server.
func TestOverTLSWithoutTheCertificate(t *testing.T) {
	h := overTCP(t, true, pretend.Options{})
	h.start.CA = nil
	h.run()
	h.awaitFor(20*time.Second, "an end", func(r Report) bool { return r.End != nil })
	if got := h.super.reasons(); got[0] != healthcheck.Unreachable {
		t.Errorf("it ended %v", got)
	}
	if n := h.server.Total("login"); n != 0 {
		t.Errorf("the token was sent, %d times", n)
	}
}

// A socket that falls silent, a server that is restarted: noticed and mended in
// real time, at shortened limits.
func TestOverTCPThroughFaults(t *testing.T) {
	h := overTCP(t, false, pretend.Options{})
	h.start.Settings.Health = profile.Health{Silence: time.Second, Ping: 300 * time.Millisecond, Check: 5 * time.Second}
	last := h.run().online(0).Connection
	var want []string
	for i, fault := range []pretend.Fault{
		{Kind: pretend.NoPong, User: "hermes", For: pretend.Duration(1300 * time.Millisecond)}, // at these limits the server says nothing else
		{Kind: pretend.Restart, Delay: pretend.Duration(500 * time.Millisecond)},
	} {
		h.server.Break(fault)
		last = h.online(last).Connection
		text := fmt.Sprint("after fault ", i)
		h.server.Say(h.owner, h.direct, text)
		want = append(want, "echo: "+text)
		h.hears(h.direct, want...)
	}
	if got := h.super.reasons(); got[0] != healthcheck.Silent {
		t.Errorf("it ended %v", got)
	}
}

// matterbridge#1645, openclaw#55526: many bots on one server in one process,
// each with its own token, store and people; everyone answers for himself.
func TestManyBotsInOneProcess(t *testing.T) {
	server := pretend.New(pretend.Options{NoLimits: true})
	defer server.Close()
	url, err := server.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	owner := server.AddUser("owner", pretend.UserOptions{})
	hall := server.AddChannel("hall", owner)
	const n = 20
	var houses []*house
	for i := range n {
		h := &house{t: t, server: server, owner: owner, wrap: func(run func() error) error { return run() }}
		h.bot = server.AddUser(fmt.Sprint("bot", i), pretend.UserOptions{Bot: true})
		server.Join(hall, h.bot)
		h.direct = server.AddDirect(owner, h.bot)
		settings, err := profile.ParseSettings("channel.yaml", []byte("agent:\n  kind: echo\n"))
		if err != nil {
			t.Fatal(err)
		}
		access := profile.DefaultAccess()
		access.People = []profile.Person{{ID: owner.ID, Role: profile.Owner}}
		access.Rooms = []profile.Room{{ID: hall.ID, Mention: true}}
		h.start = Start{
			Profile: h.bot.Username, Home: t.TempDir(), Settings: settings, Access: access,
			Credentials: sealed.Credentials{Server: url, UserID: h.bot.ID, Token: sealed.NewSecret(h.bot.Token), PostKey: sealed.NewSecret(h.bot.ID)},
		}
		onDisk(h)
		h.run()
		houses = append(houses, h)
	}
	defer func() {
		for _, h := range houses {
			h.stop()
		}
	}()
	for _, h := range houses {
		h.online(0)
	}
	var want []string
	for i, h := range houses {
		server.Say(owner, h.direct, fmt.Sprint("to ", i))
		server.Say(owner, hall, fmt.Sprintf("@bot%d hello %d", i, i))
		want = append(want, fmt.Sprint("echo: hello ", i))
	}
	for i, h := range houses {
		h.hears(h.direct, fmt.Sprint("echo: to ", i))
		h.hears(hall, want[i])
	}
}
