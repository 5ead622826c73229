package pretend

import (
	"context"
	"io"
	"net"
	"os"
	"sync"
	"syscall"
	"time"
)

// Pipe lets clients in without a network: the function it returns dials this
// server, whatever the address says. The connections are in memory, buffered
// as a kernel's are (so that two sides that both write don't wait for each
// other), know deadlines, ends and resets, and block in a way that
// testing/synctest takes for waiting: in a bubble the whole of client and
// server runs on the fake clock. Make the server, dial and close inside one
// bubble.
func (s *Server) Pipe() func(ctx context.Context, network, addr string) (net.Conn, error) {
	l := &pipeListener{conns: make(chan net.Conn), closed: make(chan struct{})}
	if err := s.Serve(l); err != nil {
		l.Close()
	}
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		if s.faults.has(Unreachable, nil) {
			return nil, refused(addr)
		}
		client, server := newPipe()
		select {
		case l.conns <- server:
			return client, nil
		case <-l.closed:
			return nil, refused(addr)
		case <-ctx.Done():
			return nil, &net.OpError{Op: "dial", Net: network, Addr: pipeAddr(addr), Err: ctx.Err()}
		}
	}
}

// refused is what the kernel says where nobody listens.
func refused(addr string) error {
	return &net.OpError{
		Op: "dial", Net: "tcp", Addr: pipeAddr(addr),
		Err: os.NewSyscallError("connect", syscall.ECONNREFUSED),
	}
}

type pipeListener struct {
	conns  chan net.Conn
	once   sync.Once
	closed chan struct{}
}

func (l *pipeListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *pipeListener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

func (l *pipeListener) Addr() net.Addr { return pipeAddr("pretend:0") }

// pipeAddr is an address that doesn't exist.
type pipeAddr string

func (a pipeAddr) Network() string { return "tcp" }
func (a pipeAddr) String() string  { return string(a) }

// pipeBuffer is how much one direction holds before a writer waits.
const pipeBuffer = 64 << 10

// A stream is one direction of a pipe. Its lock guards it; waiting is on cond.
type stream struct {
	mu     sync.Mutex
	cond   sync.Cond
	buf    []byte
	eof    bool // the writer closed: what is in buf can still be read
	gone   bool // the reader closed: writes fail
	broken bool // reset: both fail, and what is in buf is lost

	readBy, writeBy deadline
}

// A deadline of one side of a stream.
type deadline struct {
	timer *time.Timer
	past  bool
}

// A pipeConn is one end of a pipe.
type pipeConn struct{ in, out *stream }

var _ net.Conn = &pipeConn{}

func newPipe() (client, server *pipeConn) {
	up, down := newStream(), newStream()
	return &pipeConn{in: down, out: up}, &pipeConn{in: up, out: down}
}

func newStream() *stream {
	s := &stream{}
	s.cond.L = &s.mu
	return s
}

func (c *pipeConn) Read(b []byte) (int, error) {
	s := c.in
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		switch {
		case s.broken:
			return 0, opError("read", syscall.ECONNRESET)
		case s.gone:
			return 0, opError("read", net.ErrClosed)
		case s.readBy.past:
			return 0, opError("read", os.ErrDeadlineExceeded)
		case len(b) == 0:
			return 0, nil
		case len(s.buf) > 0:
			n := copy(b, s.buf)
			s.buf = s.buf[n:]
			if len(s.buf) == 0 {
				s.buf = nil
			}
			s.cond.Broadcast()
			return n, nil
		case s.eof:
			return 0, io.EOF
		}
		s.cond.Wait()
	}
}

func (c *pipeConn) Write(b []byte) (int, error) {
	s := c.out
	s.mu.Lock()
	defer s.mu.Unlock()
	done := 0
	for {
		switch {
		case s.broken:
			return done, opError("write", syscall.ECONNRESET)
		case s.eof:
			return done, opError("write", net.ErrClosed)
		case s.gone:
			return done, opError("write", syscall.EPIPE)
		case s.writeBy.past:
			return done, opError("write", os.ErrDeadlineExceeded)
		case done == len(b):
			return done, nil
		}
		if room := pipeBuffer - len(s.buf); room > 0 {
			n := min(room, len(b)-done)
			s.buf = append(s.buf, b[done:done+n]...)
			done += n
			s.cond.Broadcast()
			continue
		}
		s.cond.Wait()
	}
}

func opError(op string, err error) error {
	if errno, ok := err.(syscall.Errno); ok {
		err = os.NewSyscallError(op, errno)
	}
	return &net.OpError{Op: op, Net: "tcp", Err: err}
}

// Close ends both directions: the other side reads what was written, then the
// end.
func (c *pipeConn) Close() error {
	c.out.change(func(s *stream) { s.eof = true; s.writeBy.stop() })
	c.in.change(func(s *stream) { s.gone, s.buf = true, nil; s.readBy.stop() })
	return nil
}

// reset ends both directions at once: the other side's next read or write is
// refused with ECONNRESET.
func (c *pipeConn) reset() {
	for _, s := range []*stream{c.in, c.out} {
		s.change(func(s *stream) {
			if s.eof && s.gone {
				return
			}
			s.broken, s.buf = true, nil
		})
	}
	c.Close()
}

func (s *stream) change(f func(*stream)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f(s)
	s.cond.Broadcast()
}

func (c *pipeConn) LocalAddr() net.Addr  { return pipeAddr("127.0.0.1:1") }
func (c *pipeConn) RemoteAddr() net.Addr { return pipeAddr("127.0.0.1:2") }

func (c *pipeConn) SetDeadline(t time.Time) error {
	c.SetReadDeadline(t)
	return c.SetWriteDeadline(t)
}

func (c *pipeConn) SetReadDeadline(t time.Time) error {
	c.in.change(func(s *stream) { s.arm(&s.readBy, t) })
	return nil
}

func (c *pipeConn) SetWriteDeadline(t time.Time) error {
	c.out.change(func(s *stream) { s.arm(&s.writeBy, t) })
	return nil
}

// arm sets a deadline; the stream's lock is held.
func (s *stream) arm(d *deadline, t time.Time) {
	d.stop()
	d.past = false
	if t.IsZero() {
		return
	}
	left := time.Until(t)
	if left <= 0 {
		d.past = true
		return
	}
	var timer *time.Timer
	timer = time.AfterFunc(left, func() {
		s.change(func(*stream) {
			if d.timer == timer { // not one that was set again meanwhile
				d.past = true
			}
		})
	})
	d.timer = timer
}

func (d *deadline) stop() {
	if d.timer != nil {
		d.timer.Stop()
		d.timer = nil
	}
}
