package dedup

import (
	"encoding/binary"
	"slices"
	"strings"
)

// Where things lie in the file:
//
//	"\x00format"      a tally of all bots' names, read before anything else
//	"bot:" + bot      a tally of what is in it, and
//	    "day" + day       mark → its day          one bucket for each slot
//	    "open"            mark → question         what is not done
//	    "parts"           mark, index → part      what is owed
//	    "rooms"           mark of a room → cursor
//
// Every bucket but the root has a tally under tallyKey: how many records are in
// it, and the sum of their checksums. A record proves itself; the tally proves
// that none is missing. recordVersion is the version of all of this.
const (
	formatBucket = "\x00format"
	botPrefix    = "bot:"
	dayPrefix    = "day"
	openBucket   = "open"
	partsBucket  = "parts"
	roomsBucket  = "rooms"
	tallyKey     = "\x00"
)

func dayBucket(d day) []byte { return binary.BigEndian.AppendUint32([]byte(dayPrefix), uint32(d)) }

func partKey(m mark, index int) []byte {
	return binary.BigEndian.AppendUint16(m[:len(m):len(m)], uint16(index))
}

// A tally counts a bucket's records.
type tally struct {
	n   uint64
	sum uint64
}

func (t *tally) add(sum uint32)  { t.n, t.sum = t.n+1, t.sum+uint64(sum) }
func (t *tally) take(sum uint32) { t.n, t.sum = t.n-1, t.sum-uint64(sum) }

// encode binds a tally to the bucket it lies in.
func (t tally) encode(s sealer, bucket []byte) []byte {
	b := binary.AppendUvarint([]byte{recordVersion}, t.n)
	return s.seal(shelfTally, bucket, binary.AppendUvarint(b, t.sum))
}

func decodeTally(s sealer, bucket, record []byte) (tally, error) {
	d, err := s.open(shelfTally, bucket, record)
	if err != nil {
		return tally{}, err
	}
	t := tally{n: d.uvarint(), sum: d.uvarint()}
	return t, d.end("tally")
}

// A loader makes a book of one bot's records while it proves everybody's.
type loader struct {
	bot   string
	book  *book
	parts map[mark][]Part
	// others says of each other bot the newest day known of it.
	others map[string]day

	frames []frame // the buckets we are in
}

// A frame is a bucket that is being read.
type frame struct {
	name  []byte
	bot   string // whose it is
	ours  bool
	seal  sealer
	kind  shelf // of its records
	day   day
	names tally // of the buckets in it
	found tally // of the records in it
	says  *tally
}

func newLoader(bot string) *loader {
	return &loader{
		bot: bot, book: newBook(),
		parts: make(map[mark][]Part), others: make(map[string]day),
		frames: make([]frame, 1),
	}
}

func (l *loader) top() *frame { return &l.frames[len(l.frames)-1] }

func (l *loader) enter(name []byte) error {
	up := l.top()
	f := frame{name: slices.Clone(name), bot: up.bot, ours: up.ours, seal: up.seal}
	switch s := string(name); len(l.frames) {
	case 1:
		if s == formatBucket {
			f.seal = formatSealer
			break
		}
		bot, ok := strings.CutPrefix(s, botPrefix)
		if !ok {
			return damaged("a bucket that is not ours")
		}
		f.bot, f.ours, f.seal = bot, bot == l.bot, newSealer(bot)
		if !f.ours {
			l.others[bot] = 0
		}
		up.names.add(nameSum(name))
	case 2:
		switch {
		case string(up.name) == formatBucket:
			return damaged("a bucket where none belongs")
		case s == openBucket:
			f.kind = shelfOpen
		case s == partsBucket:
			f.kind = shelfParts
		case s == roomsBucket:
			f.kind = shelfRooms
		case strings.HasPrefix(s, dayPrefix) && len(s) == len(dayPrefix)+4:
			f.kind, f.day = shelfMarks, day(binary.BigEndian.Uint32(name[len(dayPrefix):]))
		default:
			return damaged("a bucket that is not ours")
		}
		up.names.add(nameSum(name))
		l.seen(&f, f.day)
	default:
		return damaged("buckets lie too deep")
	}
	l.frames = append(l.frames, f)
	return nil
}

// nameSum is what a bucket adds to the tally of the bucket it lies in.
func nameSum(name []byte) uint32 { return formatSealer.sum(0, name, nil) }

// formatSealer is for what belongs to no bot.
var formatSealer = newSealer(formatBucket)

// seen notes that another bot was there on a day.
func (l *loader) seen(f *frame, d day) {
	if !f.ours {
		l.others[f.bot] = max(l.others[f.bot], d)
	}
}

func (l *loader) record(key, value []byte) error {
	f := l.top()
	if len(l.frames) == 1 {
		return damaged("a record outside of all buckets")
	}
	if string(key) == tallyKey {
		t, err := decodeTally(f.seal, f.name, value)
		f.says = &t
		return err
	}
	if f.kind == 0 {
		return damaged("a record where none belongs")
	}
	d, err := f.seal.open(f.kind, key, value)
	if err != nil {
		return err
	}
	f.found.add(sumOf(value))
	return l.keep(f, key, d)
}

// keep decodes a record, and keeps it when it is our bot's.
func (l *loader) keep(f *frame, key []byte, d *decoder) error {
	if len(key) < len(mark{}) {
		return damaged("a key is cut off")
	}
	m, ours := mark(key), f.ours
	switch f.kind {
	case shelfMarks:
		slot, err := decodeMark(d)
		if err == nil && slot != f.day {
			err = damaged("a record lies in another's slot")
		}
		if err == nil && ours {
			l.book.know(m, slot)
		}
		return err
	case shelfOpen:
		e, err := decodeEntry(d)
		if err == nil && ours {
			l.book.open[m] = e
		}
		return err
	case shelfParts:
		p, err := decodePart(d)
		if err == nil && ours {
			l.parts[m] = append(l.parts[m], p)
		}
		return err
	case shelfRooms:
		room, ts, err := decodeRoom(d)
		if err == nil && ours {
			l.book.rooms[room] = ts
		}
		l.seen(f, dayOf(ts))
		return err
	}
	return damaged("a record of no kind")
}

func (l *loader) leave() error {
	f := *l.top()
	if f.says == nil {
		return damaged("a bucket has lost its tally")
	}
	l.frames = l.frames[:len(l.frames)-1]
	if string(f.name) == formatBucket {
		l.frames[0].says = f.says
		return nil
	}
	have := tally{n: f.found.n + f.names.n, sum: f.found.sum + f.names.sum}
	if have != *f.says {
		return damaged("records are missing: %d of %d", have.n, f.says.n)
	}
	return nil
}

// finish gives the book its parts, once all is read.
func (l *loader) finish() (*book, error) {
	if says := l.frames[0].says; says == nil || *says != l.frames[0].names {
		return nil, damaged("bots are missing")
	}
	for m, parts := range l.parts {
		e := l.book.open[m]
		if e == nil || e.State != Answered {
			return nil, damaged("a part of no question")
		}
		slices.SortFunc(parts, func(x, y Part) int { return x.Index - y.Index })
		for i := range parts {
			parts[i].Question = e.ID
		}
		if len(parts) > e.total || parts[len(parts)-1].Index >= e.total {
			return nil, damaged("a question has parts too many")
		}
		e.Parts = parts
	}
	for m, e := range l.book.open {
		if m != markOf(e.ID.Message) || (e.State == Answered) != (len(e.Parts) > 0) {
			return nil, damaged("a question without its parts")
		}
	}
	return l.book, nil
}
