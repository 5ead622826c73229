package rest

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"rcsupervisor/channel/chat"
)

var noon = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

// A past is a room as a server's history calls see it.
type past struct {
	mu    sync.Mutex
	at    []int // of each message, in ms after noon; the index is its id
	upper int   // API_Upper_Count_Limit
	calls int
}

// answer speaks as channels.history does: newest first, bounds inclusive only
// when asked, the count cut to the server's own.
func (p *past) answer(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.calls++
	q := r.URL.Query()
	n, _ := strconv.Atoi(q.Get("count"))
	n = min(n, p.upper)
	inclusive := q.Has("inclusive")
	within := func(ms int) bool {
		t := noon.Add(time.Duration(ms) * time.Millisecond)
		latest, errL := time.Parse(time.RFC3339Nano, q.Get("latest"))
		oldest, errO := time.Parse(time.RFC3339Nano, q.Get("oldest"))
		if errL == nil && (t.After(latest) || t.Equal(latest) && !inclusive) {
			return false
		}
		return errO != nil || t.After(oldest) || t.Equal(oldest) && inclusive
	}
	var ids []int
	for id, ms := range p.at {
		if within(ms) {
			ids = append(ids, id)
		}
	}
	slices.SortStableFunc(ids, func(a, b int) int { return p.at[b] - p.at[a] })
	say(w, 200, asJSON, messages(p.at, ids[:min(n, len(ids))]))
}

func messages(at, ids []int) string {
	type message struct {
		ID   string `json:"_id"`
		Room string `json:"rid"`
		TS   string `json:"ts"`
	}
	list := []message{}
	for _, id := range ids {
		list = append(list, message{strconv.Itoa(id), "r1", chat.At(noon.Add(time.Duration(at[id]) * time.Millisecond)).ISO()})
	}
	b, _ := json.Marshal(map[string]any{"messages": list, "success": true})
	return string(b)
}

// Whatever lies in a room, however the pages fall and whatever the server cuts
// a page to, Backward brings each message between its bounds once, newest
// first.
func TestBackwardBringsEachOnce(t *testing.T) {
	p := &past{}
	b := secure(t, p.answer)
	rapid.Check(t, func(rt *rapid.T) {
		c := b.client(t, nil)
		defer c.Close()
		p.mu.Lock()
		p.at = rapid.SliceOfN(rapid.IntRange(0, 40), 0, 60).Draw(rt, "at")
		p.upper = rapid.SampledFrom([]int{60, 100, 1000}).Draw(rt, "upper")
		if rapid.Bool().Draw(rt, "cut") && !crowded(p.at, 8) {
			p.upper = rapid.IntRange(9, 20).Draw(rt, "low")
		}
		p.calls = 0
		p.mu.Unlock()
		q := HistoryQuery{Kind: chat.Channel, Room: "r1", Count: rapid.IntRange(1, 100).Draw(rt, "count")}
		from, to := rapid.IntRange(-1, 41).Draw(rt, "from"), rapid.IntRange(-1, 41).Draw(rt, "to")
		if from >= 0 {
			q.Oldest = noon.Add(time.Duration(from) * time.Millisecond)
		}
		if to >= 0 {
			q.Latest = noon.Add(time.Duration(to) * time.Millisecond)
		}
		want := map[string]bool{}
		for id, ms := range p.at {
			if (from < 0 || ms >= from) && (to < 0 || ms <= to) {
				want[strconv.Itoa(id)] = true
			}
		}
		last := noon.Add(time.Hour)
		for m, err := range c.Backward(t.Context(), q) {
			if err != nil {
				rt.Fatal(err)
			}
			if !want[m.ID] {
				rt.Fatalf("%s (at %v) again, or never asked for", m.ID, m.Sent)
			}
			delete(want, m.ID)
			if m.Sent.After(last) {
				rt.Fatalf("%s is newer than the one before", m.ID)
			}
			last = m.Sent.Time
		}
		if len(want) > 0 {
			rt.Fatalf("never brought: %v of %v", want, p.at)
		}
		if most := 2*len(p.at) + 4; p.calls > most {
			rt.Fatalf("%d calls for %d messages", p.calls, len(p.at))
		}
	})
}

// crowded reports whether n or more share a millisecond.
func crowded(at []int, n int) bool {
	count := map[int]int{}
	for _, ms := range at {
		if count[ms]++; count[ms] >= n {
			return true
		}
	}
	return false
}

// A caller that has enough stops the calls.
func TestBackwardStops(t *testing.T) {
	p := &past{upper: 100}
	for i := range 500 {
		p.at = append(p.at, i)
	}
	c := secure(t, p.answer).client(t, nil)
	n := 0
	for _, err := range c.Backward(t.Context(), HistoryQuery{Kind: "c", Room: "r1", Count: 50}) {
		if err != nil {
			t.Fatal(err)
		}
		if n++; n == 60 {
			break
		}
	}
	if p.calls != 2 {
		t.Errorf("%d calls for 60 messages", p.calls)
	}
}

