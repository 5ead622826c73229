package rest

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"
)

// failure is one answer of a real server, as it stands on the wire.
type failure struct {
	name   string
	route  string
	status int
	as     string
	body   string
	kind   Kind
	typ    string
}

const webPage = "<!DOCTYPE html><html><body>chat</body></html>"

// failures are the shapes in which the versions say no. Bodies are literal;
// those of 3.4 were seen on a running server, the others are from the source.
var failures = []failure{
	// Not logged in.
	{"3.4 and 6: not logged in", RouteRooms, 401, asJSON, `{"status":"error","message":"You must be logged in to do this."}`, ErrRefused, ""},
	{"7 and 8: not logged in", RouteRooms, 401, asJSON, `{"success":false,"error":"You must be logged in to do this.","status":"error","message":"You must be logged in to do this."}`, ErrRefused, ""},
	{"9.0: not logged in", RouteRooms, 401, asJSON, `{"success":false,"error":"You must be logged in to do this."}`, ErrRefused, ""},
	{"a proxy's own 401", RouteRooms, 401, "text/html", "<h1>401 Authorization Required</h1>", ErrNotJSON, ""},
	{"a proxy's own 401 as JSON", RouteRooms, 401, asJSON, `{"message":"Unauthorized"}`, ErrNotJSON, ""},
	{"a firewall's 403 as JSON", RouteSend, 403, asJSON, `{"message":"Forbidden"}`, ErrNotJSON, ""},
	{"a gateway's 404 as JSON", RouteSend, 404, asJSON, `{"message":"no Route matched with those values"}`, ErrNotJSON, ""},
	{"a gateway's 503 as JSON", RouteSend, 503, asJSON, `{"message":"failure to get a peer"}`, ErrUnavailable, ""},
	{"a gateway's 429 as JSON", RouteSend, 429, asJSON, `{"message":"API rate limit exceeded"}`, ErrRateLimited, ""},
	{"401 of unknown words", RouteRooms, 401, asJSON, `{"success":false,"error":"Who are you?"}`, ErrInvalid, ""},
	{"401 that breaks off", RouteRooms, 401, asJSON, `{"success":false,"error":"You must be lo`, ErrNotJSON, ""},
	{"401 with a list", RouteRooms, 401, asJSON, `["You must be logged in to do this."]`, ErrNotJSON, ""},
	{"401 without a body", RouteRooms, 401, asJSON, ``, ErrNotJSON, ""},

	// A second factor.
	{"totp at login", RouteSend, 401, asJSON, `{"status":"error","error":"totp-required","details":{"method":"totp"},"message":"TOTP Required [totp-required]"}`, ErrTwoFactor, "totp-required"},
	{"totp elsewhere", RouteSend, 400, asJSON, `{"success":false,"error":"TOTP Required [totp-required]","errorType":"totp-required","details":{"method":"totp","codeGenerated":false}}`, ErrTwoFactor, "totp-required"},

	// Not allowed.
	{"3.4: private room, not a member, no errorType", RouteSend, 400, asJSON, `{"success":false,"error":"error-not-allowed"}`, ErrForbidden, "error-not-allowed"},
	{"3.4: another's message", RouteUpdate, 400, asJSON, `{"success":false,"error":"Editing not allowed [error-action-not-allowed]","errorType":"error-action-not-allowed","details":{"method":"updateMessage","action":"Message_editing"}}`, ErrForbidden, "error-action-not-allowed"},
	{"3.4: name only in brackets", RouteDelete, 400, asJSON, `{"success":false,"error":"Not allowed [error-action-not-allowed]"}`, ErrForbidden, "error-action-not-allowed"},
	{"7: permission", RouteUser, 403, asJSON, `{"success":false,"error":"User does not have the permissions required for this action [error-unauthorized]"}`, ErrForbidden, "error-unauthorized"},
	{"8: permission as 401", RouteUser, 401, asJSON, `{"success":false,"error":"User does not have the permissions required for this action [error-unauthorized]"}`, ErrForbidden, "error-unauthorized"},
	{"8: unauthorized as 401", RouteUser, 401, asJSON, `{"success":false,"error":"unauthorized"}`, ErrForbidden, "unauthorized"},
	{"9.0: permission", RouteSend, 403, asJSON, `{"success":false,"error":"Not allowed","errorType":"error-forbidden"}`, ErrForbidden, "error-forbidden"},
	{"7: rooms.media of a foreign room", RouteMedia, 403, asJSON, `{"success":false,"error":"unauthorized"}`, ErrForbidden, "unauthorized"},
	{"8: rooms.media of a foreign room", RouteMedia, 403, asJSON, `{"success":false,"error":"forbidden"}`, ErrForbidden, "forbidden"},
	{"rooms.info of a foreign room: name and text changed places", RouteRoom, 400, asJSON, `{"success":false,"error":"not-allowed","errorType":"Not Allowed"}`, ErrForbidden, "not-allowed"},
	{"muted", RouteSend, 400, asJSON, `{"success":false,"error":"You_have_been_muted"}`, ErrForbidden, "You_have_been_muted"},
	{"blocked", RouteSend, 400, asJSON, `{"success":false,"error":"room_is_blocked"}`, ErrForbidden, "room_is_blocked"},
	{"a firewall's 403", RouteSend, 403, "text/html; charset=utf-8", "<h1>403</h1>", ErrNotJSON, ""},

	// Rate limits.
	{"3.4: 429", RouteReact, 429, asJSON, `{"success":false,"error":"Error, too many requests. Please slow down. You must wait 21 seconds before trying this endpoint again. [error-too-many-requests]"}`, ErrRateLimited, "error-too-many-requests"},
	{"429 of nginx", RouteReact, 429, "text/html", "<h1>429 Too Many Requests</h1>", ErrRateLimited, ""},
	{"SDK#119, RC#19641: a method's limit inside a 400", RouteDirect, 400, asJSON, `{"success":false,"error":"Error, too many requests. Please slow down. You must wait 37 seconds before trying again. [too-many-requests]","errorType":"too-many-requests","details":{"timeToReset":36811}}`, ErrRateLimited, "too-many-requests"},

	// What isn't there.
	{"3.4: chat.getMessage", RouteMessage, 400, asJSON, `{"success":false}`, ErrNotFound, ""},
	{"nothing but failure, elsewhere", RouteUpdate, 400, asJSON, `{"success":false}`, ErrInvalid, ""},
	{"chat.react", RouteReact, 400, asJSON, `{"success":false,"error":"The provided \"messageId\" does not match any existing message. [error-message-not-found]","errorType":"error-message-not-found"}`, ErrNotFound, "error-message-not-found"},
	{"chat.update", RouteUpdate, 400, asJSON, `{"success":false,"error":"No message found with the id of \"dKx7\"."}`, ErrNotFound, ""},
	{"chat.getThreadMessages", RouteThread, 400, asJSON, `{"success":false,"error":"Invalid Message [error-invalid-message]","errorType":"error-invalid-message"}`, ErrNotFound, "error-invalid-message"},
	{"users.info", RouteUser, 400, asJSON, `{"success":false,"error":"The required \"userId\" or \"username\" param provided does not match any users [error-invalid-user]","errorType":"error-invalid-user"}`, ErrNotFound, "error-invalid-user"},
	{"users.info, text alone", RouteUser, 400, asJSON, `{"success":false,"error":"User not found."}`, ErrNotFound, ""},
	{"our own user is invalid", RouteSend, 400, asJSON, `{"success":false,"error":"Invalid user [error-invalid-user]","errorType":"error-invalid-user"}`, ErrInvalid, "error-invalid-user"},
	{"mediaConfirm of an expired file", RouteConfirm, 400, asJSON, `{"success":false,"error":"[invalid-file]","errorType":"invalid-file"}`, ErrNotFound, "invalid-file"},
	{"404 that says nothing", RouteMessage, 404, asJSON, `{"success":false,"error":"Resource not found"}`, ErrNotFound, ""},
	{"404 of a room", RouteRoom, 404, asJSON, `{"success":false,"error":"Resource not found"}`, ErrRoomGone, ""},

	// Rooms.
	{"3.4: unknown room, post", RouteSend, 400, asJSON, `{"success":false,"error":"[invalid-channel]","errorType":"invalid-channel"}`, ErrRoomGone, "invalid-channel"},
	{"unknown room, send", RouteSend, 400, asJSON, `{"success":false,"error":"error-invalid-room"}`, ErrRoomGone, "error-invalid-room"},
	{"wrong kind of history", RouteGroupHistory, 400, asJSON, `{"success":false,"error":"The required \"roomId\" or \"roomName\" param provided does not match any group [error-room-not-found]","errorType":"error-room-not-found"}`, ErrRoomGone, "error-room-not-found"},
	{"9.0: unknown room as 403", RouteRoom, 403, asJSON, `{"success":false,"error":"no","errorType":"error-room-not-found"}`, ErrRoomGone, "error-room-not-found"},
	{"read-only", RouteSend, 400, asJSON, `{"success":false,"error":"You can't send messages because the room is readonly."}`, ErrReadOnly, ""},
	{"archived", RouteRoom, 400, asJSON, `{"success":false,"error":"The channel, lab, is archived [error-room-archived]","errorType":"error-room-archived"}`, ErrReadOnly, "error-room-archived"},

	// Size.
	{"too long", RouteSend, 400, asJSON, `{"success":false,"error":"Message size exceeds Message_MaxAllowedSize [error-message-size-exceeded]","errorType":"error-message-size-exceeded","details":{"method":"sendMessage"}}`, ErrTooLong, "error-message-size-exceeded"},
	{"too long, bare", RouteSend, 400, asJSON, `{"success":false,"error":"error-message-size-exceeded"}`, ErrTooLong, "error-message-size-exceeded"},
	{"file too large", RouteMedia, 400, asJSON, `{"success":false,"error":"File size exceeds the allowed limit [error-file-too-large]","errorType":"error-file-too-large"}`, ErrTooLong, "error-file-too-large"},
	{"nginx: body too large", RouteMedia, 413, "text/html", "<h1>413 Request Entity Too Large</h1>", ErrTooLong, ""},

	// R76: the same _id again (RC#14486, #2872, #1227).
	{"3.4: duplicate", RouteSend, 400, asJSON, `{"success":false,"error":"Cannot read property 'starred' of undefined"}`, ErrDuplicate, ""},
	{"newer Node: duplicate", RouteSend, 400, asJSON, `{"success":false,"error":"Cannot read properties of undefined (reading 'starred')"}`, ErrDuplicate, ""},
	{"RC#14486: two instances", RouteSend, 400, asJSON, `{"success":false,"error":"E11000 duplicate key error collection: rocketchat.rocketchat_message index: _id_ dup key: { : \"x\" }","errorType":"MongoError"}`, ErrDuplicate, ""},
	{"RC#14486: as a 500", RouteSend, 500, asJSON, `{"success":false,"error":"E11000 duplicate key error"}`, ErrDuplicate, ""},

	// Servers that are away.
	{"500", RouteSend, 500, asJSON, `{"success":false,"error":"Internal server error"}`, ErrUnavailable, ""},
	{"502 of nginx", RouteSend, 502, "text/html", "<h1>502 Bad Gateway</h1>", ErrUnavailable, ""},
	{"503 in JSON", RouteSend, 503, asJSON, `{"success":false,"error":"Service Unavailable"}`, ErrUnavailable, ""},
	{"503 without a type", RouteSend, 503, "", "", ErrUnavailable, ""},
	{"504", RouteSend, 504, "text/html", "", ErrUnavailable, ""},
	{"520 of a CDN", RouteSend, 520, "text/html", webPage, ErrUnavailable, ""},
	{"500 that claims JSON and isn't", RouteSend, 500, asJSON, "<html>", ErrUnavailable, ""},
	{"408", RouteSend, 408, asJSON, `{}`, ErrUnavailable, ""},

	// Answers of something else.
	{"3.4: unknown route", RouteSend, 200, "text/html; charset=utf-8", webPage, ErrNotJSON, ""},
	{"3.4: bad JSON", RouteSend, 400, "text/html", "Bad Request", ErrNotJSON, ""},
	{"no content type", RouteSend, 200, "-", `{"success":true}`, ErrNotJSON, ""},
	{"JSON that breaks off", RouteSend, 200, asJSON, `{"success":true,"message":{"_id":"a"`, ErrMalformed, ""},
	{"JSON that is a list", RouteSend, 200, asJSON, `[]`, ErrMalformed, ""},
	{"HTML that claims to be JSON", RouteSend, 200, asJSON, webPage, ErrMalformed, ""},
	{"empty", RouteSend, 200, asJSON, ``, ErrMalformed, ""},
	{"no content", RouteSend, 204, "", ``, ErrNotJSON, ""},
	{"a success that isn't", RouteSend, 200, asJSON, `{"success":false,"error":"error-invalid-room"}`, ErrRoomGone, "error-invalid-room"},
	{"a success of status error", RouteSend, 200, asJSON, `{"status":"error","message":"Something"}`, ErrInvalid, ""},

	// Routes.
	{"R79: rooms.media before 6.8", RouteMedia, 404, asJSON, `{"success":false,"error":"Not found"}`, ErrNoRoute, ""},
	{"R79: rooms.media on 3.4", RouteMedia, 200, "text/html", webPage, ErrNoRoute, ""},
	{"P61: rooms.upload on 8", RouteUpload, 404, "text/plain; charset=UTF-8", "404 Not Found", ErrNoRoute, ""},
	{"method not allowed", RouteMedia, 405, asJSON, `{"status":"error","message":"API endpoint not allowed"}`, ErrNoRoute, ""},

	// Anything else.
	{"8: strict schema", RouteSend, 400, asJSON, `{"success":false,"errorType":"invalid-params","error":"must NOT have additional properties"}`, ErrInvalid, "invalid-params"},
	{"error as an object", RouteSend, 400, asJSON, `{"success":false,"error":{"code":12,"errmsg":"x"}}`, ErrInvalid, ""},
	{"error as a number", RouteSend, 400, asJSON, `{"success":false,"error":404}`, ErrInvalid, ""},
	{"success as a word", RouteSend, 400, asJSON, `{"success":"no","error":["x"]}`, ErrInvalid, ""},
	{"an errorType that is a text", RouteSend, 400, asJSON, `{"success":false,"errorType":"What Alice wrote: 1234"}`, ErrInvalid, ""},
	{"redirect in JSON", RouteSend, 307, asJSON, `{}`, ErrRedirected, ""},
	{"418", RouteSend, 418, asJSON, `{"success":false,"error":"short and stout"}`, ErrInvalid, ""},
}

