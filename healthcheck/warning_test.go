package healthcheck

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"
)

// codes are the warning codes of the contract, in its words.
const codes = `one-uid shared-memory approvals-not-manual no-toolset permanent-allowlist admin-token
references-allowed limiter-not-exempt clock store capped pending name-taken ledger-lost agent-failing stale-recipients plain-token
silence-changed polling`

func TestWarningCodes(t *testing.T) {
	var got []string
	for _, w := range Warnables() {
		got = append(got, w.Code)
		if w.Title == "" || w.text == "" || w.action == "" || strings.HasSuffix(w.Title, ".") || !strings.HasSuffix(w.text, ".") {
			t.Errorf("%s is not said well: %+v", w.Code, w)
		}
		if !strings.HasPrefix(w.action, "rcsupervisor ") {
			t.Errorf("%s: %q is no command of ours", w.Code, w.action)
		}
		if found, ok := Lookup(w.Code); !ok || found != w {
			t.Errorf("%s isn't found", w.Code)
		}
	}
	if want := strings.Fields(codes); !slices.Equal(got, want) {
		t.Errorf("codes %v, want %v", got, want)
	}
	if _, ok := Lookup("no-such-code"); ok {
		t.Error("the list is open")
	}
	// What Warnables returns is a copy.
	Warnables()[0].Code = "changed"
	if warnables[0].Code == "changed" {
		t.Error("anybody can change the list")
	}
}

func TestWarn(t *testing.T) {
	f := Facts{Profile: "alice", Home: "/home/al ice/.hermes"}
	w := Warn("capped", f, "limits.queue\n\x1b[2J200 → 50")
	if w.Code != "capped" || !strings.HasSuffix(w.Text, "was cut to it. (limits.queue  [2J200 → 50)") {
		t.Errorf("%+v", w)
	}
	b, err := json.Marshal(Warn("polling", f, ""))
	if err != nil || !strings.HasPrefix(string(b), `{"code":"polling","text":"inotify`) {
		t.Errorf("%s, %v", b, err)
	}
	pending, _ := Lookup("pending")
	if got := pending.Action(f); got != "rcsupervisor accept alice" {
		t.Error(got)
	}
	taken, _ := Lookup("name-taken")
	if got := taken.Action(f); got != "rcsupervisor run --home NAME='/home/al ice/.hermes'" {
		t.Error(got)
	}
	defer func() {
		if recover() == nil {
			t.Error("a code that isn't registered was given")
		}
	}()
	Warn("no-such-code", f, "")
}

func TestWarningVisible(t *testing.T) {
	w := Warnable{Lasting: time.Minute}
	for _, c := range []struct {
		since, now time.Time
		want       bool
	}{
		{day, day.Add(time.Minute), true},
		{day, day.Add(time.Minute - 1), false},
		{day, day.Add(-time.Hour), false},
		{time.Time{}, day, false}, // it doesn't hold at all
	} {
		if w.Visible(c.since, c.now) != c.want {
			t.Errorf("%+v", c)
		}
	}
	if !(Warnable{}).Visible(day, day) {
		t.Error("what need not last is seen at once")
	}
}

func TestSortWarnings(t *testing.T) {
	ws := []Warning{{Code: "of-a-newer-worker"}, {Code: "polling"}, {Code: "store"}, {Code: "clock"}, {Code: "admin-token"}}
	SortWarnings(ws)
	var got []string
	for _, w := range ws {
		got = append(got, w.Code)
	}
	if want := []string{"admin-token", "store", "clock", "polling", "of-a-newer-worker"}; !slices.Equal(got, want) {
		t.Errorf("%v", got)
	}
}
