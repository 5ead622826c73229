package dedup

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"io"
)

// bbolt trusts its file: on one that was damaged it panics, faults, recurses
// until the stack is gone (which no recover stops), or quietly reads what
// isn't there. So a file is read whole with the code below, which trusts
// nothing and maps nothing, before bbolt sees it, and that is also how the
// records come into memory. Layout of the format: bbolt's internal/common.

const (
	boltMagic   = 0xED0CDAED
	boltVersion = 2

	pageHeader = 16 // id u64, flags u16, count u16, overflow u32
	element    = 16 // of a branch and of a leaf page
	metaSize   = 64

	flagBranch   = 0x01
	flagLeaf     = 0x02
	flagFreelist = 0x10
	leafBucket   = 0x01

	maxDepth = 24 // of pages over pages; six hold more than any file may
)

var native = binary.NativeEndian

func damaged(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{ErrDamaged}, args...)...)
}

// A meta says where a file's content begins. There are two, written in turn.
type meta struct {
	pageSize              int
	root, freelist, pages uint64
	txid                  uint64
}

// readMeta returns the newer meta that is whole. both is false when only one
// is: then the last transaction may be missing, and nobody can tell.
func readMeta(r io.ReaderAt, size int64) (m meta, both bool, err error) {
	first, err0 := metaAt(r, 0)
	sizes := []int{first.pageSize}
	if err0 != nil {
		sizes = []int{1 << 10, 1 << 11, 1 << 12, 1 << 13, 1 << 14, 1 << 15, 1 << 16}
	}
	for _, n := range sizes {
		second, err1 := metaAt(r, int64(n))
		switch {
		case err1 != nil || second.pageSize != n:
			continue
		case err0 != nil:
			return second, false, second.check(size)
		case second.txid > first.txid:
			return second, true, second.check(size)
		}
		return first, true, first.check(size)
	}
	if err0 != nil {
		return meta{}, false, err0
	}
	return first, false, first.check(size)
}

func metaAt(r io.ReaderAt, offset int64) (meta, error) {
	var b [metaSize]byte
	if _, err := r.ReadAt(b[:], offset+pageHeader); err != nil {
		return meta{}, readError(err)
	}
	sum := fnv.New64a()
	sum.Write(b[:56])
	if native.Uint32(b[0:]) != boltMagic || sum.Sum64() != native.Uint64(b[56:]) {
		return meta{}, damaged("its first pages are not those of a state file")
	}
	if v := native.Uint32(b[4:]); v != boltVersion {
		return meta{}, fmt.Errorf("%w: bbolt format %d", ErrNewer, v)
	}
	return meta{
		pageSize: int(native.Uint32(b[8:])),
		root:     native.Uint64(b[16:]),
		freelist: native.Uint64(b[32:]),
		pages:    native.Uint64(b[40:]),
		txid:     native.Uint64(b[48:]),
	}, nil
}

// readError tells the end of a file, which is damage, from a disk that fails.
func readError(err error) error {
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		return damaged("it ends too early")
	}
	return fmt.Errorf("%w: %w", ErrDamaged, err)
}

func (m meta) check(size int64) error {
	switch {
	case m.pageSize < 1<<10 || m.pageSize > 1<<16 || m.pageSize&(m.pageSize-1) != 0:
		return damaged("a page size of %d", m.pageSize)
	case m.pages > uint64(size)/uint64(m.pageSize):
		return damaged("it ends before its last page")
	}
	return nil
}

// A visitor is told what a file holds: buckets as they open and close, and the
// records in them. Slices are valid only during the call.
type visitor interface {
	enter(name []byte) error
	record(key, value []byte) error
	leave() error
}

// A reader walks one file.
type reader struct {
	r       io.ReaderAt
	meta    meta
	seen    []bool   // pages that have been reached
	buffers [][]byte // one for each depth
	v       visitor
}

// walk reads everything in a file, and fails with ErrDamaged at the first
// thing that isn't as bbolt wrote it. It returns how many pages are free.
func walk(r io.ReaderAt, m meta, v visitor) (free int, err error) {
	w := &reader{r: r, meta: m, v: v, seen: make([]bool, m.pages)}
	if err := w.bucket(m.root, 0); err != nil {
		return 0, err
	}
	return w.freelist()
}

// page reads page id with what overflows of it.
func (w *reader) page(id uint64, depth int) ([]byte, error) {
	if depth >= maxDepth {
		return nil, damaged("pages lie too deep")
	}
	if depth == len(w.buffers) {
		w.buffers = append(w.buffers, make([]byte, w.meta.pageSize))
	}
	b := w.buffers[depth][:w.meta.pageSize]
	if id < 2 || id >= w.meta.pages {
		return nil, damaged("page %d is outside of it", id)
	}
	if err := w.read(b, id); err != nil {
		return nil, err
	}
	more := uint64(native.Uint32(b[12:]))
	switch {
	case native.Uint64(b) != id:
		return nil, damaged("page %d is not itself", id)
	case more >= w.meta.pages-id:
		return nil, damaged("page %d goes on outside of it", id)
	case more > 0:
		b = make([]byte, (1+more)*uint64(w.meta.pageSize))
		if err := w.read(b, id); err != nil {
			return nil, err
		}
	}
	for i := id; i <= id+more; i++ {
		if w.seen[i] {
			return nil, damaged("page %d is used twice", i)
		}
		w.seen[i] = true
	}
	return b, nil
}

