package chat

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
// posting has happened to its message. The same id is published again for at
// least fourteen reasons, and most leave one of these.
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
	TouchRewritten                    // editedBy somebody else: a moderator may edit what others wrote
)

// Has reports whether t holds any of the marks in u.
func (t Touch) Has(u Touch) bool { return t&u != 0 }
