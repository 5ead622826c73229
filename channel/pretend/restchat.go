package pretend

import (
	"encoding/json"
	"strings"
	"time"
)

// into decodes the body. Fields of another type are an error, as they are for
// a server with schemas; with strict bodies an unknown key is one too.
func (c *call) into(v any) *refusal {
	body := c.body
	if len(body) == 0 {
		body = []byte("{}")
	}
	d := json.NewDecoder(strings.NewReader(string(body)))
	if c.s.v.strictBodies {
		d.DisallowUnknownFields()
	}
	if err := d.Decode(v); err != nil {
		if strings.Contains(err.Error(), "unknown field") {
			return bad("invalid-params", "must NOT have additional properties")
		}
		return bad("invalid-params", "must match the schema")
	}
	return nil
}

// query is a query parameter.
func (c *call) query(name string) string { return c.r.URL.Query().Get(name) }

func (c *call) sendMessage() (doc, *refusal) {
	var b struct {
		Message     *json.RawMessage `json:"message"`
		PreviewURLs []string         `json:"previewUrls"`
	}
	if no := c.into(&b); no != nil {
		return nil, no
	}
	if b.Message == nil {
		return nil, bad("error-invalid-params", `The "message" parameter must be provided.`)
	}
	var d draft
	if json.Unmarshal(*b.Message, &d) != nil {
		return nil, bad("invalid-params", "must match the schema")
	}
	if b.PreviewURLs != nil && len(b.PreviewURLs) == 0 {
		off := false
		d.ParseURLs = &off
	}
	m, no := c.s.sendLocked(c.user, d)
	if no != nil {
		return nil, no
	}
	return doc{{"message", m.doc(c.s.v)}}, nil
}

// postMessage is processWebhookMessage.ts: it names rooms in several ways,
// makes direct rooms, joins public ones, and stores a tmid as it is given.
func (c *call) postMessage() (doc, *refusal) {
	var b struct {
		RoomID      any               `json:"roomId"`
		Channel     any               `json:"channel"`
		Text        string            `json:"text"`
		Msg         string            `json:"msg"`
		Alias       string            `json:"alias"`
		Emoji       string            `json:"emoji"`
		Avatar      string            `json:"avatar"`
		Attachments []json.RawMessage `json:"attachments"`
		Thread      string            `json:"tmid"`
		Custom      json.RawMessage   `json:"customFields"`
		ParseURLs   *bool             `json:"parseUrls"`
	}
	if no := c.into(&b); no != nil {
		return nil, no
	}
	if (b.Alias != "" || b.Avatar != "") && !c.user.has("bot") && !c.user.has("admin") && !c.user.has("app") {
		return nil, c.s.denied("error-not-allowed", "Not enough permission")
	}
	names := append(namesIn(b.RoomID), namesIn(b.Channel)...)
	if len(names) == 0 {
		return nil, bad("invalid-channel", "invalid-channel")
	}
	if b.Thread != "" && b.RoomID == nil && c.s.v.strictBodies {
		return nil, bad("invalid-params", `must have required property "roomId"`)
	}
	if b.Text == "" {
		b.Text = b.Msg
	}
	var last *Message
	var r *room
	for _, n := range names {
		var no *refusal
		if r, no = c.s.target(c.user, n); no != nil {
			return nil, no
		}
		if no := c.s.mayPost(c.user, r, b.Text); no != nil {
			return nil, no
		}
		if r.kind == "c" {
			c.s.joinLocked(r, c.user)
		}
		last, no = c.s.postLocked(c.user, r, draft{
			Text: b.Text, Alias: b.Alias, Emoji: b.Emoji, Avatar: b.Avatar, Attachments: b.Attachments,
			Thread: b.Thread, Custom: b.Custom, ParseURLs: b.ParseURLs,
		}, time.Time{})
		if no != nil {
			return nil, no
		}
	}
	return doc{{"ts", c.s.now().UnixMilli()}, {"channel", r.nameOrID()}, {"message", last.doc(c.s.v)}}, nil
}

func (r *room) nameOrID() string {
	if r.name == "" {
		return r.id
	}
	return r.name
}

func namesIn(v any) []string {
	switch v := v.(type) {
	case string:
		if v != "" {
			return []string{v}
		}
	case []any:
		var list []string
		for _, x := range v {
			list = append(list, namesIn(x)...)
		}
		return list
	}
	return nil
}

// target finds a room by id, name, #name, or @username, whose direct room is
// made if need be.
func (s *Server) target(u *user, name string) (*room, *refusal) {
	if who, ok := strings.CutPrefix(name, "@"); ok {
		other := s.byName[who]
		if other == nil {
			return nil, errNoChannel
		}
		return s.directLocked([]*user{u, other}), nil
	}
	r := s.findRoomLocked(name)
	if r == nil {
		return nil, errNoChannel
	}
	return r, nil
}

