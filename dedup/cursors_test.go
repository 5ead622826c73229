package dedup

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"
)

func TestCursors(t *testing.T) {
	both(t, func(t *testing.T, s subject) {
		if _, ok := s.Cursor("room"); ok {
			t.Fatal("a cursor from nowhere")
		}
		s.Advance("room", at(2*time.Second))
		s.Advance("room", at(time.Second))
		s.Advance("never", time.Time{})
		if ts, _ := s.Cursor("room"); !ts.Equal(at(2 * time.Second)) {
			t.Errorf("cursor = %v: it went back", ts)
		}
		if _, ok := s.Cursor("never"); ok {
			t.Error("a cursor at no time")
		}
		s.Store = s.again(t, s.Store, true)
		if _, ok := s.Cursor("room"); ok {
			t.Error("written before it had to be")
		}
		s.Advance("room", at(3*time.Second))
		time.Sleep(5*time.Second + time.Millisecond)
		synctest.Wait()
		s.Advance("room", at(4*time.Second))
		s.Store = s.again(t, s.Store, true)
		if ts, _ := s.Cursor("room"); !ts.Equal(at(3 * time.Second)) {
			t.Errorf("after 5 s and a crash: %v", ts)
		}
		s.Advance("room", at(5*time.Second))
		mustClaim(t, s, question(1), true)
		s.Store = s.again(t, s.Store, true)
		if ts, _ := s.Cursor("room"); !ts.Equal(at(5 * time.Second)) {
			t.Errorf("after a claim and a crash: %v", ts)
		}
		s.Advance("room", at(6*time.Second))
		s.Store = s.again(t, s.Store, false)
		if ts, _ := s.Cursor("room"); !ts.Equal(at(6 * time.Second)) {
			t.Errorf("after Close: %v", ts)
		}
	})
}

// A process killed right after a profile was first online, or ready, must not
// leave a profile that never was. Rooms are no such matter.
func TestFirstOnlineIsNotForgotten(t *testing.T) {
	for _, name := range []string{"", " ready"} {
		both(t, func(t *testing.T, s subject) {
			s.Advance(name, at(time.Minute))
			s.Advance(name, at(2*time.Minute))
			s.Advance("room", at(time.Minute))
			s.Store = s.again(t, s.Store, true)
			if ts, _ := s.Cursor(name); !ts.Equal(at(time.Minute)) {
				t.Errorf("%q after a crash: %v", name, ts)
			}
			if ts, ok := s.Cursor("room"); ok {
				t.Errorf("a room's was written at once: %v", ts)
			}
		})
	}
}

func TestRoomsAreBounded(t *testing.T) {
	both(t, func(t *testing.T, s subject) {
		s.Advance("", at(-time.Hour))
		for n := range maxRooms + 10 {
			s.Advance(fmt.Sprint("room", n), at(time.Duration(n)*time.Second))
		}
		s.Store = s.again(t, s.Store, false)
		count := 0
		for n := range maxRooms + 10 {
			if _, ok := s.Cursor(fmt.Sprint("room", n)); ok {
				count++
			} else if n >= 10 {
				t.Fatalf("room %d of %d was forgotten", n, maxRooms+10)
			}
		}
		if _, ok := s.Cursor(""); !ok || count != maxRooms {
			t.Errorf("%d rooms, the profile's own %v", count, ok)
		}
	})
}
