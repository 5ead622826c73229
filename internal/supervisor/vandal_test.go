package supervisor

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"rcsupervisor/channel"
	"rcsupervisor/channel/agent"
	"rcsupervisor/healthcheck"
	"rcsupervisor/internal/worker"
)

// A vandal does in its worker's process what it is asked to: it stands for
// whatever may go wrong in there.
type vandal struct{ agent.Echo }

const vandals = "agent: {kind: exec, command: [vandal]}\nhealth: {silence: 3s, ping: 1s, check: 5s}\n"

func (v vandal) Begin(ctx context.Context, q agent.Question) (agent.Turn, error) {
	does, what, _ := strings.Cut(q.Message.Text, " ")
	switch does {
	case "exit":
		os.Exit(7)
	case "fault":
		fault()
	case "flood":
		line, _ := json.Marshal(channel.Record{Message: "flood"})
		many := bytes.Repeat(framed('l', line), 200) // which a socket takes whole
		fd, err := link()
		for err == nil {
			err = write(fd, many)
		}
	case "junk":
		_ = send([]byte{0xff, 0xff, 0xff, 0xff, 'R'})
	case "say": // a frame of its own, and again: the worker's next report may come before it is read
		for range 20 {
			_ = tell(what[0], []byte(what[2:]))
			time.Sleep(20 * time.Millisecond)
		}
	}
	return v.Echo.Begin(ctx, q)
}

// fault reads from a mapped file that was cut short: SIGBUS.
func fault() {
	f, err := os.CreateTemp("", "")
	if err != nil {
		panic(err)
	}
	_ = f.Truncate(4096)
	b, err := unix.Mmap(int(f.Fd()), 0, 4096, unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		panic(err)
	}
	_ = os.Remove(f.Name())
	_ = f.Truncate(0)
	fmt.Fprint(os.Stderr, b[0])
}

// framed is a frame of the worker's link.
func framed(kind byte, body []byte) []byte {
	frame := binary.BigEndian.AppendUint32(nil, uint32(len(body)+1))
	return append(append(frame, kind), body...)
}

// tell writes a frame into the worker's own link.
func tell(kind byte, body []byte) error { return send(framed(kind, body)) }

// send writes bytes into it.
func send(b []byte) error {
	fd, err := link()
	if err != nil {
		return err
	}
	return write(fd, b)
}

// link is the worker's own: of its descriptors it is the only socket of its
// kind.
func link() (fd int, err error) {
	all, _ := os.ReadDir("/proc/self/fd")
	for _, e := range all {
		if _, err := fmt.Sscan(e.Name(), &fd); err != nil || fd < 3 {
			continue
		}
		to, _ := os.Readlink(filepath.Join("/proc/self/fd", e.Name()))
		name, _ := unix.Getsockname(fd)
		if _, ok := name.(*unix.SockaddrUnix); ok && strings.HasPrefix(to, "socket:") {
			return fd, nil
		}
	}
	return 0, errors.New("there is no link")
}

func write(fd int, b []byte) error {
	for len(b) > 0 {
		n, err := unix.Write(fd, b)
		switch {
		case err == unix.EAGAIN:
			time.Sleep(time.Millisecond)
		case err != nil:
			return err
		default:
			b = b[n:]
		}
	}
	return nil
}

// What goes wrong in one worker, and whatever it then says, is that profile's
// state, with a sentence; the others keep their sockets.
func TestWhatAWorkerMayDo(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct{ does, state, says string }{
		"exits":                  {"exit", "starting crashed", "exit status 7"},
		"faults":                 {"fault", "starting crashed", "exit status 2"},
		"floods":                 {"flood", "starting crashed", "flooded its link"},
		"says no frame":          {"junk", "starting crashed", "makes no sense"},
		"says no report":         {`say R {"Run": "many"}`, "starting crashed", "makes no sense"},
		"is another run":         {`say R {"Run": 77}`, "starting crashed", "a report of another run"},
		"is gone, it says":       {`say o {"Reason": "gone"}`, "starting crashed", `it ended as "gone", which can't be`},
		"is suspended":           {`say o {"Reason": "suspended"}`, "starting crashed", `it ended as "suspended", which can't be`},
		"ends untold":            {`say o {"Reason": "operator"}`, "starting crashed", "without being told to"},
		"says its home is gone":  {`say R {"Run": 1, "Connection": 1, "End": {"Reason": "gone"}}`, "connecting dropped", `ended as "gone", which can't be`},
		"says that it crashed":   {`say R {"Run": 1, "Connection": 1, "End": {"Reason": "crashed"}}`, "connecting dropped", `ended as "crashed", which can't be`},
		"says it was reloaded":   {`say R {"Run": 1, "Connection": 1, "End": {"Reason": "reload"}}`, "connecting dropped", `ended as "reload", which can't be`},
		"says it was stopped":    {`say R {"Run": 1, "Connection": 1, "End": {"Reason": "operator"}}`, "connecting dropped", `ended as "operator", which can't be`},
		"says what nobody knows": {`say R {"Run": 1, "Connection": 1, "End": {"Reason": "moonstruck\u202e"}}`, "connecting dropped", `"moonstruck\u202e", which can't be`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHouse(t, worker.Process)
			h.add("alice", vandals)
			h.add("bob", quick)
			h.start()
			h.online("alice", "bob")
			undisturbed := h.undisturbed("bob")
			h.server.Say(h.owner, h.server.AddDirect(h.owner, h.bots["alice"]), row.does)
			h.was("alice", row.state)
			if row.state == "starting crashed" {
				h.online("alice")
			} else {
				h.must(h.super.Restart(h.Context(), "alice"))
			}
			if s := h.said("alice"); !strings.Contains(s, row.says) {
				h.Errorf("it says %q", s)
			}
			h.awaitThat("alice", "online in its second run", func(p ProfileStatus) bool {
				return p.State == healthcheck.Online && *p.Run == 2
			})
			h.asks("alice", "are you back?")
			undisturbed()
			h.asks("bob", "and you?")
		})
	}
}

// Reports that can't be of the present connection are not believed, whoever's
// they are: a run that is over, a connection before or after.
func TestStaleReportsAreNotBelieved(t *testing.T) {
	t.Parallel()
	both(t, func(h *house) {
		h.add("alice", quick)
		h.start()
		h.online("alice")
		undisturbed := h.undisturbed("alice")
		k := h.super.keeper("alice")
		h.must(k.ask(h.Context(), func() error {
			end := &channel.End{Reason: healthcheck.Identity}
			dead := &run{number: k.live.number, ear: k.live.ear}
			for _, c := range []struct {
				run    *run
				report channel.Report
			}{
				{dead, channel.Report{Run: dead.number, Connection: k.dials, End: end}},
				{k.live, channel.Report{Run: k.live.number - 1, Connection: k.dials, End: end}},
				{k.live, channel.Report{Run: k.live.number + 1, Connection: k.dials, End: end}},
				{k.live, channel.Report{Run: k.live.number, Connection: k.dials - 1, End: end}},
				{k.live, channel.Report{Run: k.live.number, Connection: k.dials + 1, End: end}},
			} {
				k.heard(c.run, &c.report)
				if k.history.State != healthcheck.Online {
					return fmt.Errorf("%+v is believed: %s %s", c.report, k.history.State, k.history.Reason)
				}
			}
			k.over(dead, worker.End{Reason: healthcheck.Crashed})
			if k.live == nil || k.history.State != healthcheck.Online {
				return errors.New("the end of another run is believed")
			}
			return nil
		}))
		undisturbed()
	})
}
