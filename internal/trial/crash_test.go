package trial

import (
	"bytes"
	"context"
	"net"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"rcsupervisor/dedup"
)

// A point is where a process can be ended: before or after a durable step, in
// the agent's turn, or while a part is being posted.
type point string

const (
	atClaim  point = "claim"
	atGive   point = "give"
	atAgent  point = "agent"
	atAnswer point = "answer"
	atSettle point = "settle " // with the part's index
	atMove   point = "advance"
	atPost   point = "post " // with the part's index
)

// before and after a step. A post is ended after it was sent, and after the
// first of its reply came; neither is yet known to the channel.
func before(p point) point      { return "before " + p }
func after(p point) point       { return "after " + p }
func sent(p point) point        { return "sent " + p }
func replied(p point) point     { return "replied " + p }
func part(p point, i int) point { return p + point('0'+rune(i)) }

// A crash is where a process ends itself. The zero crash is none.
type crash struct {
	Point    point
	Question string
	At       time.Time // the question's own
	Room     string
	Posts    []string // the ids under which part 0, 1, 2 are posted
	Note     string   // the id of a note in their place, which counts as part 0
}

// at ends the process if this is the point.
func (c *crash) at(p point, question string) {
	if c.Point == p && c.Question == question {
		die()
	}
}

// watched is a store whose steps are points.
type watched struct {
	*dedup.DB
	crash *crash
}

func (w watched) Claim(ctx context.Context, q dedup.Question) (bool, error) {
	w.crash.at(before(atClaim), q.ID.Message)
	fresh, err := w.DB.Claim(ctx, q)
	w.crash.at(after(atClaim), q.ID.Message)
	return fresh, err
}

func (w watched) Give(ctx context.Context, id dedup.ID) error {
	w.crash.at(before(atGive), id.Message)
	err := w.DB.Give(ctx, id)
	w.crash.at(after(atGive), id.Message)
	return err
}

func (w watched) Answer(ctx context.Context, id dedup.ID, owed []dedup.Part) error {
	w.crash.at(before(atAnswer), id.Message)
	err := w.DB.Answer(ctx, id, owed)
	w.crash.at(after(atAnswer), id.Message)
	return err
}

func (w watched) Settle(ctx context.Context, id dedup.ID, index int, o dedup.Outcome) error {
	w.crash.at(before(part(atSettle, index)), id.Message)
	err := w.DB.Settle(ctx, id, index, o)
	w.crash.at(after(part(atSettle, index)), id.Message)
	return err
}

// Advance is a point when it moves the question's room past it.
func (w watched) Advance(room string, ts time.Time) {
	c := w.crash
	here := c.Room == room && !ts.Before(c.At)
	if here {
		c.at(before(atMove), c.Question)
	}
	w.DB.Advance(room, ts)
	if here {
		c.at(after(atMove), c.Question)
	}
}

// dial makes connections on which the posting of parts is a point.
func (c *crash) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	conn, err := new(net.Dialer).DialContext(ctx, network, addr)
	if err != nil || c.Point == "" {
		return conn, err
	}
	return &wire{Conn: conn, crash: c}, nil
}

// A wire sees which part is posted over it.
type wire struct {
	net.Conn
	crash  *crash
	posted atomic.Int64 // the index of the part whose reply is to come, plus one
}

func (w *wire) Write(b []byte) (int, error) {
	index := w.crash.posting(b)
	if index >= 0 {
		w.posted.Store(int64(index) + 1) // before the reply can come
	}
	n, err := w.Conn.Write(b)
	if index >= 0 {
		w.crash.at(sent(part(atPost, index)), w.crash.Question)
	}
	return n, err
}

func (w *wire) Read(b []byte) (int, error) {
	n, err := w.Conn.Read(b)
	if index := w.posted.Load() - 1; index >= 0 && n > 0 {
		w.crash.at(replied(part(atPost, int(index))), w.crash.Question)
		w.posted.Store(0)
	}
	return n, err
}

// posting is which part a request posts, -1 for none.
func (c *crash) posting(request []byte) int {
	if c.Note != "" && bytes.Contains(request, []byte(c.Note)) {
		return 0
	}
	return slices.IndexFunc(c.Posts, func(id string) bool { return strings.Contains(string(request), id) })
}
