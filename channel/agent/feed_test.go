package agent

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"
)

func TestAFeedNeverBlocks(t *testing.T) {
	f := NewFeed()
	for i := range 10_000 {
		f.Put(Text{Chunk: "ab"})
		f.Put(Progress{Title: fmt.Sprint("step ", i)})
	}
	taken := 0
	for i := range 1000 {
		if f.Put(Asked{ID: fmt.Sprint(i)}) {
			taken++
		}
	}
	f.End(Done{Stop: Ended})
	f.End(Done{Stop: Failed, Err: errors.New("a second end")})
	if f.Put(Text{Chunk: "late"}) || f.Put(Asked{}) {
		t.Error("something was taken after the end")
	}
	var text strings.Builder
	asked, dones, last := 0, 0, ""
	for e := range f.Events() {
		switch e := e.(type) {
		case Text:
			text.WriteString(e.Chunk)
		case Progress:
			last = e.Title
		case Asked:
			asked++
			if text.Len() != 20_000 {
				t.Fatalf("asked before the text that came first: %d", text.Len())
			}
		case Done:
			dones++
			if e.Stop != Ended {
				t.Errorf("%+v", e)
			}
		}
	}
	if text.String() != strings.Repeat("ab", 10_000) || asked != taken || taken == 0 || taken == 1000 || dones != 1 || last == "" {
		t.Errorf("%d bytes, asked %d of %d, %d ends, last %q", text.Len(), asked, taken, dones, last)
	}
}

func TestAFeedIsBounded(t *testing.T) {
	f := NewFeed()
	var got strings.Builder
	var group sync.WaitGroup
	group.Go(func() {
		for e := range f.Events() {
			if e, ok := e.(Text); ok {
				got.WriteString(e.Chunk)
			}
		}
	})
	for range 5 {
		f.Put(Text{Chunk: strings.Repeat("ä€", MaxText/10)})
	}
	f.End(Done{})
	group.Wait()
	s := got.String()
	if len(s) > MaxText+200 || len(s) < MaxText || !utf8.ValidString(s) || !strings.HasSuffix(s, "I stopped reading here.)") {
		t.Errorf("%d bytes, ends %q", len(s), s[len(s)-60:])
	}
	if f.Size() > MaxText {
		t.Errorf("size %d", f.Size())
	}
}

func TestWhatAFeedSays(t *testing.T) {
	f := NewFeed()
	f.Put(Progress{Title: "x"})
	f.Put(Text{})
	if f.Said() || f.Size() != 0 {
		t.Error("nothing was said yet")
	}
	f.Put(Notice{Text: "x"})
	if f.Said() {
		t.Error("what we say is not the agent's")
	}
	f.Put(FileOut{Path: "x"})
	if !f.Said() {
		t.Error("a file was said")
	}
}

func BenchmarkFeed(b *testing.B) {
	f := NewFeed()
	go func() {
		for range f.Events() {
		}
	}()
	for b.Loop() {
		f.Put(Text{Chunk: "a few words of an answer "})
	}
	f.End(Done{})
}

// BenchmarkChannel is the baseline of BenchmarkFeed: a channel alone, which
// blocks when its reader is slow.
func BenchmarkChannel(b *testing.B) {
	c := make(chan Event, feedRoom)
	go func() {
		for range c {
		}
	}()
	for b.Loop() {
		c <- Text{Chunk: "a few words of an answer "}
	}
	close(c)
}
