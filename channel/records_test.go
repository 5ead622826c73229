package channel

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"rcsupervisor/channel/pretend"
	"rcsupervisor/dedup"
)

// fail makes every step of a store in memory fail, or no longer.
func fail(h *house, on bool) {
	memory := h.store.(*dedup.Memory)
	if on {
		memory.Fail(dedup.ErrReadOnly)
		return
	}
	memory.Fail(nil)
}

func warned(r Report, code string) bool {
	for _, w := range r.Warnings {
		if w.Code == code {
			return true
		}
	}
	return false
}

// A store that can't be written to: the connection stays, nothing is taken in,
// it is warned of, and once it can be written to, everything is answered, once.
func TestAStoreThatCantBeWrittenTo(t *testing.T) {
	eachVersion(t, func(h *house) {
		h.up()
		h.pass(time.Minute)
		fail(h, true)
		h.say(h.owner, h.direct, "one")
		h.say(h.member, h.lab, "@hermes two")
		h.say(h.stranger, h.lab, "chatter")
		h.await("a warning", func(r Report) bool { return warned(r, "store") })
		h.pass(20 * time.Minute) // longer than limits.age
		h.wants(h.direct)
		if got := h.super.reasons(); len(got) != 0 {
			h.t.Errorf("it ended %v", got)
		}
		fail(h, false)
		h.pass(10 * time.Second)
		h.wants(h.direct, "echo: one")
		h.wants(h.lab, "echo: two")
		h.await("no warning", func(r Report) bool { return !warned(r, "store") })
	})
}

// The same, and the process is killed before the store is well again: the
// cursor stayed before what was not taken in.
func TestAStoreThatCantBeWrittenToAndAKill(t *testing.T) {
	eachVersion(t, func(h *house) {
		h.up()
		h.pass(time.Minute)
		h.say(h.member, h.lab, "@hermes before")
		fail(h, true)
		h.say(h.member, h.lab, "@hermes two")
		h.say(h.stranger, h.lab, "chatter")
		h.pass(time.Minute)
		fail(h, false)
		h.store.(*dedup.Memory).Fail(dedup.ErrReadOnly)
		h.again()
		h.up()
		h.pass(time.Minute)
		h.wants(h.lab, "echo: before", "echo: two")
	})
}

// A store that can't be read at the start: nothing is taken in before it is
// known what the last run left.
func TestAStoreThatCantBeReadAtFirst(t *testing.T) {
	inBubble(t, pretend.V9, func(h *house) {
		dir := filepath.Dir(storeFile(h))
		h.up()
		h.say(h.owner, h.direct, "one")
		h.pass(time.Minute)
		h.stop()
		if err := os.Rename(storeFile(h), storeFile(h)+".away"); err != nil {
			h.t.Fatal(err)
		}
		if err := os.Mkdir(storeFile(h), 0o700); err != nil {
			h.t.Fatal(err)
		}
		if err := h.env.Run(h.t.Context(), h.start, newSuper(h)); err == nil {
			h.t.Error("a folder passed for a store")
		}
		if err := os.Remove(storeFile(h)); err != nil {
			h.t.Fatal(err)
		}
		if err := os.Rename(storeFile(h)+".away", storeFile(h)); err != nil {
			h.t.Fatal(err)
		}
		h.up()
		h.say(h.owner, h.direct, "two")
		h.pass(time.Second)
		h.wants(h.direct, "echo: one", "echo: two")
		if found, _ := filepath.Glob(dir + "/*.corrupt-*"); len(found) != 0 {
			h.t.Errorf("moved aside: %v", found)
		}
	}, onDisk)
}

func storeFile(h *house) string { return h.file }

