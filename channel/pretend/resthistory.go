package pretend

import (
	"slices"
	"sort"
	"strconv"
	"time"
)

// number reads a query parameter that is a number.
func (c *call) number(name string, other int) int {
	if n, err := strconv.Atoi(c.query(name)); err == nil && n >= 0 {
		return n
	}
	return other
}

// moment reads a query parameter that is a time.
func (c *call) moment(name string) (time.Time, *refusal) {
	v := c.query(name)
	if v == "" {
		return time.Time{}, nil
	}
	t, ok := parseTime(appendString(nil, v))
	if !ok {
		return time.Time{}, bad("error-invalid-date", "The \""+name+"\" query parameter must be a valid date.")
	}
	return t, nil
}

// limitCount keeps a page within API_Upper_Count_Limit.
func (c *call) limitCount(n int) int {
	if up := c.s.v.countLimit; up > 0 && (n > up || n == 0) {
		return up
	}
	return n
}

// ofKind finds the room of a call of channels.*, groups.* or im.*: another
// kind of room isn't there for it, nor is one the caller isn't in.
func (c *call) ofKind(kind string) (*room, *refusal) {
	id := c.query("roomId")
	if id == "" {
		id = c.query("roomName")
	}
	return c.roomOfKind(id, kind)
}

func (c *call) roomOfKind(id, kind string) (*room, *refusal) {
	if id == "" {
		return nil, bad("error-roomid-param-not-provided", `The parameter "roomId" or "roomName" is required`)
	}
	r := c.s.findRoomLocked(id)
	if r == nil || r.kind != kind || !c.s.canAccess(c.user, r) {
		return nil, errNoRoom
	}
	return r, nil
}

// history is newest first. A window that holds more than count gives the
// newest of it.
func history(kind string) func(*call) (doc, *refusal) {
	return func(c *call) (doc, *refusal) {
		r, no := c.ofKind(kind)
		if no != nil {
			return nil, no
		}
		latest, no := c.moment("latest")
		if no != nil {
			return nil, no
		}
		oldest, no := c.moment("oldest")
		if no != nil {
			return nil, no
		}
		inclusive := c.query("inclusive") == "true"
		if kind == "p" && c.query("inclusive") != "" {
			inclusive = true // groups.history takes any text for true
		}
		threads := c.query("showThreadMessages") != "false"
		w := span{oldest, latest, inclusive, threads}
		list := r.page(w, c.number("offset", 0), c.limitCount(c.number("count", 20)), c.s.v)
		return doc{{"messages", list}}, nil
	}
}

// span is which of a room's messages are wanted.
type span struct {
	oldest, latest time.Time // zero: open
	inclusive      bool
	threads        bool // also messages that are only in a thread
}

// has tells on which side of the window a time lies: -1 older, 0 within, 1
// newer.
func (w span) side(t time.Time) int {
	switch {
	case !w.oldest.IsZero() && (t.Before(w.oldest) || (!w.inclusive && t.Equal(w.oldest))):
		return -1
	case !w.latest.IsZero() && (t.After(w.latest) || (!w.inclusive && t.Equal(w.latest))):
		return 1
	}
	return 0
}

// page walks back from the window's newest message.
func (r *room) page(w span, skip, count int, v *personality) []doc {
	list := []doc{}
	end := sort.Search(len(r.list), func(i int) bool { return w.side(r.list[i].msg.Time) > 0 })
	for _, e := range slices.Backward(r.list[:end]) {
		m := e.msg
		if w.side(m.Time) < 0 || (count > 0 && len(list) == count) {
			break
		}
		if m.hidden || (!w.threads && m.Thread != "" && !m.ShowInRoom) {
			continue
		}
		if skip > 0 {
			skip--
			continue
		}
		list = append(list, m.doc(v))
	}
	return list
}

func (c *call) threadMessages() (doc, *refusal) {
	root, no := c.messageIn(c.query("tmid"))
	if no != nil {
		return nil, no
	}
	list := []doc{}
	for _, e := range root.room.list {
		if e.msg.Thread == root.msg.ID && !e.msg.hidden {
			list = append(list, e.msg.doc(c.s.v))
		}
	}
	return c.paged("messages", list), nil
}

// paged cuts a list by offset and count and says how long it was.
func (c *call) paged(name string, list []doc) doc {
	total := len(list)
	offset := min(c.number("offset", 0), total)
	list = list[offset:]
	if n := c.limitCount(c.number("count", 50)); n > 0 && n < len(list) {
		list = list[:n]
	}
	return doc{{name, list}, {"count", len(list)}, {"offset", offset}, {"total", total}}
}

// syncMessages goes by _updatedAt: with lastUpdate all that changed since; on
// newer servers with type and a cursor too.
func (c *call) syncMessages() (doc, *refusal) {
	r := c.s.rooms[c.query("roomId")]
	if r == nil {
		return nil, bad("error-roomId-param-not-provided", `The required "roomId" query param is missing`)
	}
	if !c.s.canAccess(c.user, r) {
		return nil, c.s.notMember()
	}
	if kind := c.query("type"); kind != "" && !c.s.v.fullUsers {
		return c.syncByCursor(r, kind)
	}
	since, no := c.moment("lastUpdate")
	if no != nil || since.IsZero() {
		return nil, bad("error-lastUpdate-param-invalid", `The "lastUpdate" query parameter must be a valid date.`)
	}
	return doc{{"result", doc{{"updated", c.updated(r, since)}, {"deleted", r.deletedSince(since)}}}}, nil
}

func (c *call) updated(r *room, since time.Time) []doc {
	list := []doc{}
	for _, e := range r.list {
		if e.msg.Updated.After(since) && !e.msg.hidden {
			list = append(list, e.msg.doc(c.s.v))
		}
	}
	return list
}

func (r *room) deletedSince(since time.Time) []doc {
	list := []doc{}
	for _, d := range r.deleted {
		if d.at.After(since) {
			list = append(list, doc{{"_id", d.id}, {"_deletedAt", d.at}})
		}
	}
	return list
}

// syncByCursor: next is a time in milliseconds, and comes back as
// cursor.next, null at the end.
func (c *call) syncByCursor(r *room, kind string) (doc, *refusal) {
	since := time.UnixMilli(int64(c.number("next", 0)))
	var list []doc
	name := "updated"
	switch kind {
	case "UPDATED":
		list = c.updated(r, since)
	case "DELETED":
		name, list = "deleted", r.deletedSince(since)
	default:
		return nil, bad("error-type-param-not-supported", `The "type" parameter must be either "DELETED" or "UPDATED"`)
	}
	return doc{{"result", doc{{name, list}, {"cursor", doc{{"next", nil}, {"previous", nil}}}}}}, nil
}
