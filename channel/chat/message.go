package chat

import (
	"bytes"
	"encoding/json"
	"errors"
)

// A User as messages and mentions carry it. Only ID is an identity: names and
// the alias of a message can be anything.
type User struct {
	ID       string `json:"_id"`
	Username string `json:"username"`
	Name     string `json:"name"` // absent on messages sent over chat.sendMessage or DDP
	Type     string `json:"type"` // of a mention: "user" or "team"; of a user: "user", "bot", "app"
}

// A File as a message names it. Its content lies at
// /file-upload/<ID>/<Name> on the same server.
type File struct {
	ID   string `json:"_id"`
	Name string `json:"name"`
	Type string `json:"type"`
	Size int64  `json:"size"`
}

// An Attachment is what Rocket.Chat shows below a message: a quote, a file's
// caption, a card. Only what a channel reads of it is here.
type Attachment struct {
	Title       string `json:"title"`
	TitleLink   string `json:"title_link"`
	Description string `json:"description"`
	Text        string `json:"text"`
	AuthorName  string `json:"author_name"`
	MessageLink string `json:"message_link"`
	ImageURL    string `json:"image_url"`
	AudioURL    string `json:"audio_url"`
	VideoURL    string `json:"video_url"`
}

// A Message as a server published it. Sent is its own time and never changes;
// Updated changes with every touch: an edit, a reaction, a reply in its thread.
type Message struct {
	ID          string
	RoomID      string
	Text        string
	Sent        Stamp
	Updated     Stamp
	Edited      Stamp // zero: never edited
	Sender      User
	Alias       string
	Thread      string // the id of the thread's root, "" outside threads
	AlsoInRoom  bool   // a thread message shown in the room too (tshow)
	Type        string // `t`: any but "" is not a person's text
	Encrypted   bool   // end-to-end encrypted: the text can't be read
	Automated   bool   // `bot`: posted by a webhook or an app
	Ephemeral   bool   // `private`: shown to one user and never stored
	Mentions    []User
	MentionsSet bool // `mentions` was there: what it doesn't hold wasn't mentioned
	Touched     Touch
	File        File // the zero File: none
	Files       []File
	Attachments []Attachment
	Links       []string // the addresses found in the text
}

// A Touch is the set of marks that an event carries when something other than
// posting has happened to its message. facts: the same id is published again
// for at least fourteen reasons, each with one of these.
type Touch uint16

// The marks, by the field that shows them.
const (
	TouchEdited     Touch = 1 << iota // editedAt, editedBy
	TouchReaction                     // reactions, also the empty list a removed one leaves
	TouchThread                       // tcount, tlm, replies
	TouchPinned                       // pinned, pinnedAt, pinnedBy
	TouchStarred                      // starred
	TouchDiscussion                   // dcount, dlm
	TouchTranslated                   // translations
	TouchPreview                      // urls[].meta, headers, parsedUrl
	TouchOther                        // federation and receipts: known to be touched, not by whom
)

// Has reports whether t holds any of the marks in u.
func (t Touch) Has(u Touch) bool { return t&u != 0 }

// present is true once its JSON value was seen and says something: not null,
// false, 0, "" or an empty object. An empty list counts where the wire struct
// says so with [list].
type present bool

func (p *present) UnmarshalJSON(b []byte) error {
	switch string(bytes.TrimSpace(b)) {
	case "null", "false", "0", `""`, "{}", "[]":
	default:
		*p = true
	}
	return nil
}

// seen is true once its JSON value was there at all and is not null.
type seen bool

func (s *seen) UnmarshalJSON(b []byte) error {
	*s = string(bytes.TrimSpace(b)) != "null"
	return nil
}

