package ddp

// maxDepth bounds how deep a frame may nest. Rocket.Chat's own frames stay
// below twenty.
const maxDepth = 200

// A scanner walks JSON, checking every byte of it against the grammar (RFC
// 8259), and hands out parts of it as slices of what it was given. It exists
// because encoding/json walks a frame three times, and allocates, to find the
// two strings by which most frames are put aside.
type scanner struct {
	b []byte
	i int
}

func (s *scanner) space() {
	for s.i < len(s.b) {
		switch s.b[s.i] {
		case ' ', '\t', '\n', '\r':
			s.i++
		default:
			return
		}
	}
}

// take steps over c, if it comes next.
func (s *scanner) take(c byte) bool {
	if s.i < len(s.b) && s.b[s.i] == c {
		s.i++
		return true
	}
	return false
}

// end reports whether nothing but white space is left.
func (s *scanner) end() bool {
	s.space()
	return s.i == len(s.b)
}

// value steps over one value and returns it, nil where there is none.
func (s *scanner) value(depth int) []byte {
	s.space()
	start := s.i
	if s.i == len(s.b) || depth > maxDepth {
		return nil
	}
	ok := false
	switch c := s.b[s.i]; c {
	case '"':
		ok = s.text()
	case '{':
		ok = s.object(depth)
	case '[':
		ok = s.array(depth)
	case 't':
		ok = s.word("true")
	case 'f':
		ok = s.word("false")
	case 'n':
		ok = s.word("null")
	default:
		ok = s.number()
	}
	if !ok {
		return nil
	}
	return s.b[start:s.i]
}

func (s *scanner) object(depth int) bool {
	for m := s.members(); ; {
		key, value := m.next(s, depth)
		if key == nil {
			return value != nil
		}
	}
}

func (s *scanner) array(depth int) bool {
	for e := s.elements(); ; {
		value, ok := e.next(s, depth)
		if value == nil {
			return ok
		}
	}
}

// members is the place within an object.
type members struct{ started bool }

// members begins an object, whose opening brace comes next.
func (s *scanner) members() members {
	s.take('{')
	return members{}
}

// objectEnd is what next returns for the value at an object's end.
var objectEnd = []byte{}

// next returns the next member, its key with the quotes. At the object's end
// key is nil and value is not; where the grammar is broken both are nil.
func (m *members) next(s *scanner, depth int) (key, value []byte) {
	s.space()
	if s.take('}') {
		return nil, objectEnd
	}
	if m.started {
		if !s.take(',') {
			return nil, nil
		}
		s.space()
	}
	m.started = true
	start := s.i
	if !s.text() {
		return nil, nil
	}
	key = s.b[start:s.i]
	s.space()
	if !s.take(':') {
		return nil, nil
	}
	if value = s.value(depth + 1); value == nil {
		return nil, nil
	}
	return key, value
}

// elements is the place within an array.
type elements struct{ started bool }

// elements begins an array, whose opening bracket comes next.
func (s *scanner) elements() elements {
	s.take('[')
	return elements{}
}

// next returns the next element. It is nil at the array's end, with ok, and
// where the grammar is broken, without.
func (e *elements) next(s *scanner, depth int) (value []byte, ok bool) {
	s.space()
	if s.take(']') {
		return nil, true
	}
	if e.started && !s.take(',') {
		return nil, false
	}
	e.started = true
	return s.value(depth + 1), false
}

func (s *scanner) word(w string) bool {
	if len(s.b)-s.i < len(w) || string(s.b[s.i:s.i+len(w)]) != w {
		return false
	}
	s.i += len(w)
	return true
}

// text steps over a string.
func (s *scanner) text() bool {
	if !s.take('"') {
		return false
	}
	for i := s.i; i < len(s.b); i++ {
		switch c := s.b[i]; {
		case c == '"':
			s.i = i + 1
			return true
		case c == '\\':
			n := escape(s.b[i+1:])
			if n == 0 {
				return false
			}
			i += n
		case c < ' ':
			return false
		}
	}
	return false
}

// escape returns the length of an escape behind its backslash, 0 for none.
func escape(b []byte) int {
	if len(b) == 0 {
		return 0
	}
	switch b[0] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return 1
	case 'u':
		if len(b) < 5 {
			return 0
		}
		for _, c := range b[1:5] {
			if (c < '0' || c > '9') && (c|0x20 < 'a' || c|0x20 > 'f') {
				return 0
			}
		}
		return 5
	}
	return 0
}

func (s *scanner) number() bool {
	s.take('-')
	if !s.take('0') && !s.digits() {
		return false
	}
	if s.take('.') && !s.digits() {
		return false
	}
	if s.take('e') || s.take('E') {
		if !s.take('+') {
			s.take('-')
		}
		return s.digits()
	}
	return true
}

func (s *scanner) digits() bool {
	start := s.i
	for s.i < len(s.b) && s.b[s.i] >= '0' && s.b[s.i] <= '9' {
		s.i++
	}
	return s.i > start
}
