package rest

import (
	"context"
	"encoding/json"
	"net/url"
	"strconv"
	"time"

	"rcsupervisor/channel/chat"
)

// Room describes one room: [ErrRoomGone] or [ErrForbidden] when the bot may not
// see it, [ErrReadOnly] when it is archived.
func (c *Client) Room(ctx context.Context, id string) (chat.Room, error) {
	return fetch(ctx, c, get(RouteRoom, url.Values{"roomId": {id}}), parseRoomReply)
}

// Members returns the ids of a room's members, at most limit of them; all is
// false when there are more. A server may keep them from the bot, which is
// [ErrForbidden]. Of a direct room [Client.Room] says them.
func (c *Client) Members(ctx context.Context, kind chat.Kind, room string, limit int) (ids []string, all bool, err error) {
	route := RouteGroupMembers
	switch kind {
	case chat.Channel:
		route = RouteChannelMembers
	case chat.Group:
	default:
		return nil, false, &Error{Route: RouteGroupMembers, Kind: ErrInvalid}
	}
	for len(ids) < limit {
		n := min(limit-len(ids), maxCount)
		page, err := fetch(ctx, c, get(route, url.Values{
			"roomId": {room}, "count": {strconv.Itoa(n)}, "offset": {strconv.Itoa(len(ids))},
		}), parseMembers)
		if err != nil {
			return ids, false, err
		}
		ids = append(ids, page.ids...)
		if len(ids) >= page.total || len(page.ids) == 0 {
			return ids, true, nil
		}
	}
	return ids, false, nil
}

// A memberPage is one page of a room's members, and how many it has in all.
type memberPage struct {
	ids   []string
	total int
}

func parseMembers(b []byte) (memberPage, bool) {
	var reply struct {
		Members json.RawMessage `json:"members"`
		Total   int             `json:"total"`
	}
	if !lenient(b, &reply) {
		return memberPage{}, false
	}
	list, ok := items(reply.Members)
	return memberPage{each(list, parseID), reply.Total}, ok
}

// Rooms returns the rooms of the bot that changed since a moment of the
// server's clock, with their last messages, and the ids of those it has no
// more. Without a since it returns all. A reply that only a thread shows counts
// as a change.
func (c *Client) Rooms(ctx context.Context, since time.Time) (updated []chat.Room, removed []string, err error) {
	all, err := fetch(ctx, c, list(RouteRooms, since), func(b []byte) (changes[chat.Room], bool) {
		return parseChanges(b, parseRoom)
	})
	return all.updated, all.removed, err
}

// A Subscription is the bot's membership of a room.
type Subscription struct {
	ID       string
	RoomID   string
	Kind     chat.Kind
	Name     string // of a one-to-one room: the other's username
	FullName string
	Joined   chat.Stamp // when the bot came into the room
	Seen     chat.Stamp // what the bot's user last read; zero: never
	Updated  chat.Stamp
	Open     bool // shown in the user's list
	Archived bool
	Parent   string   // of a discussion: the room it belongs to
	Roles    []string // of the bot in that room: owner, moderator, leader
}

// Subscriptions returns the memberships that changed since a moment of the
// server's clock, all of them without one. removed holds ids of subscriptions,
// not of rooms.
func (c *Client) Subscriptions(ctx context.Context, since time.Time) (updated []Subscription, removed []string, err error) {
	all, err := fetch(ctx, c, list(RouteSubscriptions, since), func(b []byte) (changes[Subscription], bool) {
		return parseChanges(b, parseSubscription)
	})
	return all.updated, all.removed, err
}

func parseSubscription(b []byte) (Subscription, bool) {
	var w struct {
		ID       string     `json:"_id"`
		RoomID   string     `json:"rid"`
		Kind     chat.Kind  `json:"t"`
		Name     string     `json:"name"`
		FullName string     `json:"fname"`
		Joined   chat.Stamp `json:"ts"`
		Seen     chat.Stamp `json:"ls"`
		Updated  chat.Stamp `json:"_updatedAt"`
		Open     bool       `json:"open"`
		Archived bool       `json:"archived"`
		Parent   string     `json:"prid"`
		Roles    []string   `json:"roles"`
	}
	ok := lenient(b, &w)
	return Subscription(w), ok && w.RoomID != ""
}

func list(route string, since time.Time) call {
	query := url.Values{}
	if !since.IsZero() {
		query.Set("updatedSince", chat.At(since).ISO())
	}
	k := get(route, query)
	k.bytes = listBytes
	return k
}

// DirectRoom returns the one-to-one room with a user, which it makes if there
// is none. Servers allow ten of these calls a minute (RC#19641).
func (c *Client) DirectRoom(ctx context.Context, username string) (chat.Room, error) {
	k := post(RouteDirect, map[string]string{"username": username})
	k.again = true
	return fetch(ctx, c, k, parseRoomReply)
}
