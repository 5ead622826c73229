package control

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"strings"
	"syscall"
	"time"

	"rcsupervisor/internal/supervisor"
)

// A Client asks a supervisor over its socket. Its errors are [*Error].
type Client struct {
	socket string
	http   *http.Client
	within map[string]time.Duration // how long an answer may take, by method
}

// A supervisor that does not answer hangs, or is stopped. What is asked is
// answered once all homes were looked at; what is to be done, within the bound
// that the server has itself.
const (
	readWithin = lookWithin + 7*time.Second
	actWithin  = verbTimeout + 15*time.Second
)

// Dial returns a Client of the supervisor that answers at socket, after it has
// been seen to. Where nobody does the error's code is not-running.
func Dial(ctx context.Context, socket string) (*Client, error) {
	c := &Client{socket: socket, within: map[string]time.Duration{"GET": readWithin, "POST": actWithin}}
	c.http = &http.Client{Transport: &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			var d net.Dialer
			return d.DialContext(ctx, "unix", socket)
		},
		MaxIdleConns: 4, IdleConnTimeout: 10 * time.Second, DisableCompression: true,
	}}
	var d net.Dialer
	conn, err := d.DialContext(ctx, "unix", socket)
	if err != nil {
		return nil, c.unreached(err)
	}
	conn.Close()
	return c, nil
}

// Close lets go of the connections that are kept.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// unreached says why the socket did not answer.
func (c *Client) unreached(err error) *Error {
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ECONNREFUSED):
		return &Error{CodeNotRunning, "no supervisor runs (" + c.socket + ")", "rcsupervisor run"}
	case errors.Is(err, fs.ErrPermission):
		return &Error{CodeRefused, c.socket + " is another user's", "sudo, or --socket SOCKET"}
	}
	return &Error{CodeFailed, "ask the supervisor: " + err.Error(), "rcsupervisor doctor"}
}

// Do has a verb carried out for one profile. args and into may be nil.
func (c *Client) Do(ctx context.Context, verb, name string, args, into any) error {
	return c.call(ctx, "POST", "/v1/profiles/"+url.PathEscape(name)+"/"+url.PathEscape(verb), args, into)
}

// Status asks for the profiles named, or all that may be seen.
func (c *Client) Status(ctx context.Context, names ...string) (st supervisor.Status, err error) {
	q := url.Values{"name": names}
	return st, c.call(ctx, "GET", "/v1/status?"+q.Encode(), nil, &st)
}

// Explain asks what one profile is, why, and what mends it.
func (c *Client) Explain(ctx context.Context, name string) (e supervisor.Explained, err error) {
	return e, c.call(ctx, "GET", "/v1/profiles/"+url.PathEscape(name), nil, &e)
}

// Plan asks what of the files is not in use.
func (c *Client) Plan(ctx context.Context) (p supervisor.Plan, err error) {
	return p, c.call(ctx, "GET", "/v1/plan", nil, &p)
}

// Reload has all homes looked at now.
func (c *Client) Reload(ctx context.Context) (r ReloadReply, err error) {
	return r, c.call(ctx, "POST", "/v1/reload", nil, &r)
}

// call asks and reads the answer into into.
func (c *Client) call(ctx context.Context, method, path string, args, into any) error {
	silent := &Error{CodeFailed, "the supervisor does not answer", "rcsupervisor doctor"}
	if d := c.within[method]; d > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, d, silent)
		defer cancel()
	}
	resp, err := c.open(ctx, method, path, args)
	if err != nil && context.Cause(ctx) == silent {
		return silent
	}
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if into == nil {
		_, err = io.Copy(io.Discard, resp.Body)
	} else {
		err = json.NewDecoder(resp.Body).Decode(into)
	}
	if err != nil {
		return &Error{CodeFailed, "the supervisor's answer ended early: " + err.Error(), "rcsupervisor status"}
	}
	return nil
}

