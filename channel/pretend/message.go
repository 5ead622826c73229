package pretend

import (
	"encoding/json"
	"slices"
	"time"
)

// A Message as the server has it. Messages are never changed in place: each
// touch makes a new one, so that a Message a test holds stays what it was.
type Message struct {
	ID, RoomID  string
	Text        string
	Time        time.Time // `ts`
	Updated     time.Time // `_updatedAt`
	User        Author
	Alias       string
	Avatar      string
	Emoji       string
	Type        string // `t`
	Thread      string // `tmid`
	ShowInRoom  bool   // `tshow`
	Mentions    []Mention
	Bot         string // the integration that posted it
	Files       []File
	Attachments []json.RawMessage
	Links       []Link
	NoPreviews  bool // parseUrls:false

	Edited       time.Time
	EditedBy     Author
	Reactions    []Reaction // nil: never any; empty: the last one was taken back
	ThreadCount  int        // of a root
	ThreadLast   time.Time
	Followers    []string // `replies`
	Pinned       bool
	PinnedAt     time.Time
	PinnedBy     Author
	Starred      []string
	Discussion   string // `drid`
	DiscussCount int
	DiscussLast  time.Time
	Extra        map[string]any // fields of rarer causes: translations, blocks, federation, email, content, customFields

	noMentions bool // leave `mentions` out
	hidden     bool // `_hidden`: neither published nor in histories
	seq        uint64
}

// An Author of a message.
type Author struct{ ID, Username, Name string }

// A Mention the server found in a text. Type is user or team.
type Mention struct{ ID, Username, Name, Type string }

// A Reaction and who gave it.
type Reaction struct {
	Emoji     string // with colons
	Usernames []string
}

// A Link found in a text; Preview is what the server fetched of it.
type Link struct {
	URL     string
	Preview map[string]any
}

// A File in the server's store.
type File struct {
	ID, Name, Type string
	Size           int
}

// Path is where the file can be fetched, below the server's address.
func (f File) Path() string { return "/file-upload/" + f.ID + "/" + pathEscape(f.Name) }

func (a Author) doc() doc {
	return doc{{"_id", a.ID}, {"username", a.Username}}.text("name", a.Name)
}

// doc is the message as JSON. The order of fields is that of a real event.
func (m *Message) doc(v *personality) doc {
	d := make(doc, 0, 24)
	d = append(d, field{"_id", m.ID}).text("t", m.Type).with("rid", m.RoomID)
	if m.Alias != "" || m.Bot != "" {
		d = d.with("alias", m.Alias)
	}
	d = d.with("msg", m.Text)
	if len(m.Attachments) > 0 {
		d = d.with("attachments", rawList(m.Attachments))
	} else if m.Bot != "" {
		d = d.with("attachments", []any{})
	}
	d = d.text("avatar", m.Avatar).text("emoji", m.Emoji)
	if m.NoPreviews {
		d = d.with("parseUrls", false)
	}
	if m.Bot != "" {
		d = d.with("bot", doc{{"i", m.Bot}}).with("groupable", false)
	}
	d = d.with("ts", m.Time).with("u", m.User.doc())
	d = m.fileFields(d, v)
	d = d.text("tmid", m.Thread).flag("tshow", m.ShowInRoom)
	if !m.noMentions && m.Type == "" {
		d = d.with("mentions", m.mentionDocs(v)).with("channels", []any{})
	}
	if len(m.Links) > 0 {
		d = d.with("urls", m.linkDocs())
	}
	d = m.touchFields(d)
	for _, k := range sortedKeys(m.Extra) {
		d = d.with(k, m.Extra[k])
	}
	return d.with("_updatedAt", m.Updated)
}

func rawList(raw []json.RawMessage) []any {
	list := make([]any, len(raw))
	for i, r := range raw {
		list[i] = r
	}
	return list
}

// fileFields: `file` as ever, `files` since 3.5 or so.
func (m *Message) fileFields(d doc, v *personality) doc {
	if len(m.Files) == 0 {
		return d
	}
	docs := make([]doc, len(m.Files))
	for i, f := range m.Files {
		docs[i] = doc{{"_id", f.ID}, {"name", f.Name}, {"type", f.Type}}
		if !v.fullUsers {
			docs[i] = docs[i].with("size", f.Size)
		}
	}
	d = d.with("file", docs[0])
	if !v.fullUsers {
		d = d.with("files", docs)
	}
	return d
}

func (m *Message) mentionDocs(v *personality) []doc {
	list := make([]doc, len(m.Mentions))
	for i, x := range m.Mentions {
		list[i] = doc{{"_id", x.ID}, {"username", x.Username}}.text("name", x.Name)
		if v.mentionTypes {
			list[i] = list[i].text("type", x.Type)
		}
	}
	return list
}

func (m *Message) linkDocs() []doc {
	list := make([]doc, len(m.Links))
	for i, l := range m.Links {
		list[i] = doc{{"url", l.URL}}
		if l.Preview != nil {
			list[i] = append(list[i], field{"meta", l.Preview}, field{"headers", doc{{"contentType", "text/html"}}},
				field{"parsedUrl", doc{{"host", "example.org"}}})
		}
	}
	return list
}

// touchFields are the marks of everything but posting.
func (m *Message) touchFields(d doc) doc {
	if !m.Edited.IsZero() {
		d = d.with("editedAt", m.Edited).with("editedBy", doc{{"_id", m.EditedBy.ID}, {"username", m.EditedBy.Username}})
	}
	if m.Reactions != nil {
		r := make(doc, len(m.Reactions))
		for i, x := range m.Reactions {
			r[i] = field{x.Emoji, doc{{"usernames", x.Usernames}}}
		}
		if len(r) == 0 {
			d = d.with("reactions", []any{}) // what is left after the last one
		} else {
			d = d.with("reactions", r)
		}
	}
	if m.ThreadCount > 0 {
		d = d.with("tcount", m.ThreadCount).with("tlm", m.ThreadLast)
	}
	if m.Followers != nil {
		d = d.with("replies", m.Followers)
	}
	if m.Pinned || !m.PinnedAt.IsZero() {
		d = d.with("pinned", m.Pinned).with("pinnedAt", m.PinnedAt).with("pinnedBy", m.PinnedBy.doc())
	}
	if m.Starred != nil {
		stars := make([]doc, len(m.Starred))
		for i, id := range m.Starred {
			stars[i] = doc{{"_id", id}}
		}
		d = d.with("starred", stars)
	}
	d = d.text("drid", m.Discussion)
	if m.Discussion != "" {
		d = d.with("dcount", m.DiscussCount).date("dlm", m.DiscussLast)
	}
	return d
}

func (m *Message) hasReaction(emoji, username string) bool {
	for _, r := range m.Reactions {
		if r.Emoji == emoji {
			return slices.Contains(r.Usernames, username)
		}
	}
	return false
}