// uncertain: a refusal says that nothing was done. What says neither yes nor no
// leaves it open.
func (f failure) uncertain() bool {
	switch f.kind {
	case ErrUnavailable, ErrMalformed:
		return true
	case ErrNotJSON, ErrNoRoute:
		return f.status < 300 // a page of a 2xx
	}
	return false
}

// once makes a call of any route that is made one time.
func once(ctx context.Context, c *Client, route string) error {
	k := post(route, map[string]string{"text": "what Alice wrote"})
	_, err := fetch(ctx, c, k, parseMessageReply)
	return err
}

func TestFailures(t *testing.T) {
	var now failure
	b := secure(t, func(w http.ResponseWriter, _ *http.Request) {
		if now.as == "-" {
			w.Header()["Content-Type"] = nil // none at all, not a guessed one
			now.as = ""
		}
		say(w, now.status, now.as, now.body)
	})
	for _, f := range failures {
		t.Run(f.name, func(t *testing.T) {
			now = f
			err := once(t.Context(), b.client(t, nil), f.route)
			e := mustBe(t, err, f.kind)
			if e.Status != f.status || e.Route != f.route || e.Type != f.typ {
				t.Errorf("got status %d route %s type %q, want %d %s %q", e.Status, e.Route, e.Type, f.status, f.route, f.typ)
			}
			if e.Uncertain != f.uncertain() {
				t.Errorf("uncertain: %v", e.Uncertain)
			}
			for _, k := range []Kind{ErrRefused, ErrForbidden, ErrRateLimited, ErrUnavailable, ErrDuplicate, ErrNotFound} {
				if k != f.kind && errors.Is(err, k) {
					t.Errorf("is %q too", k)
				}
			}
			showsNothing(t, err, f.body)
		})
	}
}