// messageIn finds a message the caller may see.
func (c *call) messageIn(id string) (*entry, *refusal) {
	e := c.s.messages[id]
	if e == nil {
		return nil, errNoMessage
	}
	if !c.s.canAccess(c.user, e.room) {
		return nil, c.s.denied("error-not-allowed", "Not allowed")
	}
	return e, nil
}

func (c *call) getMessage() (doc, *refusal) {
	id := c.query("msgId")
	if id == "" {
		return nil, bad("error-invalid-params", `The "msgId" query parameter must be provided.`)
	}
	e := c.s.messages[id]
	if e == nil || !c.s.canAccess(c.user, e.room) {
		return nil, &refusal{status: 400, bare: true}
	}
	return doc{{"message", e.msg.doc(c.s.v)}}, nil
}

func (c *call) updateMessage() (doc, *refusal) {
	var b struct {
		RoomID      string          `json:"roomId"`
		ID          string          `json:"msgId"`
		Text        string          `json:"text"`
		PreviewURLs []string        `json:"previewUrls"`
		Custom      json.RawMessage `json:"customFields"`
	}
	if no := c.into(&b); no != nil {
		return nil, no
	}
	e, no := c.changeable(b.ID, b.RoomID)
	if no != nil {
		return nil, no
	}
	if no := c.s.tooLong(b.Text); no != nil {
		return nil, no
	}
	return doc{{"message", c.s.editLocked(e, c.user, b.Text).doc(c.s.v)}}, nil
}

// changeable is the message that is to be edited or deleted.
func (c *call) changeable(id, room string) (*entry, *refusal) {
	e := c.s.messages[id]
	switch {
	case e == nil:
		return nil, plain(`No message found with the id of "` + id + `".`)
	case e.room.id != room:
		return nil, plain("The room id provided does not match where the message is from.")
	}
	return e, c.s.mayChange(c.user, e)
}

func (c *call) deleteMessage() (doc, *refusal) {
	var b struct {
		RoomID string `json:"roomId"`
		ID     string `json:"msgId"`
		AsUser bool   `json:"asUser"`
	}
	if no := c.into(&b); no != nil {
		return nil, no
	}
	e, no := c.changeable(b.ID, b.RoomID)
	if no != nil {
		return nil, no
	}
	m := e.msg
	c.s.deleteLocked(e, c.user)
	return doc{{"_id", m.ID}, {"ts", c.s.now().UnixMilli()}, {"message", doc{{"_id", m.ID}, {"rid", m.RoomID}, {"u", m.User.doc()}}}}, nil
}

// react toggles unless shouldReact says which.
func (c *call) react() (doc, *refusal) {
	var b struct {
		ID       string `json:"messageId"`
		Emoji    string `json:"emoji"`
		Reaction string `json:"reaction"`
		Should   *bool  `json:"shouldReact"`
	}
	if no := c.into(&b); no != nil {
		return nil, no
	}
	e, no := c.messageIn(b.ID)
	if no != nil {
		return nil, no
	}
	emoji, no := reactionName(orText(b.Emoji, b.Reaction))
	if no != nil {
		return nil, no
	}
	has := e.msg.hasReaction(emoji, c.user.username)
	on := !has
	if b.Should != nil {
		on = *b.Should
	}
	if on != has {
		c.s.reactLocked(e, c.user, emoji, on)
	}
	return doc{}, nil
}

func (c *call) pin(on bool) (doc, *refusal) {
	e, no := c.messageInBody()
	if no != nil {
		return nil, no
	}
	return doc{{"message", c.s.pinLocked(e, c.user, on).doc(c.s.v)}}, nil
}

func (c *call) messageInBody() (*entry, *refusal) {
	var b struct {
		ID string `json:"messageId"`
	}
	if no := c.into(&b); no != nil {
		return nil, no
	}
	return c.messageIn(b.ID)
}

func (c *call) star(on bool) (doc, *refusal) {
	e, no := c.messageInBody()
	if no != nil {
		return nil, no
	}
	c.s.touchLocked(e, starring(c.user.id, on))
	return doc{}, nil
}

func (c *call) follow(on bool) (doc, *refusal) {
	var b struct {
		ID string `json:"mid"`
	}
	if no := c.into(&b); no != nil {
		return nil, no
	}
	e, no := c.messageIn(b.ID)
	if no != nil {
		return nil, no
	}
	c.s.touchLocked(e, following(c.user.id, on))
	return doc{}, nil
}
