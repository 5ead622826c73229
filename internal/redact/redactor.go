package redact

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"io"
	"slices"
	"sync"
	"sync/atomic"
)

// Mark is what stands where a secret was.
const Mark = "[sealed]"

// MinLen is the number of bytes from which on a value is looked for. Shorter
// ones would turn up everywhere, and are no secrets.
const MinLen = 8

// A Redactor takes the secrets it was told out of text. Its methods may be
// called from any goroutine at any time; a secret is found from the return of
// its [Redactor.Add] on. The zero value is ready, and knows no secret.
type Redactor struct {
	// Behind a pointer so that printing a Redactor, by mistake, shows an
	// address.
	p atomic.Pointer[patterns]
	// Counts changes, for whoever keeps what was redacted by an older state.
	version atomic.Uint64
}

// New returns a Redactor that knows no secret.
func New() *Redactor { return &Redactor{} }

// Format prints nothing of what it knows, whatever the verb.
func (*Redactor) Format(f fmt.State, _ rune) { io.WriteString(f, "[redactor]") }

// Add makes the values known, in all the forms they are looked for in. Values
// of fewer than [MinLen] bytes are left out. A value added twice must be
// forgotten twice.
func (r *Redactor) Add(values ...string) { r.change(values, (*patterns).add) }

// Forget makes values unknown again that were added, once they are no secrets
// of this host's any more.
func (r *Redactor) Forget(values ...string) { r.change(values, (*patterns).remove) }

func (r *Redactor) change(values []string, act func(*patterns, string)) {
	p := r.patterns()
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, v := range values {
		for _, form := range forms(v) {
			act(p, form)
		}
	}
	r.version.Add(1)
}

func (r *Redactor) patterns() *patterns {
	if p := r.p.Load(); p != nil {
		return p
	}
	r.p.CompareAndSwap(nil, newPatterns())
	return r.p.Load()
}

// String returns s without secrets. Where there are none it is s itself.
func (r *Redactor) String(s string) string {
	spans := find(r, s, nil)
	if len(spans) == 0 {
		return s
	}
	return string(replace(make([]byte, 0, len(s)), s, spans))
}

// Bytes returns b without secrets. Where there are none it is b itself, else
// another slice.
func (r *Redactor) Bytes(b []byte) []byte {
	spans := find(r, b, nil)
	if len(spans) == 0 {
		return b
	}
	return replace(make([]byte, 0, len(b)), b, spans)
}

// Sprint formats v as [fmt.Sprint] does and takes the secrets out: for the
// value of a panic, and for its stack as a string.
func (r *Redactor) Sprint(v any) string { return r.String(fmt.Sprint(v)) }

// A span is a part of a text that is not to be shown.
type span struct{ from, to int }

// replace appends text to out with a [Mark] for each span.
func replace[T string | []byte](out []byte, text T, spans []span) []byte {
	at := 0
	for _, s := range spans {
		out = append(out, text[at:s.from]...)
		out = append(out, Mark...)
		at = s.to
	}
	return append(out, text[at:]...)
}

// patterns is the set of forms that are looked for.
type patterns struct {
	mu      sync.RWMutex // guards all below
	byHead  map[uint64][]pattern
	count   int
	room    int // how many the filters are made for
	longest int
	heads   filter // of the first eight bytes
	starts  filter // of the first one to seven bytes, for texts that end early
}

// A pattern is one form of a value, and how often it was added.
type pattern struct {
	text string
	refs int
}

func newPatterns() *patterns {
	p := &patterns{byHead: map[uint64][]pattern{}}
	p.heads.probes, p.starts.probes = 1, 4
	p.rebuild()
	return p
}

// Format prints nothing of what it holds, whatever the verb.
func (*patterns) Format(f fmt.State, _ rune) { io.WriteString(f, "[patterns]") }

// head returns the first eight bytes as a number.
func head[T string | []byte](s T) uint64 {
	_ = s[7]
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
		uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
}

// start returns up to seven first bytes as a number that also tells how many.
func start[T string | []byte](s T) uint64 {
	n := uint64(len(s)) << 56
	for i := range len(s) {
		n |= uint64(s[i]) << (8 * i)
	}
	return n
}

func (p *patterns) add(form string) {
	h := head(form)
	list := p.byHead[h]
	// The longest first: of those that begin alike it is the one to take out.
	at, found := slices.BinarySearchFunc(list, form, byLength)
	if found {
		list[at].refs++
		return
	}
	p.byHead[h] = slices.Insert(list, at, pattern{text: form, refs: 1})
	p.count++
	p.longest = max(p.longest, len(form))
	if p.count > p.room {
		p.rebuild()
	}
	p.heads.set(h)
	p.setStarts(h)
}

func byLength(p pattern, form string) int {
	return cmp.Or(cmp.Compare(len(form), len(p.text)), cmp.Compare(p.text, form))
}

// remove leaves the filters as they are: a bit too many costs a look-up.
func (p *patterns) remove(form string) {
	h := head(form)
	list := p.byHead[h]
	at, found := slices.BinarySearchFunc(list, form, byLength)
	if !found {
		return
	}
	if list[at].refs--; list[at].refs > 0 {
		return
	}
	p.count--
	if list = slices.Delete(list, at, at+1); len(list) == 0 {
		delete(p.byHead, h)
	} else {
		p.byHead[h] = list
	}
}

// rebuild makes the filters, with room for twice what there is. A wrong yes of
// heads costs a look-up; one of starts has a writer hold back the end of a
// line, so there they are one in thousands.
func (p *patterns) rebuild() {
	p.room = max(256, 2*p.count)
	p.heads.resize(16 * p.room)
	p.starts.resize(32 * 7 * p.room)
	for h := range p.byHead {
		p.heads.set(h)
		p.setStarts(h)
	}
}

func (p *patterns) setStarts(h uint64) {
	var b [8]byte
	binary.LittleEndian.PutUint64(b[:], h)
	for n := 1; n < MinLen; n++ {
		p.starts.set(start(b[:n]))
	}
}

// A filter says of most numbers that are not in a set that they aren't.
type filter struct {
	bits   []uint64
	shift  uint
	probes int // bits set for a number
}

// resize empties the filter and makes it of at least so many bits.
func (f *filter) resize(bits int) {
	size := uint(13)
	for 1<<size < bits {
		size++
	}
	f.bits, f.shift = make([]uint64, 1<<size/64), 64-size
}

func (f *filter) set(x uint64) {
	for range f.probes {
		x *= 0x9E3779B97F4A7C15
		i := x >> f.shift
		f.bits[i/64] |= 1 << (i % 64)
		x ^= x >> 29
	}
}

func (f *filter) has(x uint64) bool {
	for range f.probes {
		x *= 0x9E3779B97F4A7C15
		i := x >> f.shift
		if f.bits[i/64]&(1<<(i%64)) == 0 {
			return false
		}
		x ^= x >> 29
	}
	return true
}
