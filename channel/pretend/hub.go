package pretend

// hub knows which subscription hears what. The server's lock guards it.
type hub struct {
	mine   map[string]map[*sub]bool // stream-room-messages/__my_messages__, by user id; anonymous ones hear nothing
	events map[topic]map[*sub]bool  // everything else
	rooms  map[*sub]bool            // stream-notify-user <uid>/rooms-changed, one event for each message
}

// A topic is one event of one stream.
type topic struct{ stream, event string }

// The streams a bot or a page can use. Others are accepted and stay silent.
const (
	roomMessages = "stream-room-messages"
	notifyRoom   = "stream-notify-room"
	notifyUser   = "stream-notify-user"
	myMessages   = "__my_messages__"
)

func newHub() hub {
	return hub{mine: map[string]map[*sub]bool{}, events: map[topic]map[*sub]bool{}, rooms: map[*sub]bool{}}
}

// A sub is one subscription of one session.
type sub struct {
	id      string
	session *session
	topic
	user  *user // whom it was made for; nil: anonymous, and silent
	ready bool  // a plain publication, which has no events
}

func (h *hub) add(b *sub) {
	if b.user == nil || b.ready {
		return
	}
	if b.stream == roomMessages && b.event == myMessages {
		put(h.mine, b.user.id, b)
		return
	}
	put(h.events, b.topic, b)
	if b.stream == notifyUser && b.event == b.user.id+"/rooms-changed" {
		h.rooms[b] = true
	}
}

func (h *hub) remove(b *sub) {
	if b.user == nil {
		return
	}
	take(h.mine, b.user.id, b)
	take(h.events, b.topic, b)
	delete(h.rooms, b)
}

func put[K comparable](m map[K]map[*sub]bool, k K, b *sub) {
	if m[k] == nil {
		m[k] = map[*sub]bool{}
	}
	m[k][b] = true
}

func take[K comparable](m map[K]map[*sub]bool, k K, b *sub) {
	delete(m[k], b)
	if len(m[k]) == 0 {
		delete(m, k)
	}
}

// An event is one `changed` frame in the making.
type event struct {
	topic
	first []byte // args[0]
	rest  []byte // the other args with their commas, "" without
	frame []byte // made when first needed, shared by all who get it
}

func (e *event) bytes() []byte {
	if e.frame == nil {
		e.frame = changedFrame(e.topic, string(e.first)+string(e.rest))
	}
	return e.frame
}

func changedFrame(t topic, args string) []byte {
	b := make([]byte, 0, len(args)+len(t.stream)+len(t.event)+80)
	b = append(b, `{"msg":"changed","collection":`...)
	b = append(appendString(b, t.stream), `,"id":"id","fields":{"eventName":`...)
	b = append(appendString(b, t.event), `,"args":[`...)
	return append(append(b, args...), "]}}"...)
}

// publishLocked sends a message's present form to all who may see it: members,
// and for public rooms everybody, who is told with roomParticipant:false that
// he isn't one. The JSON is made once for all.
func (s *Server) publishLocked(e *entry) {
	if e.msg.hidden {
		return
	}
	p := publication{s: s, room: e.room, body: encode(make([]byte, 0, 512), e.msg.doc(s.v), onSocket)}
	if e.room.kind == "c" || e.room.parent != "" {
		for id, subs := range s.hub.mine {
			if u := s.users[id]; e.room.kind == "c" || s.canAccess(u, e.room) {
				p.send(subs, e.room.members[id] != nil)
			}
		}
	} else {
		for id := range e.room.members {
			p.send(s.hub.mine[id], true)
		}
	}
	if subs := s.hub.events[topic{roomMessages, e.room.id}]; len(subs) > 0 {
		ev := event{topic: topic{roomMessages, e.room.id}, first: p.body}
		for b := range subs {
			if s.canAccess(b.user, e.room) {
				b.session.event(&ev)
			}
		}
	}
}

// publication is one message on its way out, in the two forms args[1] can have.
type publication struct {
	s    *Server
	room *room
	body []byte
	made [2]*event
}

func (p *publication) send(subs map[*sub]bool, participant bool) {
	if len(subs) == 0 {
		return
	}
	i := 0
	if participant {
		i = 1
	}
	if p.made[i] == nil {
		where := doc{{"roomParticipant", participant}, {"roomType", p.room.kind}}
		if p.room.kind != "d" {
			where = where.with("roomName", p.room.name)
		}
		p.made[i] = &event{
			topic: topic{roomMessages, myMessages}, first: p.body,
			rest: encode([]byte{','}, where, onSocket),
		}
	}
	for b := range subs {
		b.session.event(p.made[i])
	}
}

// notifyUserLocked sends an event of stream-notify-user to u's sockets. An
// argument may be a func() any, which is called only if somebody listens.
func (s *Server) notifyUserLocked(uid, name string, args ...any) {
	s.notifyLocked(topic{notifyUser, uid + "/" + name}, nil, args)
}

// notifyRoomLocked sends an event of stream-notify-room to those who listen
// and may read the room, except the session it came from.
func (s *Server) notifyRoomLocked(r *room, name string, from *session, args ...any) {
	t := topic{notifyRoom, r.id + "/" + name}
	s.notifyIf(t, args, func(b *sub) bool { return b.session != from && s.canAccess(b.user, r) })
}

func (s *Server) notifyLocked(t topic, from *session, args []any) {
	s.notifyIf(t, args, func(b *sub) bool { return b.session != from })
}

func (s *Server) notifyIf(t topic, args []any, may func(*sub) bool) {
	subs := s.hub.events[t]
	if len(subs) == 0 {
		return
	}
	ev := newEvent(t, args)
	for b := range subs {
		if may(b) {
			b.session.event(ev)
		}
	}
}

func newEvent(t topic, args []any) *event {
	ev := &event{topic: t}
	for i, a := range args {
		if f, ok := a.(func() any); ok {
			a = f()
		}
		if i == 0 {
			ev.first = encode(nil, a, onSocket)
			continue
		}
		ev.rest = encode(append(ev.rest, ','), a, onSocket)
	}
	return ev
}

// roomChangedLocked sends rooms-changed to members who listen. It looks at the
// listeners, not at the members.
func (s *Server) roomChangedLocked(r *room) {
	if len(s.hub.rooms) == 0 {
		return
	}
	room := s.roomDoc(r)
	for b := range s.hub.rooms {
		if r.members[b.user.id] != nil {
			b.session.event(newEvent(b.topic, []any{"updated", room}))
		}
	}
}

// lazySubscription makes a membership's document only where it is wanted.
func (s *Server) lazySubscription(r *room, m *membership) func() any {
	return func() any { return s.subscriptionDoc(r, m) }
}