// wire is a message as JSON. Each field reads leniently: a value of another
// type than expected is as good as absent, since one odd field must not hide
// what a person wrote.
type wire struct {
	ID           text             `json:"_id"`
	RoomID       text             `json:"rid"`
	Text         text             `json:"msg"`
	Sent         Stamp            `json:"ts"`
	Updated      Stamp            `json:"_updatedAt"`
	Edited       Stamp            `json:"editedAt"`
	EditedBy     present          `json:"editedBy"`
	Sender       lenient[User]    `json:"u"`
	Alias        text             `json:"alias"`
	Thread       text             `json:"tmid"`
	AlsoInRoom   present          `json:"tshow"`
	Type         text             `json:"t"`
	E2E          text             `json:"e2e"`
	Content      present          `json:"content"`
	Bot          present          `json:"bot"`
	Private      present          `json:"private"`
	Mentions     list[User]       `json:"mentions"`
	Reactions    seen             `json:"reactions"`
	ThreadCount  present          `json:"tcount"`
	ThreadLast   present          `json:"tlm"`
	Replies      present          `json:"replies"`
	Pinned       present          `json:"pinned"`
	PinnedAt     present          `json:"pinnedAt"`
	PinnedBy     present          `json:"pinnedBy"`
	Starred      present          `json:"starred"`
	DCount       present          `json:"dcount"`
	DLast        present          `json:"dlm"`
	Translations present          `json:"translations"`
	File         lenient[File]    `json:"file"`
	Files        list[File]       `json:"files"`
	Attachments  list[Attachment] `json:"attachments"`
	URLs         list[link]       `json:"urls"`
}

type link struct {
	URL     text    `json:"url"`
	Meta    present `json:"meta"`
	Headers present `json:"headers"`
	Parsed  present `json:"parsedUrl"`
}

// text reads a JSON string and leaves anything else as "".
type text string

func (t *text) UnmarshalJSON(b []byte) error {
	*t = ""
	if len(b) > 0 && b[0] == '"' {
		return json.Unmarshal(b, (*string)(t))
	}
	return nil
}

// lenient reads a T and leaves the zero value where the JSON is of another
// shape.
type lenient[T any] struct{ value T }

func (l *lenient[T]) UnmarshalJSON(b []byte) error {
	if json.Unmarshal(b, &l.value) != nil {
		var zero T
		l.value = zero
	}
	return nil
}

// list reads a JSON list and skips the elements of another shape; set tells
// that a list was there.
type list[T any] struct {
	values []T
	set    bool
}

func (l *list[T]) UnmarshalJSON(b []byte) error {
	l.values, l.set = nil, false
	if json.Unmarshal(b, &l.values) == nil {
		l.set = l.values != nil
		return nil
	}
	var raw []json.RawMessage
	if json.Unmarshal(b, &raw) != nil {
		return nil
	}
	l.set, l.values = true, nil
	for _, r := range raw {
		var v T
		if json.Unmarshal(r, &v) == nil {
			l.values = append(l.values, v)
		}
	}
	return nil
}

// errNoID means that what was decoded is not a message at all.
var errNoID = errors.New("message without _id or rid")

// UnmarshalJSON reads both JSON forms of a message. It fails only where there
// is no JSON object or the message has no id or room: such an event can't be
// handled, deduplicated or answered.
func (m *Message) UnmarshalJSON(b []byte) error {
	var w wire
	if err := json.Unmarshal(b, &w); err != nil {
		return err
	}
	if w.ID == "" || w.RoomID == "" {
		return errNoID
	}
	*m = Message{
		ID: string(w.ID), RoomID: string(w.RoomID), Text: string(w.Text),
		Sent: w.Sent, Updated: w.Updated, Edited: w.Edited,
		Sender: w.Sender.value, Alias: string(w.Alias),
		Thread: string(w.Thread), AlsoInRoom: bool(w.AlsoInRoom),
		Type: string(w.Type), Encrypted: w.Type == "e2e" || w.E2E != "" || (bool(w.Content) && w.Text == ""),
		Automated: bool(w.Bot), Ephemeral: bool(w.Private),
		Mentions: w.Mentions.values, MentionsSet: w.Mentions.set,
		Touched: w.touched(),
		File:    w.File.value, Files: w.Files.values, Attachments: w.Attachments.values,
	}
	for _, u := range w.URLs.values {
		m.Links = append(m.Links, string(u.URL))
	}
	return nil
}

func (w *wire) touched() Touch {
	var t Touch
	mark := func(m Touch, when bool) {
		if when {
			t |= m
		}
	}
	mark(TouchEdited, !w.Edited.IsZero() || bool(w.EditedBy))
	mark(TouchReaction, bool(w.Reactions))
	mark(TouchThread, bool(w.ThreadCount || w.ThreadLast || w.Replies))
	mark(TouchPinned, bool(w.Pinned || w.PinnedAt || w.PinnedBy))
	mark(TouchStarred, bool(w.Starred))
	mark(TouchDiscussion, bool(w.DCount || w.DLast))
	mark(TouchTranslated, bool(w.Translations))
	for _, u := range w.URLs.values {
		mark(TouchPreview, bool(u.Meta || u.Headers || u.Parsed))
	}
	return t
}
