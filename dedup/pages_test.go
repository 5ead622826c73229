package dedup

import (
	"bytes"
	"errors"
	"hash/fnv"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// A forgery is the golden file with something changed, whose beginnings say
// that they are whole.
type forgery struct {
	b    []byte
	meta meta
}

func (f *forgery) page(id uint64) []byte { return f.b[id*4096 : (id+1)*4096] }

// root is the page on which the buckets of the file lie.
func (f *forgery) root() []byte { return f.page(f.meta.root) }

func (f *forgery) set(page []byte, flags, count uint16) {
	native.PutUint16(page[8:], flags)
	native.PutUint16(page[10:], count)
}

// leafAt finds the first page of records.
func (f *forgery) leafAt() []byte {
	for id := uint64(2); id < f.meta.pages; id++ {
		if p := f.page(id); id != f.meta.root && native.Uint16(p[8:]) == flagLeaf && native.Uint64(p) == id && native.Uint16(p[10:]) > 2 {
			return p
		}
	}
	panic("the golden file has no leaf page")
}

func (f *forgery) load() (loaded, error) {
	for _, at := range []int{pageHeader, 4096 + pageHeader} {
		sum := fnv.New64a()
		sum.Write(f.b[at : at+56])
		native.PutUint64(f.b[at+56:], sum.Sum64())
	}
	return load(bytes.NewReader(f.b), int64(len(f.b)), bot)
}

// What would have bbolt recurse until the process dies, write over what is in
// use, or read beyond its pages, is told as what it is.
func TestForgedFiles(t *testing.T) {
	content, err := os.ReadFile(goldenFile)
	must(t, err)
	forged := map[string]struct {
		forge func(f *forgery)
		want  string
	}{
		"a page that leads to itself": {func(f *forgery) {
			f.set(f.root(), flagBranch, 1)
			native.PutUint64(f.root()[pageHeader+8:], f.meta.root)
		}, "is used twice"},
		"an empty branch": {func(f *forgery) { f.set(f.root(), flagBranch, 0) }, "is empty"},
		"a branch out of order": {func(f *forgery) {
			p := f.root()
			f.set(p, flagBranch, 2)
			for i, key := range []string{"b", "a"} {
				at := pageHeader + i*element
				native.PutUint32(p[at:], uint32(1000-at+i))
				native.PutUint32(p[at+4:], 1)
				copy(p[1000+i:], key)
			}
		}, "is out of order"},
		"a page of no kind":        {func(f *forgery) { f.set(f.root(), 0x80, 1) }, "another kind"},
		"a page that is another":   {func(f *forgery) { native.PutUint64(f.root(), 99) }, "is not itself"},
		"a page without end":       {func(f *forgery) { native.PutUint32(f.root()[12:], 1<<31) }, "goes on outside"},
		"a root outside":           {func(f *forgery) { f.metas(16, f.meta.pages) }, "is outside"},
		"a root on the first page": {func(f *forgery) { f.metas(16, 0) }, "is outside"},
		"no list of free pages":    {func(f *forgery) { f.metas(32, ^uint64(0)) }, "is outside"},
		"more pages than it has":   {func(f *forgery) { f.metas(40, 1<<40) }, "before its last page"},
		"a page that is used and free": {func(f *forgery) {
			p := f.page(f.meta.freelist)
			f.set(p, flagFreelist, 1)
			native.PutUint64(p[pageHeader:], f.meta.root)
		}, "used and free"},
		"more free pages than fit": {func(f *forgery) {
			p := f.page(f.meta.freelist)
			f.set(p, flagFreelist, 0xFFFF)
			native.PutUint64(p[pageHeader:], 1<<60)
		}, "is cut off"},
		"a free list that is a leaf": {func(f *forgery) { f.set(f.page(f.meta.freelist), flagLeaf, 0) }, "is not one"},
		"more elements than fit":     {func(f *forgery) { f.set(f.leafAt(), flagLeaf, 0xFFFF) }, ""},
		"a key outside of its page":  {func(f *forgery) { native.PutUint32(f.leafAt()[pageHeader+4:], 1<<31) }, "outside of its page"},
		"a value without end":        {func(f *forgery) { native.PutUint32(f.leafAt()[pageHeader+12:], 1<<32-1) }, "outside of its page"},
		"two elements that are one": {func(f *forgery) {
			p := f.leafAt()
			copy(p[pageHeader+element:pageHeader+2*element], p[pageHeader:pageHeader+element])
			native.PutUint32(p[pageHeader+element+4:], native.Uint32(p[pageHeader+4:])-element)
		}, "out of order"},
		"a record that says it is a bucket": {func(f *forgery) { native.PutUint32(f.leafAt()[pageHeader:], leafBucket) }, ""},
		"a bucket that says it is a record": {func(f *forgery) { native.PutUint32(f.root()[pageHeader+element:], 0) }, ""},
		"a small bucket that is cut off": {func(f *forgery) {
			p := f.root() // the first bucket lies in its value
			native.PutUint32(p[pageHeader+12:], 20)
		}, "is cut off"},
		"a bucket without a header": {func(f *forgery) { native.PutUint32(f.root()[pageHeader+12:], 8) }, "is cut off"},
	}
	for name, c := range forged {
		f := &forgery{b: bytes.Clone(content)}
		f.meta, _, err = readMeta(bytes.NewReader(content), int64(len(content)))
		must(t, err)
		if _, err := f.load(); err != nil {
			t.Fatalf("unforged: %v", err)
		}
		c.forge(f)
		if _, err := f.load(); !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v; want %q", name, err, c.want)
		}
	}
}

