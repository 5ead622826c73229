package pretend

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

var base = time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)

// TestHistoryWindow: newest first, and a window that holds more than count
// gives its newest.
func TestHistoryWindow(t *testing.T) {
	w := newWorld(t, Options{})
	group := w.AddGroup("group", w.alice, w.bot)
	for _, r := range []Room{w.lab, group} {
		for i := range 30 {
			w.Say(w.alice, r, fmt.Sprint(i), SayOptions{At: base.Add(time.Duration(i) * time.Second)})
		}
		w.Say(w.alice, r, "reply", SayOptions{At: base.Add(time.Hour), Thread: w.Messages(r)[0].ID})
		w.Say(w.alice, r, "hidden", SayOptions{At: base.Add(time.Hour), Hidden: true})
	}
	at := func(s int) string { return base.Add(time.Duration(s) * time.Second).Format("2006-01-02T15:04:05.000Z") }
	for _, c := range []struct {
		query, first, last string
		n                  int
	}{
		{"", "reply", "11", 20},
		{"&showThreadMessages=false", "29", "10", 20},
		{"&latest=" + at(10) + "&oldest=" + at(5), "9", "6", 4},
		{"&latest=" + at(10) + "&oldest=" + at(5) + "&inclusive=true", "10", "5", 6},
		{"&latest=" + at(20) + "&oldest=" + at(1) + "&count=3", "19", "17", 3},
		{"&latest=" + at(20) + "&count=3&offset=3", "16", "14", 3},
		{"&count=100", "reply", "0", 31},
		{"&oldest=" + at(4000), "", "", 0},
	} {
		a := w.get(w.bot, "channels.history?roomId="+w.lab.ID+c.query)
		list, _ := a.get("messages").([]any)
		if len(list) != c.n {
			t.Errorf("%q: %d messages, want %d: %s", c.query, len(list), c.n, a.body)
			continue
		}
		if c.n > 0 && (list[0].(object)["msg"] != c.first || list[c.n-1].(object)["msg"] != c.last) {
			t.Errorf("%q: %v to %v", c.query, list[0].(object)["msg"], list[c.n-1].(object)["msg"])
		}
	}
	// groups.history reads inclusive=false as true.
	window := "&latest=" + at(10) + "&oldest=" + at(5) + "&inclusive=false"
	for route, n := range map[string]int{"channels.history?roomId=" + w.lab.ID: 4, "groups.history?roomId=" + group.ID: 6} {
		if a := w.get(w.bot, route+window); len(a.get("messages").([]any)) != n {
			t.Errorf("%s: %s", route, a.body)
		}
	}
}

// TestHistoryLimit: API_Upper_Count_Limit is 100 on later servers.
func TestHistoryLimit(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		for i := range 120 {
			w.Say(w.alice, w.lab, "x", SayOptions{At: base.Add(time.Duration(i) * time.Second)})
		}
		want := 100
		if w.Version() == V34 {
			want = 120
		}
		a := w.get(w.bot, "channels.history?roomId="+w.lab.ID+"&count=200")
		if n := len(a.get("messages").([]any)); n != want {
			t.Errorf("%d messages, want %d", n, want)
		}
	})
}

// TestHistoryModel: whatever is posted, edited and deleted in whatever order of
// time, paging back through a room gives what a plain list gives.
func TestHistoryModel(t *testing.T) {
	s := New(Options{Version: V34})
	defer s.Close()
	alice := s.AddUser("alice", UserOptions{})
	n := 0
	rapid.Check(t, func(t *rapid.T) {
		n++
		r := s.AddChannel(fmt.Sprintf("room%d", n), alice)
		type line struct {
			id string
			at int
		}
		var model []line
		steps := rapid.SliceOfN(rapid.IntRange(0, 40), 0, 60).Draw(t, "times")
		for i, at := range steps {
			if len(model) > 3 && at%7 == 0 {
				j := rand.IntN(len(model))
				s.Delete(model[j].id, alice)
				model = slices.Delete(model, j, j+1)
				continue
			}
			m := s.Say(alice, r, fmt.Sprint(i), SayOptions{At: base.Add(time.Duration(at) * time.Second)})
			model = append(model, line{m.ID, at})
			if at%5 == 0 {
				s.Edit(m.ID, alice, "edited")
			}
		}
		slices.SortStableFunc(model, func(a, b line) int { return a.at - b.at })
		var want, got []string
		for _, l := range slices.Backward(model) {
			want = append(want, l.id)
		}
		s.mu.Lock()
		for off := 0; ; off += 7 {
			page := s.rooms[r.ID].page(span{threads: true}, off, 7, s.v)
			for _, d := range page {
				got = append(got, d[0].value.(string))
			}
			if len(page) < 7 {
				break
			}
		}
		last := s.rooms[r.ID].newest()
		if (last == nil) != (len(want) == 0) || (last != nil && last.msg.ID != want[0]) {
			t.Errorf("the newest is %v", last)
		}
		s.mu.Unlock()
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("pages (-want +got):\n%s", d)
		}
	})
}
