package rest

import (
	"context"
	"errors"
	"iter"
	"net/url"
	"slices"
	"strconv"
	"time"

	"rcsupervisor/channel/chat"
)

// A server gives 50 messages when none are asked for, and cuts what is asked
// for to API_Upper_Count_Limit.
const (
	usualCount = 50
	maxCount   = 100
)

// A HistoryQuery asks for messages of one room. Times are the server's; a zero
// one is no bound.
type HistoryQuery struct {
	Kind      chat.Kind // must be the room's own, or the room isn't found
	Room      string
	Oldest    time.Time
	Latest    time.Time
	Count     int  // of one page: 1 to 100, 0 for 50
	Inclusive bool // with messages of just Oldest and Latest
}

// History returns a page of a room's messages, newest first, those of threads
// among them. When more than Count lie between the bounds it is the newest of
// them.
func (c *Client) History(ctx context.Context, q HistoryQuery) ([]chat.Message, error) {
	p, err := c.history(ctx, q)
	return p.messages, err
}

func (c *Client) history(ctx context.Context, q HistoryQuery) (page, error) {
	var route string
	switch q.Kind {
	case chat.Channel:
		route = RouteChannelHistory
	case chat.Group:
		route = RouteGroupHistory
	case chat.Direct:
		route = RouteDirectHistory
	default:
		return page{}, &Error{Route: "history", Kind: ErrInvalid}
	}
	query := url.Values{"roomId": {q.Room}, "count": {strconv.Itoa(count(q.Count))}}
	if !q.Oldest.IsZero() {
		query.Set("oldest", chat.At(q.Oldest).ISO())
	}
	if !q.Latest.IsZero() {
		query.Set("latest", chat.At(wholeMillisecond(q.Latest)).ISO())
	}
	if q.Inclusive { // groups.history takes the word "false" for true
		query.Set("inclusive", "true")
	}
	k := get(route, query)
	k.bytes = listBytes
	p, err := fetch(ctx, c, k, parsePage)
	newestFirst(p.messages)
	return p, err
}

func count(n int) int {
	if n <= 0 {
		return usualCount
	}
	return min(n, maxCount)
}

// wholeMillisecond raises a bound that lies within a millisecond, which is what
// the server counts in, so that it holds what it was meant to hold.
func wholeMillisecond(t time.Time) time.Time {
	if t.IsZero() {
		return t
	}
	return t.Add(time.Millisecond - 1).Truncate(time.Millisecond)
}

func newestFirst(m []chat.Message) {
	slices.SortStableFunc(m, func(a, b chat.Message) int { return b.Sent.Compare(a.Sent.Time) })
}

// Backward yields the messages between the query's bounds, both inclusive, from
// the newest back, in pages of Count. After an error it ends. How many are
// taken is the caller's to bound: it stops asking when the loop is left.
//
// Each message comes once, also where several share the millisecond at which
// one page ends. A message without a time can't be placed and is left out.
func (c *Client) Backward(ctx context.Context, q HistoryQuery) iter.Seq2[chat.Message, error] {
	return func(yield func(chat.Message, error) bool) {
		q.Inclusive, q.Count = true, count(q.Count)
		q.Oldest, q.Latest = q.Oldest.Truncate(time.Millisecond), wholeMillisecond(q.Latest)
		var edge edge
		for {
			p, err := c.history(ctx, q)
			if errors.Is(err, ErrTooLarge) && q.Count > 1 {
				q.Count /= 2
				continue
			}
			if err != nil {
				yield(chat.Message{}, err)
				return
			}
			fresh := 0
			for _, m := range p.messages {
				switch {
				case m.Sent.IsZero(), edge.holds(m.ID), !q.Latest.IsZero() && m.Sent.After(q.Latest):
				case m.Sent.Before(q.Oldest):
					return
				default:
					fresh++
					if !yield(m, nil) {
						return
					}
				}
			}
			if c.short(p.length, q.Count) || !edge.move(&q, p.messages, fresh) {
				return
			}
		}
	}
}

// short reports whether a page of n messages, when asked more were asked for,
// is the last. It need not be: a server whose API_Upper_Count_Limit is lower
// than asked gives every page short. A page shorter than one seen before can't
// be cut by that limit; any other is followed once more, to be sure.
func (c *Client) short(n, asked int) bool {
	for {
		seen := c.fullest.Load()
		if int64(n) <= seen || c.fullest.CompareAndSwap(seen, int64(n)) {
			return n == 0 || n < asked && int64(n) < seen
		}
	}
}

// An edge is where one page ended: the messages of that millisecond that were
// yielded, and come again in the next.
type edge struct {
	at      time.Time
	ids     []string
	stepped bool // over a millisecond that holds more than a page
}

func (e *edge) holds(id string) bool { return slices.Contains(e.ids, id) }

// move takes the query back to the end of a page. It reports false when there
// is nothing further back, or the server doesn't go there. A page that brought
// nothing new is asked for again in full length, and then stepped over once.
func (e *edge) move(q *HistoryQuery, messages []chat.Message, fresh int) bool {
	dated := slices.DeleteFunc(messages, func(m chat.Message) bool { return m.Sent.IsZero() })
	if len(dated) == 0 {
		return false
	}
	last := dated[len(dated)-1].Sent.Time
	switch {
	case !q.Latest.IsZero() && last.After(q.Latest):
		return false
	case fresh > 0:
		e.stepped = false
	case len(messages) < q.Count || e.stepped:
		return false
	case q.Count < maxCount:
		q.Count = maxCount
		return true
	default:
		last, e.stepped = last.Add(-time.Millisecond), true
	}
	if !last.Equal(e.at) {
		e.at, e.ids = last, nil
	}
	for _, m := range dated {
		if m.Sent.Equal(last) && !e.holds(m.ID) {
			e.ids = append(e.ids, m.ID)
		}
	}
	q.Latest = last
	return !last.Before(q.Oldest)
}

// ThreadMessages returns the newest count messages of a thread, newest first,
// without its root.
func (c *Client) ThreadMessages(ctx context.Context, root string, n int) ([]chat.Message, error) {
	k := get(RouteThread, url.Values{
		"tmid": {root}, "count": {strconv.Itoa(count(n))}, "sort": {`{"ts":-1}`},
	})
	k.bytes = listBytes
	p, err := fetch(ctx, c, k, parsePage)
	newestFirst(p.messages)
	return p.messages, err
}