// showsNothing checks that an error prints neither the token, nor the user, nor
// what was sent or answered, in any way Go prints one.
func showsNothing(t *testing.T, err error, body string) {
	t.Helper()
	for _, text := range []string{err.Error(), fmt.Sprintf("%v %+v %#v %q", err, err, err, err)} {
		for _, hidden := range []string{testToken, testUser, "what Alice wrote", "Alice", "short and stout", "Please slow down", "logged in to do"} {
			if strings.Contains(text, hidden) {
				t.Errorf("%s shows %q", text, hidden)
			}
		}
		if len(body) > 40 && strings.Contains(text, body) {
			t.Errorf("%s shows the body", text)
		}
		if strings.Contains(text, "\n") {
			t.Errorf("%q is more than a line", text)
		}
	}
}

// A server that puts the token where a name belongs doesn't get it printed.
func TestATypeMadeOfTheTokenIsNone(t *testing.T) {
	const token = "error-abcdefghijklmnopqrstuvwxyz0123456789"
	e := (&Client{token: secretOf(token)}).finish(&Error{Route: RouteSend, Status: 400, Kind: ErrInvalid, Type: token[:30]}, http.Header{}, envelope{})
	if e.Type != "" {
		t.Errorf("type %q", e.Type)
	}
}

func TestErrorText(t *testing.T) {
	for _, c := range []struct {
		err  *Error
		want string
	}{
		{&Error{Route: RouteReact, Status: 429, Type: "error-too-many-requests", Kind: ErrRateLimited, Retry: 21 * time.Second}, "chat.react: the server asks to wait (429 error-too-many-requests), for 21s"},
		{&Error{Route: RouteReact, Kind: ErrRateLimited, Retry: 1500 * time.Millisecond, Held: true}, "chat.react: the server asks to wait, for 1.5s"},
		{&Error{Route: RouteMe, Status: 401, Kind: ErrRefused}, "me: the server does not accept the token (401)"},
		{&Error{Route: RouteSend, Kind: ErrUnavailable, cause: errEnded}, "chat.sendMessage: the server is not available: the connection ended before the answer did"},
	} {
		if got := c.err.Error(); got != c.want {
			t.Errorf("got  %s\nwant %s", got, c.want)
		}
	}
}

