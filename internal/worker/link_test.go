package worker

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"net"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"rcsupervisor/channel"
	"rcsupervisor/dedup"
	"rcsupervisor/healthcheck"
	"rcsupervisor/profile"
	"rcsupervisor/sealed"
)

func TestFrames(t *testing.T) {
	var buf bytes.Buffer
	if err := errors.Join(writeFrame(&buf, kindTaken, nil), writeJSON(&buf, kindCancel, wireCancel{7}), writeFrame(&buf, kindCredentials, []byte("secret"))); err != nil {
		t.Fatal(err)
	}
	for _, want := range []struct {
		kind kind
		body string
	}{{kindTaken, ""}, {kindCancel, `{"id":7}`}, {kindCredentials, "secret"}} {
		k, body, err := readFrame(&buf, 100)
		if err != nil || k != want.kind || string(body) != want.body {
			t.Errorf("%q %q, %v", byte(k), body, err)
		}
	}
	if _, _, err := readFrame(&buf, 100); err != io.EOF {
		t.Errorf("at the end: %v", err)
	}
	for in, want := range map[string]error{
		"\x00\x00\x00\x00x":         errNonsense,
		"\x00\x00\x00\x7fx":         errNonsense, // over the limit
		"\xff\xff\xff\xffx":         errNonsense,
		"\x00\x00\x00\x05x12":       io.ErrUnexpectedEOF,
		"\x00\x00\x00":              io.ErrUnexpectedEOF,
		"\x00\x00\x00\x02x\x00\x00": nil,
	} {
		if _, _, err := readFrame(strings.NewReader(in), 100); !errors.Is(err, want) {
			t.Errorf("%q: %v", in, err)
		}
	}
}

// Every command crosses the link and is on the other side what it was, but for
// credentials, which have a frame of their own.
func TestCommandsCrossTheLink(t *testing.T) {
	deadline := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	settings := profile.DefaultSettings()
	settings.Agent = profile.AgentSettings{Kind: "exec", Command: []string{"a", "b"}, Secrets: []string{"X"}, Env: map[string]string{"K": "v"}, IdleStop: time.Minute}
	for _, c := range []channel.Command{
		channel.Connect{Number: 3},
		channel.Drain{Deadline: deadline},
		channel.Stop{},
		channel.Beat{},
		channel.Apply{
			Settings: settings, Access: profile.Access{People: []profile.Person{{ID: "i", Name: "n", Role: profile.Owner}}, MemberCommands: []string{"help"}},
			Siblings: []string{"s"}, CA: []byte("pem"), Reconnect: true,
		},
	} {
		var w wireCommand
		if err := json.Unmarshal(marshal(commandFrame(9, c)), &w); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(c, w.command()); d != "" || w.Number != 9 {
			t.Errorf("%T\n%s", c, d)
		}
	}
}

// A command that was not taken gives way to the next of its kind, and the order
// is that in which they have to be done.
func TestTheLatestCommandCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newOutbox()
		b.command(channel.Stop{})
		b.command(channel.Connect{Number: 1})
		b.command(channel.Connect{Number: 2})
		b.command(channel.Apply{Reconnect: true})
		b.command(channel.Apply{})
		began := b.asked()
		if began.IsZero() {
			t.Error("nothing is asked")
		}
		time.Sleep(time.Second)
		var got []channel.Command
		for range 3 {
			f, _ := b.next()
			var w wireCommand
			if err := json.Unmarshal(f.body, &w); err != nil {
				t.Fatal(err)
			}
			got = append(got, w.command())
		}
		if d := cmp.Diff([]channel.Command{channel.Apply{Reconnect: true}, channel.Connect{Number: 2}, channel.Stop{}}, got); d != "" {
			t.Error(d)
		}
		if !b.asked().Equal(began) {
			t.Error("what was sent and not taken is asked no longer")
		}
		b.taken(1)
		if !b.asked().After(began) {
			t.Error("the clock did not start anew")
		}
		b.taken(99) // more than was sent
		if b.asked().IsZero() {
			t.Error("it is believed that more was taken than sent")
		}
		b.taken(3)
		if !b.asked().IsZero() {
			t.Errorf("asked since %v", b.asked())
		}
		b.close()
		b.command(channel.Stop{})
		if _, ok := b.next(); ok || !b.asked().IsZero() {
			t.Error("a closed link sends")
		}
	})
}