// metas sets a number in both beginnings.
func (f *forgery) metas(at int, v uint64) {
	native.PutUint64(f.b[pageHeader+at:], v)
	native.PutUint64(f.b[4096+pageHeader+at:], v)
}

// The newest beginning is bad: bbolt alone would go on with the one before it,
// and the last claim would be forgotten without a word.
func TestOneBadBeginning(t *testing.T) {
	for page := range 2 {
		path := statePath(t)
		db := openAt(t, path)
		for n := range 6 {
			mustClaim(t, db, question(n), true)
		}
		must(t, db.Give(t.Context(), id(0)))
		mustClaim(t, db, question(6), true)
		must(t, db.Close())
		content, err := os.ReadFile(path)
		must(t, err)
		m, both, err := readMeta(bytes.NewReader(content), int64(len(content)))
		must(t, err)
		content[page*4096+pageHeader+20] ^= 1
		must(t, os.WriteFile(path, content, 0o600))

		again := openAt(t, path)
		if again.Quarantined() == "" || !both {
			t.Errorf("page %d: nothing was reported", page)
		}
		_, last := again.Known(id(6))
		if newest := int(m.txid % 2); last != (page != newest) {
			t.Errorf("page %d, newest %d: the last claim is known: %v", page, newest, last)
		}
		for n := range 6 {
			mustClaim(t, again, question(n), false)
		}
		if n := len(openQuestions(t, again)); n < 6 {
			t.Errorf("page %d: %d open", page, n)
		}
	}
}

// While one waits for the lock, its holder puts another file there.
func TestLockOfAFileThatWasReplaced(t *testing.T) {
	path := statePath(t)
	old, newer := openAt(t, path), openAt(t, path+"2")
	mustClaim(t, old, question(1), true)
	mustClaim(t, newer, question(2), true)
	must(t, newer.Close())
	waiting, err := os.Open(path) // as one who waits has done
	must(t, err)
	defer waiting.Close()
	opened := make(chan *DB)
	go func() {
		db, err := Open(path, Options{Bot: bot})
		if err != nil {
			t.Error(err)
		}
		opened <- db
	}()
	must(t, os.Rename(path+"2", path))
	must(t, old.Close())
	if err := lock(waiting, 0); !errors.Is(err, errReplaced) {
		t.Errorf("the lock of a file that is elsewhere: %v", err)
	}
	must(t, waiting.Close())
	db := <-opened
	defer db.Close()
	var held, there unix.Stat_t
	must(t, unix.Fstat(int(db.disk.file.f.Fd()), &held))
	must(t, unix.Stat(path, &there))
	if _, known := db.Known(id(2)); !known || held.Ino != there.Ino {
		t.Error("it holds the file that was moved away")
	}
	mustClaim(t, db, question(3), true)
}
