package pretend

import (
	"bytes"
	"time"

	"github.com/gorilla/websocket"
)

// sessionsOf lists the sockets of u, or of everybody.
func (s *Server) sessionsOf(u *user) []*session {
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []*session
	for c := range s.sessions {
		if u == nil || c.user.Load() == u {
			list = append(list, c)
		}
	}
	return list
}

func dropNow(s *Server, f Fault, u *user) {
	for _, c := range s.sessionsOf(u) {
		if f.Code == 0 || f.Code == websocket.CloseAbnormalClosure {
			c.cut()
			continue
		}
		c.end(ending{f.Code, f.Text})
	}
}

// restartNow cuts every connection, idle REST ones too, and refuses new ones
// for a while. What the server knows stays.
func restartNow(s *Server, f Fault, _ *user) {
	away := time.Duration(f.Delay)
	if away == 0 {
		away = 5 * time.Second
	}
	s.faults.start(s, Fault{Kind: Unreachable, For: Duration(away)}, nil)
	for _, c := range s.sessionsOf(nil) {
		c.cut()
	}
	s.cutConnections()
}

// hugeFrame is the size of the frame that HugeFrame sends.
const hugeFrame = 5 << 20

func frameNow(k Kind) func(*Server, Fault, *user) {
	return func(s *Server, f Fault, u *user) {
		it := item{op: websocket.TextMessage}
		switch k {
		case BadJSON:
			it.data = []byte(`{"msg":"changed","collection":"stream-room-messages","fields":{`)
		case Binary:
			it = item{op: websocket.BinaryMessage, data: []byte{0, 1, 2, 0xff}}
		case UnknownFrame:
			it.data = []byte(`{"msg":"teapot","id":"1"}`)
		case HugeFrame:
			it.data = append(append([]byte(`{"msg":"changed","collection":"x","id":"id","fields":{"pad":"`), bytes.Repeat([]byte("x"), hugeFrame)...), `"}}`...)
		case OddFrame:
			it.data = []byte(f.Text)
		}
		for _, c := range s.sessionsOf(u) {
			c.enqueue(it)
		}
	}
}
