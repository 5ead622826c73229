package rest

import (
	"context"
	"net/http"
	"strconv"
	"strings"
)

// Me is who the token says the bot is. Of what the server sends (3.4 sends the
// hash of the password along) nothing else is kept.
type Me struct {
	ID       string
	Username string
	Name     string // "" when the server has none
	Roles    []string
	Active   bool
}

// Me asks who the bot is. Its answer is overwritten in memory once read.
func (c *Client) Me(ctx context.Context) (Me, error) {
	k := get(RouteMe, nil)
	k.wipe = true
	return fetch(ctx, c, k, parseMe)
}

func parseMe(b []byte) (Me, bool) {
	var w struct {
		ID       string   `json:"_id"`
		Username string   `json:"username"`
		Name     string   `json:"name"`
		Roles    []string `json:"roles"`
		Active   bool     `json:"active"`
	}
	ok := lenient(b, &w)
	return Me{w.ID, w.Username, w.Name, w.Roles, w.Active}, ok && w.ID != ""
}

// Refusal confirms that the token is refused: /api/v1/me answers 401 with a
// JSON body. Anything else isn't a refusal: a token that works gives false and
// no error, and what can't be said (a rate limit, a 403, a 5xx, a proxy's own
// 401, no answer) gives false with the error.
func (c *Client) Refusal(ctx context.Context) (refused bool, err error) {
	_, err = c.Me(ctx)
	if e, ok := failed(err); ok && e.Status == http.StatusUnauthorized && e.object {
		return true, nil
	}
	return false, err
}

// Info is what a server says of itself to anybody.
type Info struct {
	Version string // "3.4.0"; newer servers say only "8.2"
}

// Info asks for the server's version, without credentials. The client remembers
// it: how previews are turned off depends on it.
func (c *Client) Info(ctx context.Context) (Info, error) {
	k := get(RouteInfo, nil)
	k.path, k.anonymous = "/api/info", true
	info, err := fetch(ctx, c, k, parseInfo)
	if err == nil {
		c.version.Store(&info.Version)
	}
	return info, err
}

func parseInfo(b []byte) (Info, bool) {
	var w struct {
		Version string `json:"version"`
		Info    struct {
			Version string `json:"version"`
		} `json:"info"`
	}
	if !lenient(b, &w) {
		return Info{}, false
	}
	if w.Version == "" {
		w.Version = w.Info.Version
	}
	return Info{w.Version}, w.Version != ""
}

// AtLeast reports whether the version is major.minor or newer. One that can't
// be read counts as new.
func (i Info) AtLeast(major, minor int) bool {
	a, rest, _ := strings.Cut(i.Version, ".")
	b, _, _ := strings.Cut(rest, ".")
	have, err := strconv.Atoi(a)
	if err != nil {
		return true
	}
	if have != major {
		return have > major
	}
	n, err := strconv.Atoi(b)
	return err != nil || n >= minor
}

// before reports whether the server is known to be older than major.
func (c *Client) before(major int) bool {
	v := c.version.Load()
	return v != nil && !Info{*v}.AtLeast(major, 0)
}
