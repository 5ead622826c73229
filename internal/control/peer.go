package control

import (
	"bytes"
	"context"
	"errors"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"rcsupervisor/internal/supervisor"
)

// A Peer is who is at the other end of a connection, by the kernel's word.
type Peer struct {
	UID int
	PID int
	// Ours: it descends from the supervisor, as agents do and people don't, or
	// nobody can tell any more. It gets nothing but status.
	Ours bool

	own int // the supervisor's user
}

// Admin reports whether the peer may do all: root, and the supervisor's user.
func (p Peer) Admin() bool { return p.UID == 0 || p.UID == p.own }

// Viewer is what the peer sees.
func (p Peer) Viewer() supervisor.Viewer { return supervisor.Viewer{UID: p.UID, All: p.Admin()} }

type peerKey struct{}

// peerOf returns who is at the other end of the connection of a request.
func peerOf(ctx context.Context) Peer {
	c, ok := ctx.Value(peerKey{}).(*peerConn)
	if !ok {
		return Peer{UID: -1, Ours: true, own: -2}
	}
	return c.peer()
}

// A peerConn is a connection, with what the kernel said of its other end when
// it was made.
type peerConn struct {
	net.Conn
	uid, pid int
	mu       sync.Mutex
	pidfd    int    // of the very process that connected; -1 where the kernel gives none. Guarded by mu
	began    uint64 // its start, in ticks since the host's; 0 when it can't be told
	err      error
	over     func() // called once, when it is closed; nil for nothing
}

// soPeerPIDFD is SO_PEERPIDFD, of Linux 6.5.
const soPeerPIDFD = 77

// identify asks the kernel who connected.
func identify(c net.Conn) *peerConn {
	p := &peerConn{Conn: c, uid: -1, pidfd: -1}
	u, ok := c.(*net.UnixConn)
	if !ok {
		p.err = errors.New("not a unix socket")
		return p
	}
	raw, err := u.SyscallConn()
	if err == nil {
		err = raw.Control(func(fd uintptr) {
			cred, err := unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
			if err != nil {
				p.err = err
				return
			}
			p.uid, p.pid = int(cred.Uid), int(cred.Pid)
			if n, err := unix.GetsockoptInt(int(fd), unix.SOL_SOCKET, soPeerPIDFD); err == nil {
				p.pidfd = n
				unix.CloseOnExec(n)
			}
		})
	}
	if err != nil {
		p.err = err
	}
	if s, ok := readStat(p.pid); ok {
		p.began = s.start
	}
	return p
}

// Close also lets go of the process.
func (p *peerConn) Close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.pidfd >= 0 {
		unix.Close(p.pidfd)
		p.pidfd = -1
	}
	if p.over != nil {
		p.over()
		p.over = nil
	}
	return p.Conn.Close()
}

// peer says who it is now. A process that is gone may have left its connection
// to another, whose ancestry nobody knows.
func (p *peerConn) peer() Peer {
	peer := Peer{UID: p.uid, PID: p.pid, own: os.Geteuid(), Ours: true}
	if p.err != nil || p.pid <= 0 {
		peer.UID = -1
		return peer
	}
	descends, ok := descendsFrom(p.pid, p.began, os.Getpid())
	peer.Ours = !ok || descends || p.gone()
	return peer
}

// gone reports whether the process that connected has ended, as far as can be
// told.
func (p *peerConn) gone() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.pidfd < 0 {
		return false
	}
	n, err := unix.Poll([]unix.PollFd{{Fd: int32(p.pidfd), Events: unix.POLLIN}}, 0)
	return err != nil && err != unix.EINTR || n > 0
}

// A stat is what /proc says of a process.
type stat struct {
	parent int
	start  uint64
}

func readStat(pid int) (s stat, ok bool) {
	data, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return s, false
	}
	// The second field is a name in brackets that may hold anything.
	i := bytes.LastIndexByte(data, ')')
	if i < 0 {
		return s, false
	}
	fields := strings.Fields(string(data[i+1:]))
	const parent, start = 1, 19 // fields 4 and 22 of the line
	if len(fields) <= start {
		return s, false
	}
	s.parent, err = strconv.Atoi(fields[parent])
	if err == nil {
		s.start, err = strconv.ParseUint(fields[start], 10, 64)
	}
	return s, err == nil
}

// maxAncestors bounds the way up. A chain that is longer was made to be.
const maxAncestors = 256

// descendsFrom reports whether pid, which began at start, has ancestor above
// it. What an agent leaves behind comes under its worker, or the supervisor,
// both of which take in orphans; so there is no way out. ok is false when it
// can't be told: the process is gone, or another has its number now.
func descendsFrom(pid int, start uint64, ancestor int) (yes, ok bool) {
	first := true
	for range maxAncestors {
		s, there := readStat(pid)
		if !there || first && start != 0 && s.start != start {
			return false, false
		}
		first = false
		switch s.parent {
		case ancestor:
			return true, true
		case 0, 1:
			return ancestor == s.parent, true
		}
		pid = s.parent
	}
	return false, false
}
