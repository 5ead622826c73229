package ddp

import (
	"encoding/json"
	"errors"
	"log/slog"
	"net/url"
	"time"

	"rcsupervisor/channel/dial"
	"rcsupervisor/healthcheck"
	"rcsupervisor/sealed"
)

// What a zero field of [Config] stands for.
const (
	DefaultSilence  = 70 * time.Second
	DefaultPing     = 25 * time.Second
	DefaultDeadline = 30 * time.Second
	DefaultMaxFrame = 4 << 20
)

// A Config is all that one connection needs. Server, UserID and Token are those
// of one envelope: the token goes to this server and no other, and only a login
// as this user is one.
type Config struct {
	Server  string // canonical: https://host[:port][/base], or http
	UserID  string
	Token   sealed.Secret
	Network *dial.Network // nil: straight there, with the system's roots

	// Silence ends the connection when no sign of life came for so long; after
	// Ping without one the server is asked for one. A Ping that is not shorter
	// than Silence would never be sent and counts as half of it. Both can be
	// changed while the connection lives, see [Conn.SetHealth].
	Silence, Ping time.Duration
	// Deadline is from the start of the dial to `ready`.
	Deadline time.Duration
	// MaxFrame is the largest frame taken, in bytes. A larger one ends the
	// connection.
	MaxFrame int64

	Log *slog.Logger // nil: none
}

func (c Config) defaulted() Config {
	c.Silence, c.Ping = health(c.Silence, c.Ping)
	if c.Deadline <= 0 {
		c.Deadline = DefaultDeadline
	}
	if c.MaxFrame <= 0 {
		c.MaxFrame = DefaultMaxFrame
	}
	if c.Network == nil {
		c.Network = &dial.Network{}
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	return c
}

func health(silence, ping time.Duration) (time.Duration, time.Duration) {
	if silence <= 0 {
		silence = DefaultSilence
	}
	if ping <= 0 {
		ping = DefaultPing
	}
	if ping >= silence {
		ping = silence / 2
	}
	return silence, ping
}

// usable reports what makes a connection impossible before it is tried, and
// where else the connection goes.
func (c Config) usable() (*url.URL, *End) {
	if err := c.Network.Check(); err != nil {
		return nil, &End{Reason: healthcheck.BadConfig, Err: err}
	}
	u, err := url.Parse(c.Server)
	switch {
	case err != nil, u.Scheme != "http" && u.Scheme != "https", u.Hostname() == "", u.User != nil, u.RawQuery != "" || u.Fragment != "":
		return nil, &End{Reason: healthcheck.BadConfig, Err: errors.New("the sealed server is no address of the form https://host[/base]")}
	case c.UserID == "":
		return nil, &End{Reason: healthcheck.BadConfig, Err: errors.New("no user id is sealed")}
	case c.Token.Empty():
		return nil, &End{Reason: healthcheck.BadConfig, Err: errors.New("no token is sealed")}
	}
	return u, nil
}

// A Handler is told what happens on a connection. Its methods are called one
// after another by the goroutine that called [Run], which reads nothing until
// they return: they must not block.
type Handler interface {
	// Connected: the server speaks DDP, and so can be reached. Not yet logged in.
	Connected()
	// Ready: logged in as the sealed user, and subscribed. From here on the
	// connection is online; events follow. conn may be kept, and is of no more
	// use, though harmless, once Run has returned.
	Ready(conn *Conn)
	// Event: something was published on the stream subscribed to. None comes
	// before Ready, none that came before it is lost.
	Event(Event)
}

// The stream a connection subscribes to, as its events name it.
const (
	Collection = "stream-room-messages"
	MyMessages = "__my_messages__"
)

// An Event is what the server published: on [Collection], under the name
// [MyMessages], a message and what the bot's part in its room is. Args are the
// server's JSON, valid but otherwise unread, and may be kept.
type Event struct {
	Collection, Name string
	Args             []json.RawMessage
}
