package rest

import (
	"context"
	"encoding/json"
	"net/url"
	"strconv"
	"strings"

	"rcsupervisor/channel/chat"
)

// A UserQuery names a user by id or, without one, by username.
type UserQuery struct {
	ID       string
	Username string
}

// A User as users.info describes one. Type is "user", "bot" or "app"; Roles are
// empty where the bot may not see them.
type User struct {
	chat.User
	Roles  []string
	Active bool
}

// User describes a user: [ErrNotFound] when there is none.
func (c *Client) User(ctx context.Context, q UserQuery) (User, error) {
	query := url.Values{"username": {q.Username}}
	if q.ID != "" {
		query = url.Values{"userId": {q.ID}}
	}
	return fetch(ctx, c, get(RouteUser, query), parseUser)
}

func parseUser(b []byte) (User, bool) {
	var reply struct {
		User json.RawMessage `json:"user"`
	}
	var also struct {
		Roles  []string `json:"roles"`
		Active bool     `json:"active"`
	}
	var user chat.User
	if !lenient(b, &reply) || !lenient(reply.User, &user) || !lenient(reply.User, &also) {
		return User{}, false
	}
	return User{user, also.Roles, also.Active}, user.ID != ""
}

// Settings reads public settings of the server, by id. What the server doesn't
// give is absent.
func (c *Client) Settings(ctx context.Context, ids ...string) (map[string]json.RawMessage, error) {
	n := strconv.Itoa(len(ids))
	found, err := fetch(ctx, c, get(RouteSettings, url.Values{"_id": {strings.Join(ids, ",")}, "count": {n}}), parseSettings)
	if err != nil {
		return nil, err
	}
	found = only(found, ids)
	if len(found) > 0 || len(ids) == 0 {
		return found, nil
	}
	// Older servers don't know _id and gave their first n settings; they know
	// query, which 9.0 has no more.
	filter, err := json.Marshal(map[string]any{"_id": map[string]any{"$in": ids}})
	if err != nil {
		return nil, &Error{Route: RouteSettings, Kind: ErrInvalid}
	}
	old, err := fetch(ctx, c, get(RouteSettings, url.Values{"query": {string(filter)}, "count": {n}}), parseSettings)
	if e, ok := failed(err); ok && e.Kind == ErrInvalid {
		return found, nil
	}
	return only(old, ids), err
}

func only(all map[string]json.RawMessage, ids []string) map[string]json.RawMessage {
	found := map[string]json.RawMessage{}
	for _, id := range ids {
		if v, ok := all[id]; ok {
			found[id] = v
		}
	}
	return found
}

func parseSettings(b []byte) (map[string]json.RawMessage, bool) {
	var reply struct {
		Settings json.RawMessage `json:"settings"`
	}
	if !lenient(b, &reply) {
		return nil, false
	}
	list, ok := items(reply.Settings)
	all := map[string]json.RawMessage{}
	for _, raw := range list {
		var s struct {
			ID    string          `json:"_id"`
			Value json.RawMessage `json:"value"`
		}
		if lenient(raw, &s) && s.ID != "" && len(s.Value) > 0 {
			all[s.ID] = s.Value
		}
	}
	return all, ok
}
