package dedup

import (
	"io"
	"os"
)

// salvage reads what can still be trusted of a damaged file: which messages
// are known, and cursors. Each such record proves itself, and an old copy of
// one, which free pages are full of, says nothing untrue: what was known once
// is known, and a cursor only moves ahead.
//
// Questions that were not done are not brought back. Of two copies nothing says
// which is the later, and to run a question again, or to say that it was
// interrupted when it was answered, would be worse than silence.
func salvage(r io.ReaderAt, fileSize int64, bot string) *book {
	s := &salvager{seal: newSealer(bot), book: newBook()}
	size := os.Getpagesize()
	if m, _, err := readMeta(r, fileSize); err == nil {
		size = m.pageSize
	}
	b := make([]byte, size)
	for at := int64(0); at < min(fileSize, maxFile); at += int64(size) {
		if n, err := r.ReadAt(b, at); err == nil || err == io.EOF {
			s.page(b[:n])
		}
	}
	return s.book
}

func salvageFile(f *os.File, bot string) *book {
	info, err := f.Stat()
	if err != nil {
		return newBook()
	}
	return salvage(f, info.Size(), bot)
}

type salvager struct {
	seal sealer
	book *book
}

// page takes what it can from a page that may be anything.
func (s *salvager) page(b []byte) {
	if len(b) < pageHeader || native.Uint16(b[8:]) != flagLeaf {
		return
	}
	for i := range int(native.Uint16(b[10:])) {
		flags, key, value, err := leafElement(b, i)
		switch {
		case err != nil:
		case flags == leafBucket && len(value) > 16 && native.Uint64(value) == 0:
			s.page(value[16:])
		case len(key) == len(mark{}):
			s.record(mark(key), value)
		}
	}
}

func (s *salvager) record(m mark, value []byte) {
	if d, err := s.seal.open(shelfMarks, m[:], value); err == nil {
		if slot, err := decodeMark(d); err == nil {
			s.book.know(m, slot)
		}
		return
	}
	if d, err := s.seal.open(shelfRooms, m[:], value); err == nil {
		if room, ts, err := decodeRoom(d); err == nil {
			s.book.advance(room, ts)
		}
	}
}
