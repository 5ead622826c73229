package ddp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/gorilla/websocket"

	"rcsupervisor/healthcheck"
	"rcsupervisor/internal/aside"
)

// Run makes one connection and stays until it has ended: it dials, says
// `connect` at once, logs in, sees that the login is the sealed user's,
// subscribes, and hands events to h until something ends it. Cancelling ctx ends
// it at once, with the reason of the [End] that is the context's cause, else as
// operator. Run never returns nil, and leaves no goroutine behind.
func Run(ctx context.Context, cfg Config, h Handler) *End {
	start := time.Now()
	cfg = cfg.defaulted()
	server, end := cfg.usable()
	if end != nil {
		return end
	}
	deadline := start.Add(cfg.Deadline)
	dialling, stop := context.WithDeadline(ctx, deadline)
	var ws *websocket.Conn
	var w *wire
	aside.Do(func() { ws, w, end = open(dialling, cfg, server) })
	stop()
	if ctx.Err() != nil {
		if w != nil {
			w.abort()
		}
		return cancelled(ctx)
	}
	if end != nil {
		return end
	}
	return newConn(cfg, ws, w, deadline).run(ctx, h)
}

// run is the reading goroutine's life on an open socket.
func (c *Conn) run(ctx context.Context, h Handler) (end *End) {
	defer func() { c.close(end) }() // end is nil while h panics
	quiet := onDone(ctx, func() { c.fail(cancelled(ctx)) })
	defer quiet()
	s := &session{user: c.cfg.UserID, token: c.cfg.Token, log: c.cfg.Log, handler: h, send: c.send}
	s.reached = func(p phase) {
		c.reached(p)
		if p == online {
			h.Ready(c)
		}
	}
	s.start()
	for end == nil {
		end = c.next(s)
	}
	end.Connected, end.Online = s.phase > connecting, s.phase == online
	return end
}

// next waits for one frame and acts on it. While it waits it holds no buffer.
func (c *Conn) next(s *session) *End {
	kind, r, err := c.ws.NextReader()
	if err != nil {
		return c.lost(err, s)
	}
	return c.receive(kind, r, s)
}

// receive reads one frame and acts on it. It is no part of next so that little
// of a stack is in use while nothing comes.
//
//go:noinline
func (c *Conn) receive(kind int, r io.Reader, s *session) *End {
	buffer := buffers.Get().(*[]byte)
	defer release(buffer)
	if err := fill(buffer, r); err != nil {
		return c.lost(err, s)
	}
	c.frames.Add(1)
	f, err := decode(*buffer)
	if kind != websocket.TextMessage || err != nil {
		if c.malformed.Add(1) == 1 {
			c.cfg.Log.Warn("a frame that is not DDP was ignored", "bytes", len(*buffer))
		}
		return c.decided()
	}
	if !c.heard(&f) {
		return c.decided()
	}
	return s.take(&f)
}

// decided returns how this side ended the connection, nil while it hasn't.
func (c *Conn) decided() *End {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.end
}

// buffers hold a frame while it is read and taken apart, so that a quiet
// connection holds none.
var buffers = sync.Pool{New: func() any { b := make([]byte, 0, 2<<10); return &b }}

// keptBytes is the largest buffer that is used again: one frame of 4 MiB must
// not stay behind for ever.
const keptBytes = 64 << 10

func release(b *[]byte) {
	if cap(*b) <= keptBytes {
		*b = (*b)[:0]
		buffers.Put(b)
	}
}

// fill reads one frame into buffer. The bound on its size is the socket's.
func fill(buffer *[]byte, r io.Reader) error {
	b := (*buffer)[:0]
	for {
		if len(b) == cap(b) {
			b = append(b, 0)[:len(b)]
		}
		n, err := r.Read(b[len(b):cap(b)])
		b = b[:len(b)+n]
		*buffer = b
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// lost says what the end of reading means.
func (c *Conn) lost(err error, s *session) *End {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.end != nil {
		return c.end
	}
	if errors.Is(c.wire.err, os.ErrDeadlineExceeded) {
		c.numb = true
		return c.late()
	}
	if closed, ok := errors.AsType[*websocket.CloseError](err); ok && closed.Code != websocket.CloseAbnormalClosure {
		e := ended(healthcheck.Closed, s.said(fmt.Sprintf("the server closed the connection: %d %s", closed.Code, closed.Text)))
		e.CloseCode = closed.Code
		return e
	}
	switch {
	case errors.Is(err, websocket.ErrReadLimit):
		return ended(healthcheck.Dropped, fmt.Sprintf("a frame is over the bound of %d bytes", c.cfg.MaxFrame))
	case c.wire.err == nil: // not the network's doing
		return ended(healthcheck.Dropped, "the server breaks the WebSocket protocol: "+s.said(err.Error()))
	}
	c.numb = true
	if errors.Is(c.wire.err, io.EOF) {
		return ended(healthcheck.Closed, "the connection broke off without a close frame (1006)")
	}
	return &End{Reason: healthcheck.Closed, Err: err}
}

// late says which of the read deadlines has passed. c.mu is held.
func (c *Conn) late() *End {
	if c.unsent != nil {
		return &End{Reason: healthcheck.Closed, Err: fmt.Errorf("the server takes nothing more: %w", c.unsent)}
	}
	if c.phase == online {
		return ended(healthcheck.Silent, fmt.Sprintf("no frame for %gs", c.silence.Seconds()))
	}
	reason := healthcheck.Dropped
	if c.phase == connecting {
		reason = healthcheck.Unreachable
	}
	return ended(reason, fmt.Sprintf("the server did not %s within %s of the dial", c.phase, c.cfg.Deadline))
}