// Credentials cross once, and again when they are others.
func TestCredentialsCrossWhenTheyAreOthers(t *testing.T) {
	one := sealed.Credentials{Server: "https://x.example", UserID: "u", Token: sealed.NewSecret("one"), PostKey: sealed.NewSecret("p"), Generation: 1}
	two := one
	two.Token = sealed.NewSecret("two")
	b := newOutbox()
	b.handed(one)
	kinds := func(n int) (kinds string) {
		for range n {
			f, _ := b.next()
			kinds += string(f.kind)
			if f.kind == kindCredentials {
				if c, err := sealed.UnmarshalHandover(f.body); err != nil || c.Token.Reveal() != "two" {
					t.Errorf("%v, %v", c, err)
				}
			}
		}
		return kinds
	}
	b.command(channel.Apply{Credentials: one})
	b.reply(wireReply{ID: 1})
	if got := kinds(2); got != "rc" {
		t.Error(got)
	}
	b.command(channel.Apply{Credentials: two})
	if got := kinds(2); got != "kc" {
		t.Error(got)
	}
	b.command(channel.Apply{Credentials: two})
	if got := kinds(1); got != "c" {
		t.Error(got)
	}
}

// The shared carrier's inbox does the same without a wire.
func TestTheInbox(t *testing.T) {
	var b inbox
	now := time.Now()
	started := 0
	start := func() { started++ }
	b.put(channel.Stop{}, now, start)
	b.put(channel.Connect{Number: 1}, now.Add(time.Second), start)
	b.put(channel.Apply{Reconnect: true}, now, start)
	b.put(channel.Apply{}, now, start)
	if started != 1 || !b.since().Equal(now) {
		t.Errorf("started %d times, asked %v", started, b.since())
	}
	var got []channel.Command
	for {
		c, ok := b.next(now.Add(2 * time.Second))
		if !ok {
			break
		}
		got = append(got, c)
	}
	if d := cmp.Diff([]channel.Command{channel.Apply{Reconnect: true}, channel.Connect{Number: 1}, channel.Stop{}}, got); d != "" {
		t.Error(d)
	}
	if !b.since().IsZero() {
		t.Error("what was taken is asked")
	}
	b.put(channel.Beat{}, now, start)
	b.close()
	b.put(channel.Beat{}, now, start)
	if started != 2 || !b.since().IsZero() {
		t.Errorf("started %d times, asked %v", started, b.since())
	}
}

func TestTheMeter(t *testing.T) {
	var m meter
	now := time.Now()
	busy := func(frames, size int) error {
		for range frames {
			if err := m.count(size, now); err != nil {
				return err
			}
		}
		return nil
	}
	if err := busy(floodFrames, 100); err != nil {
		t.Errorf("a burst: %v", err)
	}
	if err := busy(1, 100); !errors.Is(err, errFlood) {
		t.Errorf("beyond it: %v", err)
	}
	m = meter{}
	for range 600 { // ten minutes of a busy channel
		now = now.Add(time.Second)
		if err := busy(100, 2000); err != nil {
			t.Fatal(err)
		}
	}
	m = meter{}
	if err := busy(70, 1<<20); !errors.Is(err, errFlood) {
		t.Errorf("70 MiB: %v", err)
	}
	now = now.Add(-time.Hour) // a clock that was set back gives nothing and takes nothing
	m = meter{}
	if err := busy(10, 1); err != nil {
		t.Error(err)
	}
}

// How a channel's return is told.
func TestHowRunsEnd(t *testing.T) {
	for _, c := range []struct {
		err  error
		want healthcheck.Reason
	}{
		{nil, healthcheck.Operator},
		{contained(func() error { panic("x") }), healthcheck.Crashed},
		{errors.Join(errors.New("open"), dedup.ErrLocked), healthcheck.Busy},
		{errors.Join(errors.New("open"), ErrBusy), healthcheck.Busy},
		{errors.Join(errors.New("open"), ErrHome), healthcheck.BadConfig},
		{errors.New("agent.kind is not supported"), healthcheck.BadConfig},
		{&fs.PathError{Op: "open", Path: "x", Err: unix.ENOSPC}, healthcheck.Crashed},
	} {
		if got := endOf(c.err); got.Reason != c.want {
			t.Errorf("%v: %s", c.err, got.Reason)
		}
	}
}

