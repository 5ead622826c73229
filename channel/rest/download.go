package rest

import (
	"context"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strings"
)

// A Download is a file's content as it comes. It must be closed; Close may be
// called more than once. Read fails with an [*Error] of kind [ErrTooLarge]
// beyond the bound, of [ErrUnavailable] when the connection ends early.
type Download struct {
	io.ReadCloser
	Size int64  // as announced, -1: not announced
	Type string // the media type without parameters, "" when it isn't one
}

// Download opens a file of the server, named by what a message has in its
// attachment's title_link: "/file-upload/<id>/<name>". Any other path, and a
// path of another server, is [ErrInvalid]: the credentials go along. A server
// that keeps its files elsewhere points there, which is [ErrRedirected]: such a
// file is unavailable. limit bounds the content in bytes.
func (c *Client) Download(ctx context.Context, link string, limit int64) (Download, error) {
	where, ok := c.filePath(link)
	if !ok {
		return Download{}, &Error{Route: RouteFile, Kind: ErrInvalid}
	}
	inner, t, err := c.startTransfer(ctx, RouteFile)
	if err != nil {
		return Download{}, err
	}
	resp, err := t.roundTrip(inner, RouteFile, func(ctx context.Context) (*http.Request, error) {
		return http.NewRequestWithContext(ctx, http.MethodGet, c.server+where, nil)
	})
	if err != nil {
		err = c.because(ctx, inner, RouteFile, err)
		t.end()
		return Download{}, err
	}
	if e := c.refusedFile(resp, limit); e != nil {
		resp.Body.Close()
		t.end()
		return Download{}, e
	}
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	body := &download{t: t, body: resp.Body, left: limit, why: func(err error) error {
		e := network(inner, RouteFile, err, false)
		e.Status = http.StatusOK
		return c.because(ctx, inner, RouteFile, e)
	}}
	return Download{body, resp.ContentLength, kind}, nil
}

// filePath turns a link into a path below the server's base path. It takes the
// path alone, with or without the base path, and an address of the same server.
func (c *Client) filePath(link string) (string, bool) {
	u, err := url.Parse(link)
	if err != nil || u.User != nil || u.Opaque != "" {
		return "", false
	}
	if u.Scheme != "" || u.Host != "" {
		if u.Scheme != c.base.Scheme || !strings.EqualFold(u.Host, c.base.Host) {
			return "", false
		}
	}
	// Still escaped, so that a slash in a name doesn't end it.
	p := strings.TrimPrefix(u.EscapedPath(), c.base.EscapedPath())
	id, name, ok := strings.Cut(strings.TrimPrefix(p, "/"+RouteFile+"/"), "/")
	if !ok || !strings.HasPrefix(p, "/"+RouteFile+"/") || strings.Contains(name, "/") {
		return "", false
	}
	id, err1 := url.PathUnescape(id)
	name, err2 := url.PathUnescape(name)
	if err1 != nil || err2 != nil {
		return "", false
	}
	where, ok := segments(id)
	if !ok || name == "" || name == "." || name == ".." {
		return "", false
	}
	return "/" + RouteFile + where + "/" + url.PathEscape(name), true
}

// refusedFile says why an answer isn't the file.
func (c *Client) refusedFile(resp *http.Response, limit int64) error {
	e := classifyPage(RouteFile, resp.StatusCode)
	e.Uncertain = false // nothing was asked to be done
	enc := resp.Header.Get("Content-Encoding")
	switch {
	case resp.StatusCode == http.StatusOK && enc != "" && !strings.EqualFold(enc, "identity"):
		e.Kind = ErrMalformed
	case resp.StatusCode == http.StatusOK && resp.ContentLength > limit:
		e.Kind = ErrTooLarge
	case resp.StatusCode == http.StatusOK:
		return nil
	case e.Kind != ErrNotJSON:
	case resp.StatusCode == http.StatusUnauthorized, resp.StatusCode == http.StatusForbidden:
		e.Kind = ErrForbidden
	case resp.StatusCode == http.StatusNotFound, resp.StatusCode == http.StatusGone:
		e.Kind = ErrNotFound
	default:
		e.Kind = ErrInvalid
	}
	return c.finish(e, resp.Header, envelope{})
}

// download is the content of a file that is being read, by one goroutine.
type download struct {
	t    *transfer // nil once closed
	body io.ReadCloser
	left int64
	why  func(error) error // says what a broken connection means
	err  error             // what Read goes on returning
}

func (d *download) Read(p []byte) (int, error) {
	switch {
	case d.err != nil:
		return 0, d.err
	case d.t == nil:
		return 0, &Error{Route: RouteFile, Kind: ErrClosed}
	case len(p) == 0:
		return 0, nil
	}
	// One byte beyond the bound tells a file of just that size from a longer.
	if int64(len(p)) > d.left+1 {
		p = p[:d.left+1]
	}
	n, err := d.body.Read(p)
	if n > 0 {
		d.t.moved()
	}
	if int64(n) > d.left {
		n, err = int(d.left), &Error{Route: RouteFile, Status: http.StatusOK, Kind: ErrTooLarge}
	} else if err != nil && err != io.EOF {
		err = d.why(err)
	}
	d.left -= int64(n)
	d.err = err
	return n, err
}

func (d *download) Close() error {
	if d.t == nil {
		return nil
	}
	err := d.body.Close()
	d.t.end()
	d.t = nil
	return err
}
