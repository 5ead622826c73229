package rest

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	"rcsupervisor/channel/dial"
	"rcsupervisor/sealed"
)

// Bounds of a client's connections.
const (
	connections = 4 // to the server, at one time
	transfers   = 2 // of them for files, so that a slow one never stops a post
	// Node closes an idle connection after 5 s. Letting go of it first keeps a
	// call from being written into a connection that is just being closed, and
	// leaves an idle bot without a goroutine.
	idleTime    = 3 * time.Second
	headerBytes = 64 << 10
	bufferBytes = 1 << 10 // of a connection, each way: a body is read past it
)

// Config is what a client is made of.
type Config struct {
	Server  string // canonical: scheme, host, optional port and base path, no trailing slash
	UserID  string
	Token   sealed.Secret
	Network *dial.Network
	// Allow is asked before each attempt of a call, with one of the Route
	// constants: the host-wide budget of that route. It returns when the call
	// may go out, or an error, which the call then returns. nil: no budget.
	Allow func(ctx context.Context, route string) error
	// Limited is told when the server asked for time on a route: other bots of
	// this host would meet the same limit. nil: nobody is.
	Limited func(route string, d time.Duration)
	// Once: no call is tried a second time. It is for who asks whether a server
	// is there, and will ask again.
	Once bool
	// Log gets one line per attempt at debug, with route, status and duration.
	// nil: none.
	Log *slog.Logger
}

// A Client makes calls as one bot. Make it with [New]; end it with
// [Client.Close].
type Client struct {
	server   string
	base     *url.URL
	userID   string
	token    sealed.Secret
	network  *dial.Network
	allow    func(context.Context, string) error
	limited  func(string, time.Duration)
	attempts int // at a call that may be made more than once
	log      *slog.Logger
	files    chan struct{} // a token for each transfer that runs

	clock   clock
	holds   holds
	fullest atomic.Int64           // the longest page of history yet, see short
	version atomic.Pointer[string] // what Info last said

	mu     sync.Mutex
	closed bool
	live   map[*scope]struct{} // what Close has to end
	dials  sync.WaitGroup      // added to under mu, while not closed
	// transport is there while anything lives, and idleTime longer: what it
	// remembers of a server is 4 kB. Whoever has a scope reads it without mu.
	transport *http.Transport
	idle      *time.Timer // runs since nothing lives
}

// New makes a client. It asks the server nothing.
func New(c Config) (*Client, error) {
	base, err := parseServer(c.Server)
	if err != nil {
		return nil, err
	}
	for field, v := range map[string]string{"user id": c.UserID, "token": c.Token.Reveal()} {
		if !headerValue(v) {
			return nil, fmt.Errorf("sealed %s is empty or holds characters no header can carry", field)
		}
	}
	if c.Network == nil {
		c.Network = new(dial.Network)
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	client := &Client{
		server: c.Server, base: base, userID: c.UserID, token: c.Token,
		network: c.Network, allow: c.Allow, limited: c.Limited, log: c.Log,
		files: make(chan struct{}, transfers), live: map[*scope]struct{}{}, attempts: attempts,
	}
	if c.Once {
		client.attempts = 1
	}
	return client, nil
}

// newTransport speaks HTTP/1.1 over what the network dials and nothing else:
// no proxy of the environment, no HTTP/2, no compression.
func (c *Client) newTransport() *http.Transport {
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	return &http.Transport{
		DialContext:            c.dial,
		DialTLSContext:         c.dial,
		Protocols:              protocols,
		DisableCompression:     true,
		MaxConnsPerHost:        connections,
		MaxIdleConnsPerHost:    connections,
		IdleConnTimeout:        idleTime,
		MaxResponseHeaderBytes: headerBytes,
		ReadBufferSize:         bufferBytes,
		WriteBufferSize:        bufferBytes,
	}
}

// parseServer reads the sealed server. The token goes to no address but one in
// the spelling it was sealed under.
func parseServer(server string) (*url.URL, error) {
	canonical, err := sealed.Server(server)
	if err != nil {
		return nil, err
	}
	if canonical != server {
		return nil, errors.New("sealed server is not in canonical form")
	}
	return url.Parse(canonical)
}

func headerValue(v string) bool {
	if v == "" {
		return false
	}
	for _, b := range []byte(v) {
		if b <= ' ' || b > '~' {
			return false
		}
	}
	return true
}

// dial makes the transport's connections, all to the sealed server, whatever
// address it is asked for.
func (c *Client) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	ctx, s, err := c.begin(ctx, true)
	if err != nil {
		return nil, dialError{err}
	}
	defer c.dials.Done()
	defer c.end(s)
	conn, err := c.network.Dial(ctx, c.base)
	if err != nil {
		return nil, dialError{err}
	}
	return conn, nil
}

// A scope is something that Close ends.
type scope struct{ cancel context.CancelCauseFunc }

// begin ties ctx to the client's life. dialing counts it among what Close waits
// for: a dial goes on in the transport's goroutine after its call has given up.
func (c *Client) begin(ctx context.Context, dialing bool) (context.Context, *scope, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil, nil, ErrClosed
	}
	if c.transport == nil {
		c.transport = c.newTransport()
	}
	if c.idle != nil {
		c.idle.Stop()
	}
	ctx, cancel := context.WithCancelCause(ctx)
	s := &scope{cancel}
	c.live[s] = struct{}{}
	if dialing {
		c.dials.Add(1)
	}
	return ctx, s, nil
}

func (c *Client) end(s *scope) {
	s.cancel(nil)
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.live, s)
	switch {
	case len(c.live) > 0 || c.closed:
	case c.idle != nil:
		c.idle.Reset(idleTime)
	default:
		c.idle = time.AfterFunc(idleTime, c.rest)
	}
}

// rest lets go of the transport, unless something lives again. A connection that
// comes to it later is closed by the transport itself.
func (c *Client) rest() {
	c.mu.Lock()
	var transport *http.Transport
	if len(c.live) == 0 && !c.closed {
		transport, c.transport, c.idle = c.transport, nil, nil
	}
	c.mu.Unlock()
	if transport != nil {
		transport.CloseIdleConnections()
	}
}

// Close ends what runs with [ErrClosed], also downloads that are being read,
// and closes the connections. It may be called more than once.
func (c *Client) Close() {
	c.mu.Lock()
	c.closed = true
	if c.idle != nil {
		c.idle.Stop()
	}
	for s := range c.live {
		s.cancel(ErrClosed)
	}
	transport := c.transport
	c.mu.Unlock()
	c.dials.Wait()
	if transport != nil {
		transport.CloseIdleConnections()
	}
}
