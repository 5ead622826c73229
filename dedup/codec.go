package dedup

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"time"
)

// A record in the file is a version byte, fields, and four bytes of CRC-32C
// over the bot, what kind of record it is, its key, the version and the
// fields. So a record proves itself: that it is whole, and that it lies where
// it was put.
const recordVersion = 1

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// A shelf is a kind of record, and the bucket that holds it.
type shelf byte

const (
	shelfMarks shelf = iota + 1 // one bucket for each day
	shelfOpen
	shelfParts
	shelfRooms
	shelfTally // one record in every bucket
)

// A sealer makes and proves the records of one bot.
type sealer uint32

func newSealer(bot string) sealer { return sealer(crc32.Checksum([]byte(bot), castagnoli)) }

func (s sealer) sum(kind shelf, key, body []byte) uint32 {
	c := crc32.Update(uint32(s), castagnoli, []byte{byte(kind), byte(len(key))})
	return crc32.Update(crc32.Update(c, castagnoli, key), castagnoli, body)
}

func (s sealer) seal(kind shelf, key, body []byte) []byte {
	return binary.BigEndian.AppendUint32(body, s.sum(kind, key, body))
}

// open returns the fields of a record that proves itself.
func (s sealer) open(kind shelf, key, record []byte) (*decoder, error) {
	n := len(record) - 4
	if n < 1 || s.sum(kind, key, record[:n]) != binary.BigEndian.Uint32(record[n:]) {
		return nil, fmt.Errorf("%w: a record fails its checksum", ErrDamaged)
	}
	if record[0] != recordVersion {
		return nil, fmt.Errorf("%w: it holds records of version %d, this one writes %d", ErrNewer, record[0], recordVersion)
	}
	return &decoder{b: record[1:n]}, nil
}

// sumOf is the checksum a record ends in.
func sumOf(record []byte) uint32 {
	if len(record) < 4 {
		return 0
	}
	return binary.BigEndian.Uint32(record[len(record)-4:])
}

func appendString(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

// appendTime writes any time.Time to the nanosecond; the zero Time stays it.
func appendTime(b []byte, t time.Time) []byte {
	return binary.AppendUvarint(binary.AppendVarint(b, t.Unix()), uint64(t.Nanosecond()))
}

func (e *entry) encode() []byte {
	b := []byte{recordVersion, byte(e.State)}
	b = appendTime(b, e.ID.At)
	b = appendTime(b, e.Claimed)
	b = binary.AppendUvarint(b, uint64(e.total))
	b = appendString(b, e.ID.Message)
	b = appendString(b, e.Room)
	b = appendString(b, e.Thread)
	return appendString(b, e.Asker)
}

func decodeEntry(d *decoder) (*entry, error) {
	e := &entry{}
	e.State = State(d.byte())
	e.ID.At = d.time()
	e.Claimed = d.time()
	total := d.uvarint()
	e.ID.Message = d.string()
	e.Room = d.string()
	e.Thread = d.string()
	e.Asker = d.string()
	if total > maxParts || e.State < Claimed || e.State > Answered || (e.State == Answered) != (total > 0) {
		d.bad = true
	}
	e.total = int(total)
	return e, d.end("question")
}

// encodePart leaves out the part's question, which its key names.
func encodePart(p Part) []byte {
	b := []byte{recordVersion}
	b = appendTime(b, p.Owed)
	b = binary.AppendUvarint(b, uint64(p.Index))
	for _, s := range []string{p.Step, p.Room, p.Thread, p.Text, p.File, p.Upload} {
		b = appendString(b, s)
	}
	return b
}

func decodePart(d *decoder) (Part, error) {
	p := Part{Owed: d.time()}
	index := d.uvarint()
	for _, s := range []*string{&p.Step, &p.Room, &p.Thread, &p.Text, &p.File, &p.Upload} {
		*s = d.string()
	}
	if index >= maxParts {
		d.bad = true
	}
	p.Index = int(index)
	return p, d.end("part")
}

func encodeRoom(room string, ts time.Time) []byte {
	return appendString(appendTime([]byte{recordVersion}, ts), room)
}

func decodeRoom(d *decoder) (room string, ts time.Time, err error) {
	ts = d.time()
	room = d.string()
	return room, ts, d.end("cursor")
}

// A mark's record says its day, so that it can be told without its bucket.
func encodeMark(slot day) []byte {
	return binary.BigEndian.AppendUint32([]byte{recordVersion}, uint32(slot))
}

func decodeMark(d *decoder) (day, error) {
	if len(d.b) != 4 {
		d.bad = true
		return 0, d.end("mark")
	}
	slot := day(binary.BigEndian.Uint32(d.b))
	d.b, d.bad = nil, slot < 0
	return slot, d.end("mark")
}

// A decoder reads fields. After the first that isn't right it reads zeros.
type decoder struct {
	b   []byte
	bad bool
}

func (d *decoder) byte() byte {
	if len(d.b) == 0 {
		d.bad = true
		return 0
	}
	v := d.b[0]
	d.b = d.b[1:]
	return v
}

// uvarint reads a number in its shortest form; there is one way to write each
// record.
func (d *decoder) uvarint() uint64 {
	v, n := binary.Uvarint(d.b)
	if n <= 0 || (n > 1 && d.b[n-1] == 0) {
		d.bad, d.b = true, nil
		return 0
	}
	d.b = d.b[n:]
	return v
}

func (d *decoder) time() time.Time {
	u := d.uvarint()
	sec := int64(u>>1) ^ -int64(u&1) // as binary.Varint
	nsec := d.uvarint()
	if nsec >= 1e9 {
		d.bad = true
		return time.Time{}
	}
	return time.Unix(sec, int64(nsec)).UTC()
}

func (d *decoder) string() string {
	n := d.uvarint()
	if n > uint64(len(d.b)) {
		d.bad, d.b = true, nil
		return ""
	}
	s := string(d.b[:n])
	d.b = d.b[n:]
	return s
}

func (d *decoder) end(what string) error {
	if d.bad || len(d.b) > 0 {
		return fmt.Errorf("%w: a %s can't be read", ErrDamaged, what)
	}
	return nil
}
