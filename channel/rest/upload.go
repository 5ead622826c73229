package rest

import (
	"bytes"
	"context"
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/textproto"
	"net/url"
	"path"
	"strings"
	"sync"

	"rcsupervisor/channel/chat"
)

// A File to send. Size is exact: a content of another length ends the upload
// with [ErrFileChanged].
type File struct {
	Name    string
	Type    string // its media type, "" for application/octet-stream
	Size    int64
	Content io.Reader // read once, not closed
}

// ErrFileChanged is a file that didn't have the length it was said to have.
var ErrFileChanged = errors.New("the file changed while it was sent")

// Upload brings a file to the server, for a room, and returns its id. Nobody
// sees it before [Client.Confirm], and the server drops it after 24 hours, so
// that an upload may be repeated. [ErrNoRoute]: the server is older than this
// way; use [Client.OldUpload].
func (c *Client) Upload(ctx context.Context, room string, f File) (fileID string, err error) {
	return upload(ctx, c, RouteMedia, room, f, nil, parseUpload)
}

func parseUpload(b []byte) (string, bool) {
	var reply struct {
		File struct {
			ID string `json:"_id"`
		} `json:"file"`
	}
	ok := lenient(b, &reply)
	return reply.File.ID, ok && reply.File.ID != ""
}

// ConfirmOptions are what is said with a file.
type ConfirmOptions struct {
	Text   string
	Thread string
}

// Confirm posts an uploaded file. Done twice it posts twice (RC#41886), so that
// it is never repeated here; after an error that is Uncertain the room's history
// says whether there is a message with that file. Some servers answer without
// the message, which is [ErrMalformed] and such an error.
func (c *Client) Confirm(ctx context.Context, room, fileID string, o ConfirmOptions) (chat.Message, error) {
	where, ok := segments(room, fileID)
	if !ok {
		return chat.Message{}, &Error{Route: RouteConfirm, Kind: ErrInvalid}
	}
	k := post(RouteConfirm, struct {
		Text   string `json:"msg,omitempty"`
		Thread string `json:"tmid,omitempty"`
	}{o.Text, o.Thread})
	k.path += where
	return fetch(ctx, c, k, parseMessageReply)
}

// OldUpload sends and posts a file in one, on servers up to 7. There is no way
// to ask afterwards which message it became, so that after an error that
// is Uncertain it isn't sent again.
func (c *Client) OldUpload(ctx context.Context, room string, f File, o ConfirmOptions) (chat.Message, error) {
	fields := [][2]string{{"msg", o.Text}, {"tmid", o.Thread}}
	return upload(ctx, c, RouteUpload, room, f, fields, parseMessageReply)
}

// upload streams a multipart form without a goroutine of its own: what stands
// before and after the file is small and known. It returns when the content is
// no longer read.
func upload[T any](parent context.Context, c *Client, route, room string, f File, fields [][2]string, parse func([]byte) (T, bool)) (T, error) {
	var zero T
	where, ok := segments(room)
	if !ok || f.Size < 0 || f.Content == nil {
		return zero, &Error{Route: route, Kind: ErrInvalid}
	}
	head, tail, contentType, err := form(f, fields)
	if err != nil {
		return zero, &Error{Route: route, Kind: ErrInvalid}
	}
	ctx, t, err := c.startTransfer(parent, route)
	if err != nil {
		return zero, err
	}
	content := &exactly{r: f.Content, left: f.Size, moved: t.moved}
	body := &formBody{
		Reader: io.MultiReader(bytes.NewReader(head), content, bytes.NewReader(tail)),
		closed: make(chan struct{}),
	}
	defer func() { t.end(); <-body.closed }()
	resp, err := t.roundTrip(ctx, route, func(ctx context.Context) (*http.Request, error) {
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.server+"/api/v1/"+route+where, body)
		if err != nil {
			body.Close()
			return nil, err
		}
		req.ContentLength = int64(len(head)) + f.Size + int64(len(tail))
		req.Header.Set("Content-Type", contentType)
		return req, nil
	})
	if err != nil {
		if content.changed.Load() {
			return zero, routeError{route, ErrFileChanged}
		}
		return zero, c.because(parent, ctx, route, err)
	}
	defer resp.Body.Close()
	answer, err := c.judge(ctx, route, resp, usualBytes)
	if err != nil {
		return zero, c.because(parent, ctx, route, err)
	}
	v, ok := parse(answer)
	if !ok {
		return zero, &Error{Route: route, Status: resp.StatusCode, Kind: ErrMalformed, Uncertain: true}
	}
	return v, nil
}

// A formBody tells when the transport, which reads it in a goroutine of its
// own, is done with it.
type formBody struct {
	io.Reader
	once   sync.Once
	closed chan struct{}
}

func (b *formBody) Close() error {
	b.once.Do(func() { close(b.closed) })
	return nil
}

// form writes what stands around the file.
func form(f File, fields [][2]string) (head, tail []byte, contentType string, err error) {
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	for _, field := range fields {
		if field[1] == "" {
			continue
		}
		if err := w.WriteField(field[0], field[1]); err != nil {
			return nil, nil, "", err
		}
	}
	h := textproto.MIMEHeader{}
	h.Set("Content-Disposition", multipart.FileContentDisposition("file", fileName(f.Name)))
	h.Set("Content-Type", mediaType(f.Type))
	if _, err := w.CreatePart(h); err != nil {
		return nil, nil, "", err
	}
	n := b.Len()
	if err := w.Close(); err != nil {
		return nil, nil, "", err
	}
	return b.Bytes()[:n:n], b.Bytes()[n:], w.FormDataContentType(), nil
}

// fileName keeps a name's last element and no character that isn't of a name.
func fileName(name string) string {
	name = path.Base(strings.ReplaceAll(strings.ToValidUTF8(name, "_"), `\`, "/"))
	name = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return '_'
		}
		return r
	}, name)
	if name == "." || name == ".." || name == "/" {
		return "file"
	}
	return name
}

func mediaType(t string) string {
	if parsed, params, err := mime.ParseMediaType(t); err == nil {
		if formatted := mime.FormatMediaType(parsed, params); formatted != "" {
			return formatted
		}
	}
	return "application/octet-stream"
}

// segments writes ids as path segments. An id that would climb out of its
// place is none.
func segments(ids ...string) (string, bool) {
	var b strings.Builder
	for _, id := range ids {
		if id == "" || id == "." || id == ".." || strings.ContainsAny(id, "/\\") {
			return "", false
		}
		b.WriteString("/" + url.PathEscape(id))
	}
	return b.String(), true
}
