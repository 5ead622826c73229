package chat

import (
	"bytes"
	"encoding/json"
	"errors"
)

// errNoID means that what was decoded is not a message at all; errNotJSON that
// it is not even JSON. Neither holds a byte of what was sent.
var (
	errNoID    = errors.New("message without _id or rid")
	errNotJSON = errors.New("message is not a JSON object")
)

// UnmarshalJSON reads both JSON forms of a message. It fails only where there
// is no JSON object or the message has no id or room: such an event can't be
// handled, deduplicated or answered. Keys are read as they are written; of a
// key that comes twice the last counts, as everywhere in JavaScript.
func (m *Message) UnmarshalJSON(b []byte) error {
	b = bytes.TrimSpace(b)
	if len(b) == 0 || b[0] != '{' || !json.Valid(b) {
		return errNotJSON
	}
	return m.read(b)
}

// read fills m from valid JSON.
func (m *Message) read(v value) error {
	*m = Message{}
	var w marks
	w.fields(m, v.fields())
	if m.ID == "" || m.RoomID == "" {
		return errNoID
	}
	m.Encrypted = m.Type == "e2e" || w.e2e || w.content && m.Text == ""
	m.Touched = w.touched
	if w.editor != "" && w.editor != m.Sender.ID {
		m.Touched |= TouchRewritten
	}
	return nil
}

// marks are what a message's fields say together rather than each by itself.
type marks struct {
	touched      Touch
	e2e, content bool
	editor       string // who edited it last
}

func (w *marks) fields(m *Message, fields walker) {
	for {
		key, val, ok := fields.field()
		if !ok {
			return
		}
		if bytes.IndexByte(key, '\\') >= 0 {
			key = value(`"` + string(key) + `"`)
			key = value(key.text())
		}
		if !m.own(string(key), val) {
			w.mark(m, string(key), val)
		}
	}
}

// own reads the fields that a message has from the start.
func (m *Message) own(key string, v value) bool {
	switch key {
	case "_id":
		m.ID = v.text()
	case "rid":
		m.RoomID = v.text()
	case "msg":
		m.Text = v.text()
	case "ts":
		m.Sent = v.stamp()
	case "_updatedAt":
		m.Updated = v.stamp()
	case "u":
		m.Sender = v.user()
	case "alias":
		m.Alias = v.text()
	case "tmid":
		m.Thread = v.text()
	case "tshow":
		m.AlsoInRoom = v.says()
	case "t":
		m.Type = v.text()
	case "bot":
		m.Automated = v.says()
	case "private":
		m.Ephemeral = v.says()
	case "mentions":
		m.Mentions, m.MentionsSet = v.users(), len(v) > 0 && v[0] == '['
	case "file":
		m.File = v.file()
	case "files":
		m.Files = v.files()
	case "attachments":
		m.Attachments = v.attachments()
	default:
		return false
	}
	return true
}

// mark reads the fields that show what has happened to a message since.
func (w *marks) mark(m *Message, key string, v value) {
	set := func(t Touch, when bool) {
		if when {
			w.touched |= t
		}
	}
	switch key {
	case "editedAt":
		m.Edited = v.stamp()
		set(TouchEdited, v.says() && (!m.Edited.IsZero() || v[0] != '{'))
	case "editedBy":
		w.editor = v.user().ID
		set(TouchEdited, v.says())
	case "reactions":
		// The last reaction taken back leaves an empty list or object.
		set(TouchReaction, !v.absent())
	case "tcount", "tlm", "replies":
		set(TouchThread, !v.absent())
	case "pinned":
		set(TouchPinned, v.says())
	case "pinnedAt", "pinnedBy":
		set(TouchPinned, !v.absent())
	case "starred":
		set(TouchStarred, !v.absent())
	case "dcount", "dlm":
		set(TouchDiscussion, !v.absent())
	case "translations":
		set(TouchTranslated, !v.absent())
	case "urls":
		var previewed bool
		m.Links, previewed = v.links()
		set(TouchPreview, previewed)
	case "e2e":
		w.e2e = v.text() != ""
	case "content":
		w.content = v.says()
	}
}

func (v value) user() (u User) {
	fields := v.fields()
	for {
		key, val, ok := fields.field()
		if !ok {
			return u
		}
		switch string(key) {
		case "_id":
			u.ID = val.text()
		case "username":
			u.Username = val.text()
		case "name":
			u.Name = val.text()
		case "type":
			u.Type = val.text()
		}
	}
}

// users reads a list of users and skips what has no id.
func (v value) users() (users []User) {
	list := v.elements()
	for {
		e, ok := list.next()
		if !ok {
			return users
		}
		if u := e.user(); u.ID != "" {
			users = append(users, u)
		}
	}
}

func (v value) file() (f File) {
	fields := v.fields()
	for {
		key, val, ok := fields.field()
		if !ok {
			return f
		}
		switch string(key) {
		case "_id":
			f.ID = val.text()
		case "name":
			f.Name = val.text()
		case "type":
			f.Type = val.text()
		case "size":
			f.Size = val.number()
		}
	}
}

func (v value) files() (files []File) {
	list := v.elements()
	for {
		e, ok := list.next()
		if !ok {
			return files
		}
		if f := e.file(); f != (File{}) {
			files = append(files, f)
		}
	}
}

func (v value) attachments() (as []Attachment) {
	list := v.elements()
	for {
		e, ok := list.next()
		if !ok {
			return as
		}
		if a := e.attachment(); a != (Attachment{}) {
			as = append(as, a)
		}
	}
}

func (v value) attachment() (a Attachment) {
	fields := v.fields()
	for {
		key, val, ok := fields.field()
		if !ok {
			return a
		}
		switch string(key) {
		case "title":
			a.Title = val.text()
		case "title_link":
			a.TitleLink = val.text()
		case "description":
			a.Description = val.text()
		case "text":
			a.Text = val.text()
		case "author_name":
			a.AuthorName = val.text()
		case "message_link":
			a.MessageLink = val.text()
		case "image_url":
			a.ImageURL = val.text()
		case "audio_url":
			a.AudioURL = val.text()
		case "video_url":
			a.VideoURL = val.text()
		}
	}
}

// links reads the addresses found in a text; previewed tells that the server
// has looked at one of them since.
func (v value) links() (urls []string, previewed bool) {
	list := v.elements()
	for {
		e, ok := list.next()
		if !ok {
			return urls, previewed
		}
		fields := e.fields()
		for {
			key, val, ok := fields.field()
			if !ok {
				break
			}
			switch string(key) {
			case "url":
				if u := val.text(); u != "" {
					urls = append(urls, u)
				}
			case "meta", "headers", "parsedUrl":
				previewed = previewed || val.says()
			}
		}
	}
}
