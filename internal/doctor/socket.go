package doctor

import (
	"errors"
	"io/fs"
	"net"
	"os"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"rcsupervisor/internal/ownerfs"
)

// socket looks whether a supervisor answers.
func (e *examination) socket() {
	if i, err := os.Lstat(e.Socket); err == nil && i.Mode().Type() != fs.ModeSocket {
		aside := e.Socket + ".aside"
		e.bad("supervisor", "mv "+ownerfs.Quote(e.Socket)+" "+ownerfs.Quote(aside), "something that is no socket lies at %s, where the supervisor would answer", e.Socket)
		return
	}
	c, err := net.DialTimeout("unix", e.Socket, 2*time.Second)
	switch {
	case err == nil:
		defer c.Close()
		if !answers(c) {
			e.bad("supervisor", "kill -KILL "+listener(c)+", then rcsupervisor run", "one listens at %s, and does not answer", e.Socket)
			return
		}
		e.ok("supervisor", "answers at %s", e.Socket)
	case errors.Is(err, fs.ErrNotExist):
		e.warn("supervisor", "rcsupervisor run", "none runs (%s)", e.Socket)
	case errors.Is(err, syscall.ECONNREFUSED):
		e.warn("supervisor", "rcsupervisor run", "none runs; one that was killed left %s, which the next replaces", e.Socket)
	case errors.Is(err, fs.ErrPermission):
		e.warn("supervisor", "sudo rcsupervisor doctor", "%s is another user's", e.Socket)
	default:
		e.bad("supervisor", "rcsupervisor doctor --socket SOCKET", "%v", err)
	}
}

// answerWithin is how long a supervisor has to answer, which it does once it has
// looked at all homes. Tests have less patience.
var answerWithin = 12 * time.Second

// answers reports whether whoever listens says anything.
func answers(c net.Conn) bool {
	_ = c.SetDeadline(time.Now().Add(answerWithin))
	if _, err := c.Write([]byte("GET /v1/status HTTP/1.0\r\nHost: _\r\n\r\n")); err != nil {
		return false
	}
	n, _ := c.Read(make([]byte, 1))
	return n == 1
}

// listener is the process at the other end of a connection, as a word of a
// command.
func listener(c net.Conn) string {
	pid := "PID"
	if u, ok := c.(*net.UnixConn); ok {
		if raw, err := u.SyscallConn(); err == nil {
			_ = raw.Control(func(fd uintptr) {
				if cred, err := unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED); err == nil && cred.Pid > 0 {
					pid = strconv.Itoa(int(cred.Pid))
				}
			})
		}
	}
	return pid
}
