package ddp

import (
	"bytes"
	"encoding/json"
	"errors"
)

// errMalformed is a frame that is not one JSON object.
var errMalformed = errors.New("not a JSON object")

// A frame is what one text frame says. Its values are the server's JSON, slices
// of the bytes it was decoded from; nil is absent. Of a member that comes twice
// the last counts, as it does in JavaScript.
type frame struct {
	msg        []byte // "connected", "result", …; frames without one exist
	id         []byte // of result, nosub, ping, pong
	collection []byte // of changed
	event      []byte // fields.eventName
	args       []byte // fields.args
	subs       []byte // of ready
	result     []byte
	err        []byte // of result and nosub
	reason     []byte // of error
}

// decode splits a text frame. It keeps b.
func decode(b []byte) (frame, error) {
	var f frame
	s := &scanner{b: b}
	s.space()
	if s.i == len(b) || b[s.i] != '{' {
		return f, errMalformed
	}
	for m := s.members(); ; {
		key, value := m.next(s, 0)
		if key == nil {
			if value == nil || !s.end() {
				return frame{}, errMalformed
			}
			return f, nil
		}
		f.set(key, value)
	}
}

func (f *frame) set(key, value []byte) {
	switch string(name(key)) {
	case "msg":
		f.msg = value
	case "id":
		f.id = value
	case "collection":
		f.collection = value
	case "fields":
		f.fields(value)
	case "subs":
		f.subs = value
	case "result":
		f.result = value
	case "error":
		f.err = value
	case "reason":
		f.reason = value
	}
}

// fields reads the two members by which an event is known.
func (f *frame) fields(value []byte) {
	f.event, f.args = nil, nil
	if value[0] != '{' {
		return
	}
	s := &scanner{b: value}
	for m := s.members(); ; {
		key, value := m.next(s, 0)
		if key == nil {
			return
		}
		switch string(name(key)) {
		case "eventName":
			f.event = value
		case "args":
			f.args = value
		}
	}
}

// name returns the key between its quotes. Escapes, which no server writes
// here, are the only thing that allocates.
func name(key []byte) []byte {
	if bytes.IndexByte(key, '\\') < 0 {
		return key[1 : len(key)-1]
	}
	return []byte(text(key))
}

// is reports whether value is the JSON string want, which has no escapes.
func is(value []byte, want string) bool {
	if len(value) < 2 || value[0] != '"' {
		return false
	}
	if inner := value[1 : len(value)-1]; bytes.IndexByte(inner, '\\') < 0 {
		return string(inner) == want
	}
	return text(value) == want
}

// text returns a JSON string's text, "" for anything else.
func text(value []byte) string {
	if len(value) < 2 || value[0] != '"' {
		return ""
	}
	var s string
	if json.Unmarshal(value, &s) != nil {
		return ""
	}
	return s
}

// absent reports whether a value is missing or null.
func absent(value []byte) bool { return len(value) == 0 || string(value) == "null" }

// lists reports whether value is a JSON array that holds the string want.
func lists(value []byte, want string) bool {
	if len(value) == 0 || value[0] != '[' {
		return false
	}
	s := &scanner{b: value}
	for e := s.elements(); ; {
		element, _ := e.next(s, 0)
		if element == nil {
			return false
		}
		if is(element, want) {
			return true
		}
	}
}

// arguments returns the elements of args in memory of their own, so that they
// may be kept. A list that is the only argument is the list meant: old servers
// nest them (js.SDK#130).
func arguments(args []byte) []json.RawMessage {
	list := split(bytes.Clone(args))
	if len(list) == 1 && list[0][0] == '[' {
		return split(list[0])
	}
	return list
}

// split returns the elements of a JSON array, as slices of it.
func split(array []byte) []json.RawMessage {
	if len(array) == 0 || array[0] != '[' {
		return nil
	}
	s := &scanner{b: array}
	list := make([]json.RawMessage, 0, 2)
	for e := s.elements(); ; {
		element, _ := e.next(s, 0)
		if element == nil {
			return list
		}
		list = append(list, element[:len(element):len(element)])
	}
}
