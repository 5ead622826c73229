package dedup

import (
	"bytes"
	"errors"
	"hash/fnv"
	"math"
	"os"
	"testing"
	"time"
)

// FuzzRecord reads any bytes as any record. What can be read has one form, and
// is written as it was read.
func FuzzRecord(f *testing.F) {
	e := entry{Question: question(1)}
	e.State = Given
	f.Add(byte(shelfOpen), e.encode()[1:])
	e.State, e.total, e.Claimed = Answered, 3, time.Time{}
	f.Add(byte(shelfOpen), e.encode()[1:])
	for _, p := range parts3 {
		f.Add(byte(shelfParts), encodePart(p)[1:])
	}
	f.Add(byte(shelfRooms), encodeRoom("room", time.Unix(math.MaxInt64, 999999999))[1:])
	f.Add(byte(shelfMarks), encodeMark(math.MaxInt32)[1:])
	f.Fuzz(func(t *testing.T, kind byte, body []byte) {
		d := &decoder{b: bytes.Clone(body)}
		var again []byte
		var err error
		switch shelf(kind) {
		case shelfOpen:
			var e *entry
			if e, err = decodeEntry(d); err == nil {
				again = e.encode()
			}
		case shelfParts:
			var p Part
			if p, err = decodePart(d); err == nil {
				again = encodePart(p)
			}
		case shelfRooms:
			var room string
			var ts time.Time
			if room, ts, err = decodeRoom(d); err == nil {
				again = encodeRoom(room, ts)
			}
		case shelfMarks:
			var slot day
			if slot, err = decodeMark(d); err == nil {
				again = encodeMark(slot)
			}
		default:
			return
		}
		switch {
		case err != nil && !errors.Is(err, ErrDamaged):
			t.Errorf("%v", err)
		case err == nil && !bytes.Equal(again[1:], body):
			t.Errorf("read %x and wrote %x", body, again[1:])
		}
	})
}

// FuzzFile writes over a file in up to five places, each two bytes of where
// and a length, then content, and makes its beginnings valid again, as a
// deceiver would. It is either refused, or every record in it proved itself.
func FuzzFile(f *testing.F) {
	content, err := os.ReadFile(goldenFile)
	must(f, err)
	size := len(content)
	f.Add([]byte{0, 16, 2, 7, 7})
	f.Add([]byte{0x20, 0x00, 16, 2, 0, 0, 0, 0, 0, 0, 0, 1, 0, 1, 0, 0, 0, 0, 0})
	f.Add([]byte{0x01, 0x40, 1, 3, 0x11, 0x40, 1, 3})
	f.Fuzz(func(t *testing.T, patches []byte) {
		bad := bytes.Clone(content)
		for range 5 {
			if len(patches) < 3 {
				break
			}
			// In steps of four bytes, so that two reach the whole file.
			at, n := (int(patches[0])<<8|int(patches[1]))*4%size, int(patches[2]%32)
			n = copy(bad[at:], patches[3:min(3+n, len(patches))])
			patches = patches[3+n:]
		}
		for _, at := range []int{pageHeader, 4096 + pageHeader} {
			sum := fnv.New64a()
			sum.Write(bad[at : at+56])
			native.PutUint64(bad[at+56:], sum.Sum64())
		}
		l, err := load(bytes.NewReader(bad), int64(len(bad)), bot)
		if err != nil && !errors.Is(err, ErrDamaged) && !errors.Is(err, ErrNewer) {
			t.Fatalf("%v", err)
		}
		if err == nil && len(l.book.open) != 3 && len(l.book.open) != 0 {
			t.Errorf("%d questions are open", len(l.book.open))
		}
		if n := known(salvage(bytes.NewReader(bad), int64(len(bad)), bot)); n > 103 {
			t.Errorf("%d salvaged of 103", n)
		}
	})
}
