package rest

import (
	"context"
	"net/url"

	"rcsupervisor/channel/chat"
)

// Outgoing is a message to post. ID is ours: the server takes a message id
// once, whoever sends it, so that the same Outgoing can be sent again.
type Outgoing struct {
	ID         string
	Room       string
	Thread     string // the thread's root, "" for none; must lie in Room, see SendMessage
	Text       string
	AlsoInRoom bool // shown in the room too; of a thread only
}

type outgoing struct {
	ID        string `json:"_id"`
	Room      string `json:"rid"`
	Text      string `json:"msg"`
	Thread    string `json:"tmid,omitempty"`
	Show      bool   `json:"tshow,omitempty"` // refused without tmid
	ParseURLs *bool  `json:"parseUrls,omitempty"`
}

// SendMessage posts once and never repeats by itself. After any error that is
// Uncertain, and after [ErrDuplicate], only [Client.Message] says whether the message
// is there.
//
// Previews are off: a server that fetches what a model wrote is a way out for
// what the model knows. No time is sent, since a server refuses one that is a
// minute off. The reply's room is to be compared with the one asked for: with a
// Thread the server posts into the room of that thread, wherever it lies.
func (c *Client) SendMessage(ctx context.Context, m Outgoing) (chat.Message, error) {
	w := outgoing{
		ID: m.ID, Room: m.Room, Text: m.Text,
		Thread: m.Thread, Show: m.AlsoInRoom && m.Thread != "",
	}
	// Servers of old don't know previewUrls; those from 8 on may refuse a
	// message with a field they don't know.
	if c.before(8) {
		w.ParseURLs = new(bool)
	}
	return fetch(ctx, c, post(RouteSend, struct {
		Message  outgoing `json:"message"`
		Previews []string `json:"previewUrls"`
	}{w, []string{}}), parseMessageReply)
}

// Message reads one message: [ErrNotFound] when there is none or the bot may
// not see it.
func (c *Client) Message(ctx context.Context, id string) (chat.Message, error) {
	return fetch(ctx, c, get(RouteMessage, url.Values{"msgId": {id}}), parseMessageReply)
}

// Update puts a text in the place of a message's. Done twice it is the same.
func (c *Client) Update(ctx context.Context, room, id, text string) error {
	k := post(RouteUpdate, struct {
		Room     string   `json:"roomId"`
		ID       string   `json:"msgId"`
		Text     string   `json:"text"`
		Previews []string `json:"previewUrls"`
	}{room, id, text, []string{}})
	k.again = true
	_, err := fetch(ctx, c, k, nothing)
	return err
}

// Delete takes a message away: [ErrNotFound] when it is gone already.
func (c *Client) Delete(ctx context.Context, room, id string) error {
	_, err := fetch(ctx, c, post(RouteDelete, struct {
		Room string `json:"roomId"`
		ID   string `json:"msgId"`
	}{room, id}), nothing)
	return err
}

// React sets or takes away the bot's reaction, emoji as ":eyes:". It always says
// which: without shouldReact the server toggles.
func (c *Client) React(ctx context.Context, messageID, emoji string, on bool) error {
	k := post(RouteReact, struct {
		ID    string `json:"messageId"`
		Emoji string `json:"emoji"`
		On    bool   `json:"shouldReact"`
	}{messageID, emoji, on})
	k.again = true
	_, err := fetch(ctx, c, k, nothing)
	return err
}