func (w *reader) read(b []byte, id uint64) error {
	if _, err := w.r.ReadAt(b, int64(id)*int64(w.meta.pageSize)); err != nil {
		return readError(err)
	}
	return nil
}

func (w *reader) bucket(root uint64, depth int) error {
	return w.tree(root, nil, nil, depth)
}

// tree reads the pages from id down; all keys in them lie from low up to, and
// not including, high. nil is no bound.
func (w *reader) tree(id uint64, low, high []byte, depth int) error {
	b, err := w.page(id, depth)
	if err != nil {
		return err
	}
	if native.Uint16(b[8:]) == flagLeaf {
		return w.leaf(b, low, high, depth)
	}
	if native.Uint16(b[8:]) != flagBranch {
		return damaged("page %d is of another kind", id)
	}
	n := int(native.Uint16(b[10:]))
	if n == 0 {
		return damaged("page %d is empty", id)
	}
	for i := range n {
		key, err := branchKey(b, i)
		if err != nil {
			return err
		}
		from, to := key, high
		if i == 0 {
			from = low
		}
		if i+1 < n {
			if to, err = branchKey(b, i+1); err != nil {
				return err
			}
		}
		if to != nil && bytes.Compare(key, to) >= 0 || low != nil && bytes.Compare(key, low) < 0 {
			return damaged("page %d is out of order", id)
		}
		if err := w.tree(native.Uint64(b[pageHeader+i*element+8:]), from, to, depth+1); err != nil {
			return err
		}
	}
	return nil
}

// branchKey returns the key of a branch page's element i.
func branchKey(b []byte, i int) ([]byte, error) {
	at := pageHeader + i*element
	if at+element > len(b) {
		return nil, damaged("a page has more elements than room")
	}
	return cut(b, at, uint64(native.Uint32(b[at:])), uint64(native.Uint32(b[at+4:])))
}

// cut returns n bytes that lie pos after at.
func cut(b []byte, at int, pos, n uint64) ([]byte, error) {
	from := uint64(at) + pos
	if from > uint64(len(b)) || n > uint64(len(b))-from {
		return nil, damaged("an element lies outside of its page")
	}
	return b[from : from+n : from+n], nil
}

func (w *reader) leaf(b, low, high []byte, depth int) error {
	last := low
	for i := range int(native.Uint16(b[10:])) {
		flags, key, value, err := leafElement(b, i)
		switch {
		case err != nil:
			return err
		case last != nil && bytes.Compare(key, last) < 0,
			i > 0 && bytes.Equal(key, last),
			high != nil && bytes.Compare(key, high) >= 0,
			len(key) == 0 || flags&^leafBucket != 0:
			return damaged("a leaf is out of order")
		}
		last = key
		if flags == 0 {
			err = w.v.record(key, value)
		} else {
			err = w.inner(key, value, depth)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// leafElement returns element i of a leaf page.
func leafElement(b []byte, i int) (flags uint32, key, value []byte, err error) {
	at := pageHeader + i*element
	if at+element > len(b) {
		return 0, nil, nil, damaged("a page has more elements than room")
	}
	pos, size := uint64(native.Uint32(b[at+4:])), uint64(native.Uint32(b[at+8:]))
	if key, err = cut(b, at, pos, size); err != nil {
		return 0, nil, nil, err
	}
	value, err = cut(b, at, pos+size, uint64(native.Uint32(b[at+12:])))
	return native.Uint32(b[at:]), key, value, err
}

// inner reads a bucket in a bucket; a small one lies whole in its value.
func (w *reader) inner(name, value []byte, depth int) error {
	if len(value) < 16 {
		return damaged("a bucket is cut off")
	}
	if err := w.v.enter(name); err != nil {
		return err
	}
	root, err := native.Uint64(value), error(nil)
	switch inline := value[16:]; {
	case root != 0:
		err = w.bucket(root, depth+1)
	case len(inline) < pageHeader || native.Uint16(inline[8:]) != flagLeaf:
		err = damaged("a small bucket is cut off")
	default:
		err = w.leaf(inline, nil, nil, depth)
	}
	if err != nil {
		return err
	}
	return w.v.leave()
}

// freelist counts the free pages, and checks that none of them is used: bbolt
// would write over it.
func (w *reader) freelist() (int, error) {
	b, err := w.page(w.meta.freelist, 0)
	if err != nil {
		return 0, err
	}
	if native.Uint16(b[8:]) != flagFreelist {
		return 0, damaged("the list of free pages is not one")
	}
	n, ids := uint64(native.Uint16(b[10:])), b[pageHeader:]
	if n == 0xFFFF {
		n, ids = native.Uint64(ids), ids[8:]
	}
	if n > uint64(len(ids))/8 {
		return 0, damaged("the list of free pages is cut off")
	}
	for i := range n {
		id := native.Uint64(ids[8*i:])
		if id < 2 || id >= w.meta.pages || w.seen[id] {
			return 0, damaged("page %d is used and free", id)
		}
		w.seen[id] = true
	}
	return int(n), nil
}
