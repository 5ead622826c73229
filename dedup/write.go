package dedup

import (
	"bytes"
	"fmt"

	bolt "go.etcd.io/bbolt"
)

// write puts a draft into a transaction. It runs guarded: it reads what it
// writes beside, and that may be damaged.
func write(tx *bolt.Tx, bot string, d *draft, gone []string) error {
	root, err := tx.CreateBucketIfNotExists([]byte(formatBucket))
	if err != nil {
		return err
	}
	format, err := openPile(root, formatSealer, shelfTally, []byte(formatBucket))
	if err != nil {
		return err
	}
	for _, other := range gone {
		name := []byte(botPrefix + other)
		if err := tx.DeleteBucket(name); err != nil {
			return err
		}
		format.says.take(nameSum(name))
	}
	name := []byte(botPrefix + bot)
	b := tx.Bucket(name)
	if b == nil {
		if b, err = tx.CreateBucket(name); err != nil {
			return err
		}
		format.says.add(nameSum(name))
	}
	own, err := openPile(b, newSealer(bot), shelfTally, name)
	if err != nil {
		return err
	}
	w := &writer{own: own, piles: make(map[string]*pile)}
	if err := w.draft(d); err != nil {
		return err
	}
	if err := w.close(); err != nil {
		return err
	}
	return format.close()
}

// A writer writes one bot's records.
type writer struct {
	own   *pile
	piles map[string]*pile // that were touched
}

func (w *writer) draft(d *draft) error {
	for slot := range d.drop {
		if _, ok := d.book.slots[slot]; !ok {
			continue // it came and went in this draft
		}
		if err := w.own.bucket.DeleteBucket(dayBucket(slot)); err != nil {
			return err
		}
		w.own.says.take(nameSum(dayBucket(slot)))
	}
	for m, slot := range d.marks {
		if err := w.put(shelfMarks, dayBucket(slot), m[:], encodeMark(slot)); err != nil {
			return err
		}
	}
	for m, e := range d.open {
		if err := w.question(m, d.book.open[m], e); err != nil {
			return err
		}
	}
	for room, ts := range d.rooms {
		m := markOf(room)
		var err error
		if ts.IsZero() {
			err = w.forget(shelfRooms, []byte(roomsBucket), m[:])
		} else {
			err = w.put(shelfRooms, []byte(roomsBucket), m[:], encodeRoom(room, ts))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// question writes the difference between what was and what is.
func (w *writer) question(m mark, was, is *entry) error {
	var err error
	switch {
	case is == nil && was == nil: // claimed and done in one draft
	case is == nil:
		err = w.delete(shelfOpen, []byte(openBucket), m[:])
	case was == nil || !bytes.Equal(was.encode(), is.encode()):
		err = w.put(shelfOpen, []byte(openBucket), m[:], is.encode())
	}
	if err != nil {
		return err
	}
	before, after := partsOf(was), partsOf(is) // both by index
	for _, p := range after {
		for len(before) > 0 && before[0].Index < p.Index {
			if err := w.delete(shelfParts, []byte(partsBucket), partKey(m, before[0].Index)); err != nil {
				return err
			}
			before = before[1:]
		}
		same := len(before) > 0 && before[0] == p
		if len(before) > 0 && before[0].Index == p.Index {
			before = before[1:]
		}
		if same {
			continue
		}
		if err := w.put(shelfParts, []byte(partsBucket), partKey(m, p.Index), encodePart(p)); err != nil {
			return err
		}
	}
	for _, p := range before {
		if err := w.delete(shelfParts, []byte(partsBucket), partKey(m, p.Index)); err != nil {
			return err
		}
	}
	return nil
}

func partsOf(e *entry) []Part {
	if e == nil {
		return nil
	}
	return e.Parts
}

func (w *writer) pile(kind shelf, name []byte) (*pile, error) {
	if p := w.piles[string(name)]; p != nil {
		return p, nil
	}
	b := w.own.bucket.Bucket(name)
	if b == nil {
		var err error
		if b, err = w.own.bucket.CreateBucket(name); err != nil {
			return nil, err
		}
		w.own.says.add(nameSum(name))
	}
	p, err := openPile(b, w.own.seal, kind, name)
	w.piles[string(name)] = p
	return p, err
}

func (w *writer) put(kind shelf, name, key, body []byte) error {
	p, err := w.pile(kind, name)
	if err != nil {
		return err
	}
	return p.put(key, body)
}

func (w *writer) delete(kind shelf, name, key []byte) error {
	p, err := w.pile(kind, name)
	if err != nil {
		return err
	}
	had, err := p.delete(key)
	if err == nil && !had {
		err = damaged("a record is missing")
	}
	return err
}

// forget deletes a record that need not be there.
func (w *writer) forget(kind shelf, name, key []byte) error {
	p, err := w.pile(kind, name)
	if err != nil {
		return err
	}
	_, err = p.delete(key)
	return err
}

func (w *writer) close() error {
	for _, p := range w.piles {
		if err := p.close(); err != nil {
			return err
		}
	}
	return w.own.close()
}

// A pile is a bucket of records of one kind, with its tally.
type pile struct {
	bucket *bolt.Bucket
	seal   sealer
	kind   shelf
	name   []byte
	said   tally
	says   tally
	isNew  bool
}

func openPile(b *bolt.Bucket, s sealer, kind shelf, name []byte) (*pile, error) {
	p := &pile{bucket: b, seal: s, kind: kind, name: name}
	record := b.Get([]byte(tallyKey))
	if record == nil {
		if k, _ := b.Cursor().First(); k != nil {
			return nil, damaged("a bucket has lost its tally")
		}
		p.isNew = true
		return p, nil
	}
	var err error
	p.said, err = decodeTally(s, name, record)
	p.says = p.said
	return p, err
}

func (p *pile) put(key, body []byte) error {
	if old := p.bucket.Get(key); old != nil {
		p.says.take(sumOf(old))
	}
	record := p.seal.seal(p.kind, key, body)
	p.says.add(sumOf(record))
	if err := p.bucket.Put(key, record); err != nil {
		return fmt.Errorf("put a record: %w", err)
	}
	return nil
}

func (p *pile) delete(key []byte) (had bool, err error) {
	old := p.bucket.Get(key)
	if old == nil {
		return false, nil
	}
	p.says.take(sumOf(old))
	return true, p.bucket.Delete(key)
}

func (p *pile) close() error {
	if p.says == p.said && !p.isNew {
		return nil
	}
	return p.bucket.Put([]byte(tallyKey), p.says.encode(p.seal, p.name))
}
