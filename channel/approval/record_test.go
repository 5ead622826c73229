package approval

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"rcsupervisor/channel/gate"
)

func TestTheRecordOutlivesTheChannel(t *testing.T) {
	b := New(20)
	opened(t, b, ask("open"))
	gone := ask("decided")
	gone.Room = "second"
	opened(t, b, gone)
	b.Answer(gate.Answer{Request: "decided/1", Option: "once"}, "olga", at(3*time.Second))
	b.Edited("decided/1")
	showing := ask("showing")
	showing.Room = "third"
	b.Ask(showing, at(0))
	waits := ask("open")
	waits.Asked.ID, waits.Asked.Body = "2", "what nobody has seen"
	b.Ask(waits, at(0))
	unedited := ask("unedited")
	unedited.Room = "fourth"
	opened(t, b, unedited)
	b.Close("unedited/1", Withdrawn, at(4*time.Second))

	data := b.Record()
	if strings.Contains(string(data), "what nobody has seen") || strings.Count(string(data), "rm -rf") != 3 {
		t.Errorf("the record holds %s", data)
	}
	after, then, err := Load(data, at(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	var edits []string
	for _, e := range then {
		edit := e.(Edit)
		edits = append(edits, edit.Name+": "+edit.Text[strings.LastIndex(edit.Text, "\n")+1:])
	}
	slices.Sort(edits)
	want := []string{
		"open/1: Expired: I was restarted, so it was refused.", "showing/1: Expired: I was restarted, so it was refused.",
		"unedited/1: No longer open: the agent went on without an answer.",
	}
	if d := cmp.Diff(want, edits); d != "" {
		t.Error(d)
	}
	for _, r := range after.Requests() {
		if r.Closed.IsZero() {
			t.Errorf("%s is open after the restart", r.ID)
		}
		reply, then := after.Answer(gate.Answer{Request: r.ID, Option: "once"}, "olga", at(time.Hour))
		if reply != sayOver || then != nil {
			t.Errorf("an answer to %s: %q %v", r.ID, reply, then)
		}
	}
	if d := cmp.Diff(numbersOf(b), numbersOf(after)); d != "" {
		t.Error(d)
	}
	for _, r := range after.Requests() {
		after.Edited(r.ID)
	}
	if strings.Contains(string(after.Record()), "rm -rf") {
		t.Error("a text is kept beyond its use")
	}
	after.Expire(at(26 * time.Hour))
	if n := len(after.Requests()); n != 0 {
		t.Errorf("%d are remembered after a day", n)
	}
}

func numbersOf(b *Book) []string {
	var all []string
	for _, r := range b.Requests() {
		for _, c := range r.Choices {
			all = append(all, r.ID+" "+c.Number)
		}
	}
	return all
}

func TestBadRecords(t *testing.T) {
	for _, data := range []string{"", "{", "[]", `{"v":2}`, `{"v":1,"requests":[{}]}`, `{"v":1,"requests":[{"name":"a"},{"name":"a"}]}`, `{"v":1,"requests":7}`} {
		if _, _, err := Load([]byte(data), at(0)); err != errRecord {
			t.Errorf("%q: %v", data, err)
		}
	}
}

func FuzzLoad(f *testing.F) {
	b := New(0)
	b.Ask(ask("q"), at(0))
	f.Add(b.Record())
	f.Add([]byte(`{"v":1,"next":-7,"requests":[{"name":"a","choices":[{"number":"x"}]}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		b, _, err := Load(data, at(0))
		if err != nil {
			return
		}
		for _, r := range b.Requests() {
			if r.Closed.IsZero() {
				t.Error("something is open")
			}
		}
		b.Ask(ask("new"), at(0))
		if _, _, err := Load(b.Record(), at(time.Second)); err != nil {
			t.Errorf("its own record: %v", err)
		}
	})
}