// Damage while it runs: moved aside, said, mended from what is known, and no
// question is lost or asked twice.
func TestDamageWhileItRuns(t *testing.T) {
	for name, damage := range map[string]func(t *testing.T, path string){
		"truncated": func(t *testing.T, path string) {
			if err := os.Truncate(path, 4096); err != nil {
				t.Error(err)
			}
		},
		"removed": func(t *testing.T, path string) {
			if err := os.Remove(path); err != nil {
				t.Error(err)
			}
		},
		"written over": func(t *testing.T, path string) {
			if err := os.WriteFile(path, []byte(strings.Repeat("garbage ", 8192)), 0o600); err != nil {
				t.Error(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, pretend.V9, func(h *house) {
				h.up()
				h.pass(time.Minute)
				first := h.say(h.owner, h.direct, "one")
				h.pass(time.Second)
				damage(h.t, storeFile(h))
				h.say(h.owner, h.direct, "two")
				h.pass(10 * time.Second)
				h.say(h.owner, h.direct, "three")
				h.server.Touch(first.ID, pretend.Repeated)
				h.pass(10 * time.Second)
				h.wants(h.direct, "echo: one", "echo: two", "echo: three")
				if name != "removed" {
					if found, _ := filepath.Glob(storeFile(h) + ".corrupt-*"); len(found) != 1 {
						h.t.Errorf("moved aside: %v", found)
					}
					h.await("a warning", func(r Report) bool { return warned(r, "store") })
				}
				h.again()
				h.up()
				h.server.Touch(first.ID, pretend.Repeated)
				h.pass(time.Minute)
				h.wants(h.direct, "echo: one", "echo: two", "echo: three")
			}, onDisk)
		})
	}
}

// Damage while nothing ran: a cold start, which answers nothing old.
func TestDamageWhileNothingRan(t *testing.T) {
	inBubble(t, pretend.V9, func(h *house) {
		h.up()
		h.pass(time.Minute)
		old := h.say(h.owner, h.direct, "one")
		h.pass(15 * time.Minute)
		recent := h.say(h.owner, h.direct, "two")
		h.pass(time.Second)
		h.stop()
		if err := os.WriteFile(storeFile(h), []byte(strings.Repeat("garbage ", 8192)), 0o600); err != nil {
			h.t.Fatal(err)
		}
		h.up()
		h.await("a warning", func(r Report) bool { return warned(r, "store") })
		h.server.React(old.ID, h.owner, ":+1:")
		h.server.Touch(old.ID, pretend.Repeated)
		h.server.React(recent.ID, h.owner, ":+1:")
		h.pass(time.Minute)
		h.wants(h.direct, "echo: one", "echo: two")
		h.say(h.owner, h.direct, "three")
		h.pass(time.Second)
		h.wants(h.direct, "echo: one", "echo: two", "echo: three")
	}, onDisk)
}

// A store that another process holds is the run's end, not a cold start.
func TestAStoreInUse(t *testing.T) {
	inBubble(t, pretend.V9, func(h *house) {
		h.up()
		second := newSuper(h)
		if err := h.env.Run(h.t.Context(), h.start, second); err == nil {
			h.t.Error("two runs on one store")
		}
		h.say(h.owner, h.direct, "hello")
		h.pass(time.Second)
		h.wants(h.direct, "echo: hello")
		if n := len(h.server.Connections(h.bot)); n != 1 {
			h.t.Errorf("%d sockets", n)
		}
	}, onDisk)
}

// The states that a quiet restart finds are all done, and its cursors there.
func TestNothingIsLeftOpen(t *testing.T) {
	inBubble(t, pretend.V9, func(h *house) {
		h.up()
		for range 50 {
			h.say(h.owner, h.direct, "hello")
		}
		h.pass(10 * time.Second)
		h.stop()
		db, err := dedup.Open(storeFile(h), dedup.Options{Bot: h.start.Credentials.Server + " " + h.bot.ID})
		if err != nil {
			h.t.Fatal(err)
		}
		defer db.Close()
		for q := range db.Open(h.t.Context()) {
			h.t.Errorf("left open: %+v", q)
		}
		at, ok := db.Cursor(h.direct.ID)
		messages := h.server.Messages(h.direct)
		last := slices.MaxFunc(messages, func(a, b pretend.Message) int { return a.Time.Compare(b.Time) })
		if !ok || at.Before(last.Time.Add(-time.Second)) {
			h.t.Errorf("the cursor is at %v, the last message of %v", at, last.Time)
		}
	}, onDisk)
}