// A worker's end of the link: what it says is bounded, what it asks is answered
// or ends with the link.
func TestAWorkersEndOfTheLink(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ours, theirs := net.Pipe()
		l := newChildLink(theirs, sealed.Credentials{})
		var group sync.WaitGroup
		group.Go(func() { l.read(bufio.NewReader(theirs)) })
		for range linesWaiting + 10 {
			l.Log(channel.Record{Message: "line"})
		}
		l.Report(channel.Report{Run: 1})
		l.Report(channel.Report{Run: 2})
		group.Go(l.write)
		answers := make(chan error, 3)
		ask := func(ctx context.Context) {
			group.Go(func() { answers <- l.Allow(ctx, channel.Permit{Kind: channel.PermitDial}) })
			synctest.Wait()
		}
		ctx, cancel := context.WithCancel(t.Context())
		ask(t.Context())
		ask(ctx)
		ask(t.Context())
		cancel()
		in := bufio.NewReader(ours)
		var kinds []kind
		lines, dropped := 0, ""
		for len(kinds) < linesWaiting+5 {
			k, body, err := readFrame(in, maxFromWorker)
			if err != nil {
				t.Fatal(err)
			}
			kinds = append(kinds, k)
			switch k {
			case kindReport:
				var r channel.Report
				if err := decode(body, &r); err != nil || r.Run != 2 {
					t.Errorf("report %d, %v", r.Run, err)
				}
			case kindLog:
				lines++
			case kindAsk:
				var a wireAsk
				if err := decode(body, &a); err != nil || a.ID == 1 {
					_ = writeJSON(ours, kindReply, wireReply{ID: 1})
				}
			}
		}
		l.Log(channel.Record{Message: "after"})
		synctest.Wait()
		_, body, err := readFrame(in, maxFromWorker)
		if err == nil && strings.Contains(string(body), "dropped") {
			dropped = string(body)
		}
		if lines != linesWaiting || !strings.Contains(dropped, `"10"`) {
			t.Errorf("%d lines, then %s", lines, body)
		}
		if err := <-answers; err != nil && !errors.Is(err, context.Canceled) {
			t.Errorf("the first answer is %v", err)
		}
		if err := <-answers; err != nil && !errors.Is(err, context.Canceled) {
			t.Errorf("the second answer is %v", err)
		}
		go io.Copy(io.Discard, in)
		ours.Close()
		if err := <-answers; !errors.Is(err, errNoSupervisor) {
			t.Errorf("the third answer is %v", err)
		}
		if _, ok := <-l.Commands(); ok {
			t.Error("commands go on")
		}
		if err := l.Allow(t.Context(), channel.Permit{}); !errors.Is(err, errNoSupervisor) {
			t.Errorf("after the end: %v", err)
		}
		theirs.Close()
		group.Wait()
	})
}

// Whatever a worker sends, its supervisor survives it and says what it was.
func FuzzWhatAWorkerSays(f *testing.F) {
	for _, frames := range [][]any{
		{kindReport, channel.Report{Run: 1, Phase: channel.Online}},
		{kindLog, channel.Record{Message: "x"}},
		{kindTaken, wireTaken{1}},
		{kindAsk, wireAsk{ID: 1, Permit: &channel.Permit{Kind: "x"}}},
		{kindCancel, wireCancel{1}},
		{kindOver, End{Reason: "operator"}},
	} {
		var buf bytes.Buffer
		_ = writeJSON(&buf, frames[0].(kind), frames[1])
		f.Add(buf.Bytes())
	}
	f.Add([]byte("\x00\x00\x00\x02R{"))
	f.Fuzz(func(t *testing.T, said []byte) {
		ear := newEar(t)
		r := &processRun{ear: ear, out: newOutbox(), over: make(chan struct{}), asks: make(map[uint64]context.CancelFunc)}
		r.job.Start.Run = 1
		r.hear()
		end, err := r.read(bufio.NewReader(bytes.NewReader(said)))
		if end == nil && err == nil {
			t.Error("it neither ended nor failed")
		}
		r.out.close()
		r.dropAsks()
		r.work.Wait()
		if ear.last.Run > 1 {
			t.Errorf("a report of run %d was believed", ear.last.Run)
		}
	})
}

// Whatever a supervisor sends, a worker survives it.
func FuzzWhatAWorkerHears(f *testing.F) {
	for _, c := range []channel.Command{channel.Connect{Number: 1}, channel.Apply{}, channel.Drain{}, channel.Stop{}, channel.Beat{}} {
		var buf bytes.Buffer
		_ = writeFrame(&buf, kindCommand, marshal(commandFrame(1, c)))
		f.Add(buf.Bytes())
	}
	f.Add([]byte("\x00\x00\x00\x03k{}"))
	f.Fuzz(func(t *testing.T, heard []byte) {
		l := newChildLink(nil, sealed.Credentials{})
		done := make(chan struct{})
		go func() {
			defer close(done)
			for range l.Commands() {
			}
		}()
		l.read(bufio.NewReader(bytes.NewReader(heard)))
		<-done
	})
}