// R51, R52, P30, P31 (RC#23947, RC#8064, RC#26360): only /api/v1/me answering
// 401 with a JSON body is a refusal.
func TestRefusal(t *testing.T) {
	for _, c := range []struct {
		name    string
		answer  http.HandlerFunc
		refused bool
		kind    Kind // of the error, "" for none
	}{
		{"3.4", says(401, asJSON, `{"status":"error","message":"You must be logged in to do this."}`), true, ""},
		{"9.0", says(401, asJSON, `{"success":false,"error":"You must be logged in to do this."}`), true, ""},
		{"a token that works", says(200, asJSON, `{"_id":"`+testUser+`","username":"hermes","success":true}`), false, ""},
		{"401 of unknown words", says(401, asJSON, `{"success":false,"error":"Who are you?"}`), true, ""},
		{"401 of another shape", says(401, asJSON, `{}`), true, ""},
		{"another's token", says(200, asJSON, `{"_id":"other","username":"other","success":true}`), false, ""},
		{"a proxy's login page", says(401, "text/html", webPage), false, ErrNotJSON},
		{"401 that breaks off", says(401, asJSON, `{"success":fal`), false, ErrNotJSON},
		{"a permission", says(403, asJSON, `{"success":false,"error":"unauthorized"}`), false, ErrForbidden},
		{"a limit", says(429, asJSON, `{"success":false,"error":"[error-too-many-requests]"}`), false, ErrRateLimited},
		{"a fault", says(500, asJSON, `{"success":false}`), false, ErrUnavailable},
		{"a gateway", says(504, "text/html", webPage), false, ErrUnavailable},
		{"not logged in, but with 400", says(400, asJSON, `{"success":false,"error":"You must be logged in to do this."}`), false, ErrInvalid},
		{"no answer", hangUp, false, ErrUnavailable},
		{"the web page", says(200, "text/html", webPage), false, ErrNotJSON},
		{"a redirect to a login page", func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "/login", http.StatusFound)
		}, false, ErrRedirected},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b := secure(t, c.answer)
			refused, err := b.client(t, nil).Refusal(t.Context())
			if refused != c.refused {
				t.Errorf("refused %v, want %v (%v)", refused, c.refused, err)
			}
			if c.kind == "" && err != nil {
				t.Errorf("got %v", err)
			}
			if c.kind != "" {
				mustBe(t, err, c.kind)
			}
		})
	}
}