// Most rooms cost one call. Only a page that could have been cut is followed.
func TestBackwardKnowsTheEnd(t *testing.T) {
	p := &past{upper: 100}
	c := secure(t, p.answer).client(t, nil)
	read := func(n int) int {
		p.at, p.calls = nil, 0
		for i := range n {
			p.at = append(p.at, i)
		}
		got := 0
		for _, err := range c.Backward(t.Context(), HistoryQuery{Kind: "c", Room: "r1", Count: 50}) {
			if err != nil {
				t.Fatal(err)
			}
			got++
		}
		if got != n {
			t.Errorf("%d of %d messages", got, n)
		}
		return p.calls
	}
	for _, step := range []struct{ messages, calls int }{
		{0, 1}, {20, 2}, {19, 1}, {3, 1}, {0, 1}, {50, 2}, {49, 1}, {120, 3},
	} {
		if got := read(step.messages); got != step.calls {
			t.Errorf("%d messages: %d calls, want %d", step.messages, got, step.calls)
		}
	}
}

func TestBackwardPassesAnErrorOnAndEnds(t *testing.T) {
	at := []int{0, 1, 2, 3}
	b := secure(t, inTurn(says(200, asJSON, messages(at, []int{3, 2})), says(403, asJSON, `{"success":false,"error":"forbidden"}`)))
	var got []string
	for m, err := range b.client(t, nil).Backward(t.Context(), HistoryQuery{Kind: "p", Room: "r1", Count: 2}) {
		if err != nil {
			mustBe(t, err, ErrForbidden)
			got = append(got, "error")
			continue
		}
		got = append(got, m.ID)
	}
	if d := cmp.Diff([]string{"3", "2", "error"}, got); d != "" {
		t.Error(d)
	}
}

// A page over the bound is asked for in smaller pieces.
func TestBackwardTakesSmallerPages(t *testing.T) {
	p := &past{upper: 100, at: []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}}
	var counts []string
	c := secure(t, func(w http.ResponseWriter, r *http.Request) {
		n := r.URL.Query().Get("count")
		counts = append(counts, n)
		if v, _ := strconv.Atoi(n); v > 20 {
			w.Header().Set("Content-Type", asJSON)
			w.Header().Set("Content-Length", strconv.Itoa(listBytes+1))
			return
		}
		p.answer(w, r)
	}).client(t, nil)
	n := 0
	for _, err := range c.Backward(t.Context(), HistoryQuery{Kind: "c", Room: "r1", Count: 100}) {
		if err != nil {
			t.Fatal(err)
		}
		n++
	}
	if n != 10 || strings.Join(counts[:4], " ") != "100 50 25 12" {
		t.Errorf("%d messages, asked for %v", n, counts)
	}
}

// Servers that lie don't keep Backward busy for ever, nor make it bring a
// message outside its bounds.
func TestBackwardAndServersThatLie(t *testing.T) {
	at := []int{0, 1, 2, 3, 4}
	all := []int{4, 3, 2, 1, 0}
	for name, h := range map[string]http.HandlerFunc{
		"the same page for ever":        says(200, asJSON, messages(at, all)),
		"the same full page for ever":   says(200, asJSON, messages(make([]int, 100), seq(100))),
		"no time in any message":        says(200, asJSON, `{"messages":[{"_id":"a","rid":"r1"},{"_id":"b","rid":"r1","ts":"soon"}],"success":true}`),
		"nothing that can be read":      says(200, asJSON, `{"messages":[1,2,3,null,{}],"success":true}`),
		"newer than asked for":          says(200, asJSON, messages([]int{5000, 6000}, []int{1, 0})),
		"older than asked for":          says(200, asJSON, messages([]int{-5000, -6000}, []int{0, 1})),
		"oldest first":                  says(200, asJSON, messages(at, []int{0, 1, 2, 3, 4})),
		"a full page of one time, each": full100(),
	} {
		t.Run(name, func(t *testing.T) {
			b := secure(t, h)
			seen := map[string]bool{}
			q := HistoryQuery{Kind: "c", Room: "r1", Count: 5, Oldest: noon.Add(-time.Second), Latest: noon.Add(time.Second)}
			last := q.Latest
			for m, err := range b.client(t, nil).Backward(t.Context(), q) {
				if err != nil {
					t.Fatal(err)
				}
				if seen[m.ID] || m.Sent.After(last) || m.Sent.Before(q.Oldest) {
					t.Fatalf("%s at %v", m.ID, m.Sent)
				}
				seen[m.ID], last = true, m.Sent.Time
			}
			if b.count() > 12 {
				t.Errorf("asked %d times", b.count())
			}
		})
	}
}

func seq(n int) []int {
	ids := make([]int, n)
	for i := range ids {
		ids[i] = i
	}
	return ids
}

// full100 gives full pages of one and the same time, whatever is asked for,
// with the same ids.
func full100() http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		n, _ := strconv.Atoi(r.URL.Query().Get("count"))
		say(w, 200, asJSON, messages(make([]int, n), seq(n)))
	}
}

func TestThreadMessagesAreNewestFirst(t *testing.T) {
	at := []int{5, 9, 1}
	c := secure(t, says(200, asJSON, messages(at, []int{0, 1, 2}))).client(t, nil)
	got, err := c.ThreadMessages(t.Context(), "m1", 20)
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, m := range got {
		ids = append(ids, m.ID)
	}
	if fmt.Sprint(ids) != "[1 0 2]" {
		t.Error(ids)
	}
}

func TestHistoryOfAnUnknownKind(t *testing.T) {
	c := secure(t, succeeds).client(t, nil)
	for _, kind := range []chat.Kind{"", "l", "v", "x"} {
		for _, err := range c.Backward(t.Context(), HistoryQuery{Kind: kind, Room: "r1"}) {
			if !errors.Is(err, ErrInvalid) {
				t.Errorf("%q: %v", kind, err)
			}
		}
	}
}
