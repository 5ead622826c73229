package rest

import (
	"bytes"
	"encoding/json"
	"errors"

	"rcsupervisor/channel/chat"
)

// lenient decodes b and leaves a field whose JSON is of another type than
// expected at zero: one odd field must not cost the answer it stands in. It
// reports false where b is no JSON.
func lenient(b []byte, v any) bool {
	err := json.Unmarshal(b, v)
	if err == nil {
		return true
	}
	_, odd := errors.AsType[*json.UnmarshalTypeError](err)
	return odd
}

// object reports whether b is a JSON object; that it is JSON is known.
func object(b []byte) bool {
	b = bytes.TrimLeft(b, " \t\r\n")
	return len(b) > 0 && b[0] == '{'
}

// items reads a list. It reports false for what isn't one: nothing is not an
// empty answer.
func items(raw json.RawMessage) ([]json.RawMessage, bool) {
	var list []json.RawMessage
	return list, len(raw) > 0 && json.Unmarshal(raw, &list) == nil && list != nil
}

// each decodes a list and skips the elements that can't be read.
func each[T any](raw []json.RawMessage, parse func([]byte) (T, bool)) []T {
	all := make([]T, 0, len(raw))
	for _, r := range raw {
		if v, ok := parse(r); ok {
			all = append(all, v)
		}
	}
	return all
}

func parseMessage(b []byte) (chat.Message, bool) {
	var m chat.Message
	return m, json.Unmarshal(b, &m) == nil
}

// parseMessageReply reads {"message": …}.
func parseMessageReply(b []byte) (chat.Message, bool) {
	var reply struct {
		Message json.RawMessage `json:"message"`
	}
	if !lenient(b, &reply) || len(reply.Message) == 0 {
		return chat.Message{}, false
	}
	return parseMessage(reply.Message)
}

// A page is one list of messages and how long it was on the wire, which is more
// than what could be read of it.
type page struct {
	messages []chat.Message
	length   int
}

// A listed message is read in the walk through its page, and never ends it.
type listed struct {
	message chat.Message
	ok      bool
}

func (l *listed) UnmarshalJSON(b []byte) error {
	l.ok = l.message.UnmarshalJSON(b) == nil
	return nil
}

// parsePage reads {"messages": […]}. Pages are the largest answers there are,
// and a catch-up reads many.
func parsePage(b []byte) (page, bool) {
	var reply struct {
		Messages *[]listed `json:"messages"`
	}
	if json.Unmarshal(b, &reply) != nil || reply.Messages == nil {
		return page{}, false
	}
	p := page{make([]chat.Message, 0, len(*reply.Messages)), len(*reply.Messages)}
	for _, l := range *reply.Messages {
		if l.ok {
			p.messages = append(p.messages, l.message)
		}
	}
	return p, true
}

// parseRoom reads a room. im.create has its id as rid, beside _id or instead.
func parseRoom(b []byte) (chat.Room, bool) {
	var (
		room chat.Room
		also struct {
			RID string `json:"rid"`
		}
	)
	if json.Unmarshal(b, &room) != nil {
		return chat.Room{}, false
	}
	if room.ID == "" && lenient(b, &also) {
		room.ID = also.RID
	}
	return room, room.ID != ""
}

// parseRoomReply reads {"room": …}.
func parseRoomReply(b []byte) (chat.Room, bool) {
	var reply struct {
		Room json.RawMessage `json:"room"`
	}
	if !lenient(b, &reply) || len(reply.Room) == 0 {
		return chat.Room{}, false
	}
	return parseRoom(reply.Room)
}

// changes are what rooms.get and subscriptions.get say since a moment.
type changes[T any] struct {
	updated []T
	removed []string
}

// parseChanges reads {"update": […], "remove": […]}.
func parseChanges[T any](b []byte, parse func([]byte) (T, bool)) (changes[T], bool) {
	var reply struct {
		Update json.RawMessage `json:"update"`
		Remove json.RawMessage `json:"remove"`
	}
	if !lenient(b, &reply) {
		return changes[T]{}, false
	}
	updated, ok := items(reply.Update)
	removed, _ := items(reply.Remove)
	return changes[T]{each(updated, parse), each(removed, parseID)}, ok
}

func parseID(b []byte) (string, bool) {
	var w struct {
		ID string `json:"_id"`
	}
	return w.ID, lenient(b, &w) && w.ID != ""
}