// open asks, and returns an answer that is no error.
func (c *Client) open(ctx context.Context, method, path string, args any) (*http.Response, error) {
	var content io.Reader
	if args != nil {
		data, err := json.Marshal(args)
		if err != nil {
			return nil, &Error{CodeUsage, err.Error(), "rcsupervisor --help"}
		}
		content = bytes.NewReader(data)
	}
	req, err := http.NewRequestWithContext(ctx, method, "http://supervisor"+path, content)
	if err != nil {
		return nil, &Error{CodeUsage, err.Error(), "rcsupervisor --help"}
	}
	resp, err := c.http.Do(req)
	if err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, c.unreached(err)
	}
	if resp.StatusCode < 300 {
		return resp, nil
	}
	defer resp.Body.Close()
	var b body
	if err := json.NewDecoder(io.LimitReader(resp.Body, maxBody)).Decode(&b); err != nil || b.Error == nil {
		return nil, &Error{CodeFailed, fmt.Sprintf("the supervisor answered with HTTP %d", resp.StatusCode), "rcsupervisor doctor"}
	}
	return nil, b.Error
}

// Logs calls each for the lines of a profile's log with numbers over after; with
// follow also for those that come, until ctx ends. That the profile is gone, or
// the supervisor, is an error then.
func (c *Client) Logs(ctx context.Context, name string, after uint64, follow bool, each func(supervisor.Line) error) error {
	path := fmt.Sprintf("/v1/profiles/%s/logs?after=%d", url.PathEscape(name), after)
	if follow {
		path += "&follow=1"
	}
	resp, err := c.open(ctx, "GET", path, nil)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	d := json.NewDecoder(resp.Body)
	for {
		var l supervisor.Line
		if err := d.Decode(&l); err != nil {
			if err == io.EOF && !follow || ctx.Err() != nil {
				return nil
			}
			return c.brokeOff(ctx, name)
		}
		if err := each(l); err != nil {
			return err
		}
	}
}

// brokeOff is why a log that is followed came to an end.
func (c *Client) brokeOff(ctx context.Context, name string) error {
	_, err := c.Status(ctx, name)
	e, ok := errors.AsType[*Error](err)
	switch {
	case err == nil:
		return &Error{CodeFailed, "the log of " + name + " broke off", "rcsupervisor logs " + name + " -f"}
	case ok && e.Code == CodeNoProfile:
		return e
	}
	return &Error{CodeNotRunning, "the supervisor has ended", "rcsupervisor run"}
}

// An Update is an event of the stream, decoded: one of the fields is set.
type Update struct {
	Snapshot   *supervisor.Status
	Profile    *supervisor.ProfileStatus
	Gone       string
	Supervisor *supervisor.SupervisorStatus
}

// maxEvent bounds one event: a snapshot of thousands of profiles.
const maxEvent = 64 << 20

// Watch calls each for a snapshot and then for each change, of the profiles
// named or of all, until it returns an error, which is returned, or ctx ends,
// which is none.
func (c *Client) Watch(ctx context.Context, names []string, each func(Update) error) error {
	resp, err := c.open(ctx, "GET", "/v1/events?"+url.Values{"name": names}.Encode(), nil)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	lines := bufio.NewScanner(resp.Body)
	lines.Buffer(make([]byte, 64<<10), maxEvent)
	name := ""
	for lines.Scan() {
		line := lines.Text()
		if n, ok := strings.CutPrefix(line, "event: "); ok {
			name = n
		}
		data, ok := strings.CutPrefix(line, "data: ")
		if !ok {
			continue
		}
		u, err := decodeEvent(name, []byte(data))
		if err != nil {
			return &Error{CodeFailed, "the supervisor's event " + quote(name) + " can't be read: " + err.Error(), "rcsupervisor status"}
		}
		if err := each(u); err != nil {
			return err
		}
	}
	if ctx.Err() != nil {
		return nil
	}
	return &Error{CodeNotRunning, "the supervisor has ended", "rcsupervisor run"}
}

func decodeEvent(name string, data []byte) (u Update, err error) {
	switch name {
	case EventSnapshot:
		err = json.Unmarshal(data, &u.Snapshot)
	case EventProfile:
		err = json.Unmarshal(data, &u.Profile)
	case EventGone:
		var g Gone
		err = json.Unmarshal(data, &g)
		u.Gone = g.Name
	case EventSupervisor:
		err = json.Unmarshal(data, &u.Supervisor)
	}
	return u, err
}
