package pretend

import (
	"encoding/json"
	"slices"
	"strings"
	"time"
	"unicode/utf16"
)

// A draft is a message somebody wants to post.
type draft struct {
	ID          string            `json:"_id"`
	RoomID      string            `json:"rid"`
	Text        string            `json:"msg"`
	Time        json.RawMessage   `json:"ts"`
	Type        string            `json:"t"`
	Thread      string            `json:"tmid"`
	ShowInRoom  bool              `json:"tshow"`
	Alias       string            `json:"alias"`
	Avatar      string            `json:"avatar"`
	Emoji       string            `json:"emoji"`
	Attachments []json.RawMessage `json:"attachments"`
	ParseURLs   *bool             `json:"parseUrls"`
	Custom      json.RawMessage   `json:"customFields"`
}

// sendLocked is chat.sendMessage (server/methods/sendMessage.ts): a thread's
// message goes into its root's room whatever it says, and an id that exists,
// whoever owns it, ends silently, which REST makes a 400 of.
func (s *Server) sendLocked(u *user, d draft) (*Message, *refusal) {
	if d.Type != "" {
		return nil, plain("Cannot send system messages using 'chat.sendMessage'")
	}
	if d.RoomID == "" {
		return nil, plain("The 'rid' property on the message object is missing.")
	}
	when, no := s.clientTime(d.Time)
	if no != nil {
		return nil, no
	}
	if root := s.messages[d.Thread]; root != nil {
		d.RoomID = root.room.id
	}
	r := s.rooms[d.RoomID]
	if r == nil {
		return nil, bad("error-invalid-room", "Invalid room")
	}
	if no := s.mayPost(u, r, d.Text); no != nil {
		if no == errReadOnly && !s.v.fullUsers {
			s.whisperLocked(u, r.id, no.text)
		}
		return nil, no
	}
	return s.postLocked(u, r, d, when)
}

// clientTime: within 10 s of the server's clock it is kept, within 60 s
// replaced, beyond refused.
func (s *Server) clientTime(raw json.RawMessage) (time.Time, *refusal) {
	if len(raw) == 0 || string(raw) == "null" {
		return time.Time{}, nil
	}
	when, ok := parseTime(raw)
	if !ok {
		return time.Time{}, errOutOfSync
	}
	switch off := s.now().Sub(when).Abs(); {
	case off > time.Minute:
		return time.Time{}, errOutOfSync
	case off > 10*time.Second:
		return time.Time{}, nil
	}
	return when, nil
}

// parseTime reads {"$date": ms}, an ISO 8601 string, or milliseconds.
func parseTime(raw json.RawMessage) (time.Time, bool) {
	if string(raw) == "null" {
		return time.Time{}, false
	}
	var date struct {
		Date *int64 `json:"$date"`
	}
	if json.Unmarshal(raw, &date) == nil && date.Date != nil {
		return time.UnixMilli(*date.Date).UTC(), true
	}
	var ms int64
	if json.Unmarshal(raw, &ms) == nil {
		return time.UnixMilli(ms).UTC(), true
	}
	var text string
	if json.Unmarshal(raw, &text) != nil {
		return time.Time{}, false
	}
	t, err := time.Parse(time.RFC3339Nano, text)
	return t.UTC(), err == nil
}

// mayPost is validateRoomMessagePermissions and the size limit, which counts
// UTF-16 code units.
func (s *Server) mayPost(u *user, r *room, text string) *refusal {
	switch {
	case !s.canAccess(u, r):
		return s.notMember()
	case r.archived:
		return errArchived
	case r.readOnly && !u.has("admin") && !s.owns(u, r):
		return errReadOnly
	}
	return s.tooLong(text)
}

func (s *Server) tooLong(text string) *refusal {
	if s.v.sizeLimit && units(text) > s.intSetting("Message_MaxAllowedSize", 5000) {
		return errTooLong
	}
	return nil
}

func units(s string) int { return len(utf16.Encode([]rune(s))) }

func (s *Server) owns(u *user, r *room) bool {
	m := r.members[u.id]
	return m != nil && (slices.Contains(m.roles, "owner") || slices.Contains(m.roles, "moderator"))
}

// postLocked stores a draft that may be stored; the faults about messages are
// here.
func (s *Server) postLocked(u *user, r *room, d draft, when time.Time) (*Message, *refusal) {
	if d.ID != "" && s.faults.use(ForeignID, u, "") {
		s.sayLocked(s.users["rocket.cat"], r, "somebody else's message", SayOptions{ID: d.ID})
	}
	if s.messages[d.ID] != nil || s.faults.use(Swallow, u, "") {
		return nil, s.starred()
	}
	if f, ok := s.faults.find(Rewrite, u, ""); ok {
		d.Text = f.Text
	}
	if f, ok := s.faults.find(Misroute, u, ""); ok {
		if other := s.findRoomLocked(f.Text); other != nil {
			r = other
		}
	}
	o := SayOptions{
		ID: d.ID, At: when, Thread: d.Thread, ShowInRoom: d.ShowInRoom, Alias: d.Alias, Avatar: d.Avatar,
		Emoji: d.Emoji, Attachments: d.Attachments, NoPreviews: d.ParseURLs != nil && !*d.ParseURLs,
	}
	if len(d.Custom) > 0 {
		o.Extra = map[string]any{"customFields": d.Custom}
	}
	return s.sayLocked(u, r, d.Text, o), nil
}

// editedBy and deletedBy: one's own messages, or an administrator's word.
func (s *Server) mayChange(u *user, e *entry) *refusal {
	if e.msg.User.ID != u.id && !u.has("admin") {
		return s.denied("error-action-not-allowed", "Not allowed")
	}
	return nil
}

// reactionName gives an emoji its colons, or refuses what can't be one.
func reactionName(emoji string) (string, *refusal) {
	name := strings.Trim(emoji, ":")
	for _, c := range name {
		if !strings.ContainsRune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_+-", c) {
			name = ""
			break
		}
	}
	if name == "" {
		return "", bad("error-not-allowed", "Invalid emoji provided.")
	}
	return ":" + name + ":", nil
}
