package pretend

import (
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gorilla/websocket"
)

const (
	writeWait   = 10 * time.Second // for a control frame
	closeWait   = time.Second      // for the client's answer to a close frame
	maxIncoming = 16 << 20         // of one frame
)

// A session is one socket. Its reading goroutine handles frames and never
// waits for the writing one; what both and the server share is guarded by the
// server's lock, or says otherwise.
type session struct {
	server *Server
	conn   *websocket.Conn
	raw    net.Conn // below conn
	id     string   // DDP's session id
	number uint64   // unique on this server
	opened time.Time
	sockJS bool

	out  outbox
	beat heartbeat
	over chan struct{} // closed when the reading goroutine is done
	user atomic.Pointer[user]

	// Guarded by the server's lock.
	subs   map[string]*sub
	token  string
	limits limiter

	// Of the reading goroutine.
	connected bool

	timers struct {
		sync.Mutex
		list []*time.Timer
		done bool
	}
}

var upgrader = websocket.Upgrader{CheckOrigin: func(*http.Request) bool { return true }}

// serveSocket is the whole life of one socket.
func (s *Server) serveSocket(w http.ResponseWriter, r *http.Request, sockJS bool) {
	if f, ok := s.faults.find(RedirectSocket, nil, ""); ok {
		http.Redirect(w, r, f.URL, http.StatusFound)
		return
	}
	conn, err := upgrader.Upgrade(w, r, nil)
	if err != nil {
		s.log.Debug("no websocket", "error", err)
		return
	}
	conn.SetReadLimit(maxIncoming)
	c := &session{
		server: s, conn: conn, raw: conn.NetConn(), id: newID(), sockJS: sockJS, opened: time.Now(),
		over: make(chan struct{}), subs: map[string]*sub{}, limits: limiter{},
	}
	c.out.wake = make(chan struct{}, 1)
	c.beat.session = c
	if !s.openSession(c) {
		conn.Close()
		return
	}
	defer s.sockets.Done()
	conn.SetPingHandler(func(data string) error {
		c.sendItem(kindOther, item{op: websocket.PongMessage, data: []byte(data)})
		return nil
	})
	conn.SetCloseHandler(func(code int, text string) error {
		if !c.mute() {
			c.end(ending{code, text})
		}
		return nil
	})
	var writer sync.WaitGroup
	writer.Go(c.write)
	c.read()
	if c.mute() {
		// The link is dead, so the client's close is not heard either: the
		// socket stays until the client gives up on it.
		io.Copy(io.Discard, c.raw)
	}
	c.cleanUp()
	writer.Wait()
	conn.Close()
}

// mute tells whether nothing at all may be sent.
func (c *session) mute() bool {
	f, u := &c.server.faults, c.user.Load()
	return f.has(Silent, u) || f.has(HalfOpen, u)
}

// dead tells whether the server plays dead on this socket, in any direction.
func (c *session) dead() bool { return c.mute() || c.server.faults.has(SlowReader, c.user.Load()) }

// openSession takes c in unless the server is closing.
func (s *Server) openSession(c *session) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	s.sequence++
	c.number = s.sequence
	s.sessions[c] = true
	s.sockets.Add(1)
	s.count.opened++
	s.changedLocked()
	return true
}

func (c *session) read() {
	if c.sockJS {
		c.sendItem(kindOther, item{op: websocket.TextMessage, data: nil})
	}
	c.send(kindHello, c.server.v.hello())
	if c.server.v.streamer {
		c.beat.start()
	}
	for {
		op, data, err := c.conn.ReadMessage()
		if err != nil {
			return
		}
		if !c.server.faults.waitWhile(SlowReader, &c.user, c.over, c.server.closing) {
			return
		}
		if c.server.faults.has(HalfOpen, c.user.Load()) {
			continue
		}
		c.beat.heard()
		c.receive(op, data)
	}
}

// receive handles one frame, or the several that a SockJS frame holds.
func (c *session) receive(op int, data []byte) {
	frames := [][]byte{data}
	if c.sockJS {
		var ok bool
		if frames, ok = sockFrames(data); !ok {
			c.end(closeData)
			return
		}
	}
	for _, f := range frames {
		p, ok := parsePacket(f)
		if !ok || op == websocket.BinaryMessage {
			c.unreadable()
			continue
		}
		c.handle(p)
	}
}

// cleanUp runs once the socket is gone.
func (c *session) cleanUp() {
	close(c.over)
	c.beat.stop()
	c.timers.Lock()
	c.timers.done = true
	for _, t := range c.timers.list {
		t.Stop()
	}
	c.timers.Unlock()
	s := c.server
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, b := range c.subs {
		s.hub.remove(b)
	}
	delete(s.sessions, c)
	c.presenceLocked(nil)
	s.count.ended++
	s.changedLocked()
}

// after runs f later, unless the session is over by then.
func (c *session) after(d time.Duration, f func()) {
	c.timers.Lock()
	defer c.timers.Unlock()
	if !c.timers.done {
		c.timers.list = append(c.timers.list, time.AfterFunc(d, f))
	}
}

// end closes the socket once everything before is written.
func (c *session) end(e ending) {
	if e.code == websocket.CloseAbnormalClosure {
		c.cut()
		return
	}
	c.out.push(item{end: &e})
	c.raw.SetWriteDeadline(time.Now().Add(writeWait))
}

// finish writes the close frame and gives the client a moment to answer.
func (c *session) finish(e ending) {
	code := e.code
	if code == websocket.CloseNoStatusReceived {
		code = websocket.CloseNormalClosure
	}
	msg := websocket.FormatCloseMessage(code, e.text)
	if c.conn.WriteControl(websocket.CloseMessage, msg, time.Now().Add(closeWait)) != nil {
		c.conn.Close()
		return
	}
	c.conn.SetReadDeadline(time.Now().Add(closeWait))
}

// cut ends the connection as a killed server does: no close frame, a reset.
func (c *session) cut() { reset(c.raw) }

// reset closes a connection so that the other side sees a reset.
func reset(conn net.Conn) {
	switch t := conn.(type) {
	case interface{ NetConn() net.Conn }: // TLS
		reset(t.NetConn())
		return
	case *net.TCPConn:
		t.SetLinger(0)
	case *pipeConn:
		t.reset()
		return
	}
	conn.Close()
}

// endSessionsLocked closes those sessions that match. The streamer knows only
// how to terminate.
func (s *Server) endSessionsLocked(match func(*session) bool, e ending) {
	if s.v.streamer {
		e = closeAbrupt
	}
	for c := range s.sessions {
		if match(c) {
			c.end(e)
		}
	}
}
