package worker

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
	"golang.org/x/sys/unix"

	"rcsupervisor/channel"
	"rcsupervisor/channel/agent"
)

// This test's own binary is what the carrier executes. What a worker is called
// says how it behaves.
func init() {
	if !IsWorker(os.Args) {
		return
	}
	if act := misdeeds[os.Args[2]]; act != nil {
		act()
		os.Exit(3)
	}
	os.Exit(Main(os.Args, channel.Env{Agent: probing}))
}

// The tests' process takes in orphans, as a supervisor does.
func TestMain(m *testing.M) {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(m)
}

// misdeeds are what workers do that are not what they should be.
var misdeeds = map[string]func(){
	"leaver":   func() {},
	"stranger": func() { misbehave(wireHello{linkVersion, "another"}, nil) },
	"old":      func() { misbehave(wireHello{linkVersion + 1, build()}, nil) },
	"nonsense": func() {
		misbehave(good(), func(c net.Conn, _ *bufio.Reader) { _ = writeFrame(c, kindReport, []byte(`{"Run": "many"}`)) })
	},
	"unknown": func() { misbehave(good(), func(c net.Conn, _ *bufio.Reader) { _ = writeFrame(c, '?', nil) }) },
	"huge": func() {
		misbehave(good(), func(c net.Conn, _ *bufio.Reader) { _, _ = c.Write([]byte{0xff, 0xff, 0xff, 0xff, 'R'}) })
	},
	"foreign": func() {
		misbehave(good(), func(c net.Conn, _ *bufio.Reader) { _ = writeJSON(c, kindReport, channel.Report{Run: 99}) })
	},
	"asker": func() {
		misbehave(good(), func(c net.Conn, _ *bufio.Reader) {
			for i := range uint64(10 * maxAsks) {
				if writeJSON(c, kindAsk, wireAsk{ID: i, Permit: &channel.Permit{Kind: "never"}}) != nil {
					return
				}
			}
		})
	},
	"flood": func() {
		misbehave(good(), func(c net.Conn, _ *bufio.Reader) {
			for writeJSON(c, kindLog, channel.Record{Message: strings.Repeat("flood ", 100)}) == nil {
			}
		})
	},
	"sulker": func() { misbehave(good(), func(net.Conn, *bufio.Reader) { time.Sleep(time.Hour) }) }, // reads nothing
	"panic":  func() { misbehave(good(), func(net.Conn, *bufio.Reader) { panic("of its own") }) },
}

func good() wireHello { return wireHello{linkVersion, build()} }

// misbehave is a worker up to the hello, and then whatever then does.
func misbehave(hello wireHello, then func(net.Conn, *bufio.Reader)) {
	w, err := parseWalls(os.Args[3:])
	if err == nil {
		err = w.raise()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return
	}
	c, err := inherited()
	if err != nil || writeJSON(c, kindHello, hello) != nil || then == nil {
		time.Sleep(time.Minute)
		return
	}
	in := bufio.NewReader(c)
	for range 2 { // credentials and start
		if _, _, err := readFrame(in, maxToWorker); err != nil {
			return
		}
	}
	then(c, in)
	time.Sleep(time.Minute)
}

// probing makes agents that answer with what a shell script says that is given
// as agent.command.
func probing(s channel.Start, link channel.Link) (agent.Agent, error) {
	return &probe{script: s.Settings.Agent.Command, link: link}, nil
}
