package rest

import (
	"bytes"
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"
)

// A form as a server reads it.
type received struct {
	fields            map[string]string
	name, typ, body   string
	contentLength     int64
	chunked, anything bool
}

func receive(r *http.Request) (received, error) {
	got := received{fields: map[string]string{}, contentLength: r.ContentLength, chunked: len(r.TransferEncoding) > 0}
	_, params, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil {
		return got, err
	}
	form := multipart.NewReader(r.Body, params["boundary"])
	for {
		part, err := form.NextRawPart()
		if err == io.EOF {
			return got, nil
		}
		if err != nil {
			return got, err
		}
		b, err := io.ReadAll(part)
		if err != nil {
			return got, err
		}
		if part.FormName() != "file" {
			got.fields[part.FormName()] = string(b)
			continue
		}
		_, disposition, _ := mime.ParseMediaType(part.Header.Get("Content-Disposition"))
		got.name, got.typ, got.body, got.anything = disposition["filename"], part.Header.Get("Content-Type"), string(b), true
	}
}

func TestUpload(t *testing.T) {
	large := strings.Repeat("0123456789abcdef", 64<<10) // 1 MiB
	for _, c := range []struct {
		name      string
		file      File
		wantName  string
		wantType  string
		wantBytes int
	}{
		{"a text", text("a.txt", "hello"), "a.txt", "text/plain", 5},
		{"an empty file", text("empty", ""), "empty", "text/plain", 0},
		{"a large file", text("large.bin", large), "large.bin", "text/plain", len(large)},
		{"a name of other letters", text("Übung – 1.txt", "x"), "Übung – 1.txt", "text/plain", 1},
		{"a name with a way", text("../../etc/passwd", "x"), "passwd", "text/plain", 1},
		{"a name of Windows", text(`C:\a\b.txt`, "x"), "b.txt", "text/plain", 1},
		{"a name that is a way", text("..", "x"), "file", "text/plain", 1},
		{"no name", text("", "x"), "file", "text/plain", 1},
		{"a name with a line", text("a\r\nX-Evil: 1.txt", "x"), "a__X-Evil: 1.txt", "text/plain", 1},
		{"a name with quotes", text(`a"b.txt`, "x"), `a"b.txt`, "text/plain", 1},
		{"a type with a parameter", File{Name: "a", Type: "text/plain; charset=utf-8", Size: 1, Content: strings.NewReader("x")}, "a", "text/plain; charset=utf-8", 1},
		{"no type", File{Name: "a", Size: 1, Content: strings.NewReader("x")}, "a", "application/octet-stream", 1},
		{"a type with a line", File{Name: "a", Type: "text/plain\r\nX: y", Size: 1, Content: strings.NewReader("x")}, "a", "application/octet-stream", 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got received
			b := secure(t, func(w http.ResponseWriter, r *http.Request) {
				var err error
				if got, err = receive(r); err != nil {
					t.Error(err)
				}
				say(w, 200, asJSON, `{"file":{"_id":"f1","url":"/file-upload/f1/a.txt"},"success":true}`)
			})
			id, err := b.client(t, nil).Upload(t.Context(), "r1", c.file)
			if err != nil || id != "f1" {
				t.Fatal(id, err)
			}
			if p := b.last(t).path; p != "/api/v1/rooms.media/r1" {
				t.Error(p)
			}
			if got.name != c.wantName || got.typ != c.wantType || len(got.body) != c.wantBytes || len(got.fields) != 0 || got.chunked {
				t.Errorf("name %q type %q %d bytes fields %v", got.name, got.typ, len(got.body), got.fields)
			}
			if c.wantBytes == len(large) && got.body != large {
				t.Error("another content arrived")
			}
		})
	}
}

func TestOldUpload(t *testing.T) {
	var got received
	b := secure(t, func(w http.ResponseWriter, r *http.Request) {
		got, _ = receive(r)
		sentOK(w, r)
	})
	m, err := b.client(t, nil).OldUpload(t.Context(), "r1", text("a.txt", "hello"), ConfirmOptions{Text: "look", Thread: "t1"})
	if err != nil || m.ID != "m1" {
		t.Fatal(m, err)
	}
	if b.last(t).path != "/api/v1/rooms.upload/r1" || got.fields["msg"] != "look" || got.fields["tmid"] != "t1" || got.body != "hello" {
		t.Errorf("%s %+v", b.last(t).path, got)
	}
}

// R78 (RC#34956): an upload alone is nothing; the message comes of Confirm.
func TestUploadThenConfirm(t *testing.T) {
	b := secure(t, inTurn(says(200, asJSON, `{"file":{"_id":"f1"},"success":true}`), sentOK))
	c := b.client(t, nil)
	id, err := c.Upload(t.Context(), "r1", text("a", "b"))
	if err != nil {
		t.Fatal(err)
	}
	m, err := c.Confirm(t.Context(), "r1", id, ConfirmOptions{})
	if err != nil || m.ID != "m1" || b.last(t).path != "/api/v1/rooms.mediaConfirm/r1/f1" {
		t.Errorf("%+v %v %s", m, err, b.last(t).path)
	}
}

// R77 (RC#41886): a confirmation that may have been heard says so, and isn't
// made again; nor is one that was answered without its message.
func TestConfirmIsMadeOnce(t *testing.T) {
	for name, h := range map[string]http.HandlerFunc{
		"the reply is lost": hangUp,
		"502":               says(502, "text/html", ""),
		"no message":        says(200, asJSON, `{"message":null,"success":true}`),
	} {
		b := secure(t, h)
		_, err := b.client(t, nil).Confirm(t.Context(), "r1", "f1", ConfirmOptions{})
		if e, ok := failed(err); !ok || !e.Uncertain || b.count() != 1 {
			t.Errorf("%s: %v, asked %d times", name, err, b.count())
		}
	}
}

// R79, P61 (EmbeddedChat#1069, #1172): either way of sending a file is missing
// on some servers, which say so in three ways.
func TestAMissingRouteIsTold(t *testing.T) {
	for name, h := range map[string]http.HandlerFunc{
		"3.4":  says(200, "text/html; charset=utf-8", webPage),
		"hono": says(404, "text/plain; charset=UTF-8", "404 Not Found"),
		"JSON": says(404, asJSON, `{"success":false,"error":"Not found"}`),
	} {
		c := secure(t, h).client(t, nil)
		_, err := c.Upload(t.Context(), "r1", text("a", "b"))
		if !errors.Is(err, ErrNoRoute) {
			t.Errorf("%s: %v", name, err)
		}
		_, err = c.OldUpload(t.Context(), "r1", text("a", "b"), ConfirmOptions{})
		if !errors.Is(err, ErrNoRoute) {
			t.Errorf("%s: %v", name, err)
		}
	}
	// A room that refuses is not a missing route.
	c := secure(t, says(403, asJSON, `{"success":false,"error":"forbidden"}`)).client(t, nil)
	if _, err := c.Upload(t.Context(), "r1", text("a", "b")); errors.Is(err, ErrNoRoute) || !errors.Is(err, ErrForbidden) {
		t.Error(err)
	}
}

func TestAFileThatChanges(t *testing.T) {
	for name, f := range map[string]File{
		"shorter": {Name: "a", Size: 10, Content: strings.NewReader("short")},
		"longer":  {Name: "a", Size: 3, Content: strings.NewReader("longer")},
		"gone":    {Name: "a", Size: 3, Content: strings.NewReader("")},
		"grown":   {Name: "a", Size: 0, Content: strings.NewReader("x")},
	} {
		t.Run(name, func(t *testing.T) {
			var whole atomic.Bool
			b := secure(t, func(w http.ResponseWriter, r *http.Request) {
				_, err := receive(r)
				whole.Store(err == nil)
				say(w, 200, asJSON, `{"file":{"_id":"f1"},"success":true}`)
			})
			_, err := b.client(t, nil).Upload(t.Context(), "r1", f)
			if !errors.Is(err, ErrFileChanged) {
				t.Errorf("got %v", err)
			}
			if whole.Load() {
				t.Error("a whole form arrived")
			}
		})
	}
}

func TestAFileThatCannotBeRead(t *testing.T) {
	b := secure(t, succeeds)
	bad := errors.New("the disk says no: " + testToken)
	_, err := b.client(t, nil).Upload(t.Context(), "r1", File{Name: "a", Size: 100, Content: iotest.ErrReader(bad)})
	e := mustBe(t, err, ErrUnavailable)
	showsNothing(t, e, "")
	for _, f := range []File{{Name: "a", Size: 1}, {Name: "a", Size: -1, Content: strings.NewReader("")}} {
		_, err := b.client(t, nil).Upload(t.Context(), "r1", f)
		mustBe(t, err, ErrInvalid)
	}
}

// Whatever becomes of an upload, its content is not read after it returned.
func TestAnUploadLetsGoOfItsContent(t *testing.T) {
	for name, h := range map[string]http.HandlerFunc{
		"refused at once": func(w http.ResponseWriter, r *http.Request) { say(w, 413, "text/html", "") },
		"hung up":         hangUp,
		"taken":           func(w http.ResponseWriter, r *http.Request) { say(w, 200, asJSON, `{"file":{"_id":"f"}}`) },
	} {
		t.Run(name, func(t *testing.T) {
			b := secure(t, h)
			content := &tracked{r: bytes.NewReader(make([]byte, 2<<20))}
			b.client(t, nil).Upload(t.Context(), "r1", File{Name: "a", Size: 8 << 20, Content: content})
			content.mu.Lock()
			content.over = true
			content.mu.Unlock()
			if content.late {
				t.Error("read late")
			}
		})
	}
}

type tracked struct {
	mu         sync.Mutex
	r          io.Reader
	over, late bool
}

func (t *tracked) Read(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.over {
		t.late = true
	}
	return t.r.Read(p)
}

// An upload that moves may take longer than a call; one that stalls ends.
func TestASlowUpload(t *testing.T) {
	for _, c := range []struct {
		name  string
		pause time.Duration
		fails bool
	}{
		{"that moves", 20 * time.Second, false},
		{"that stalls", 40 * time.Second, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				client, _, _, stop := bubble(t, func(w http.ResponseWriter, r *http.Request) {
					say(w, 200, asJSON, `{"file":{"_id":"f1"},"success":true}`)
				}, nil)
				defer stop()
				start := time.Now()
				_, err := client.Upload(t.Context(), "r1", File{Name: "a", Size: 5, Content: &slow{strings.NewReader("abcde"), c.pause}})
				if (err != nil) != c.fails {
					t.Fatalf("%v after %v", err, time.Since(start))
				}
				if c.fails {
					mustBe(t, err, ErrUnavailable)
				} else if time.Since(start) < callTime {
					t.Errorf("took %v: the test tests nothing", time.Since(start))
				}
			})
		})
	}
}

// slow gives a byte each pause.
type slow struct {
	r     io.Reader
	pause time.Duration
}

func (s *slow) Read(p []byte) (int, error) {
	time.Sleep(s.pause)
	return s.r.Read(p[:min(1, len(p))])
}

// Files leave room for posts: with every place for files taken, a post still
// goes out, and a third file waits.
func TestFilesLeaveRoomForPosts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		c, b, _, stop := bubble(t, func(w http.ResponseWriter, r *http.Request) {
			if !strings.HasPrefix(r.URL.Path, "/file-upload/") {
				sentOK(w, r)
				return
			}
			io.WriteString(w, "a")
			w.(http.Flusher).Flush()
			<-release
		}, nil)
		defer stop()
		var open []Download
		for range transfers {
			d, err := c.Download(t.Context(), "/file-upload/f1/a.txt", 100)
			if err != nil {
				t.Fatal(err)
			}
			open = append(open, d)
		}
		third := make(chan error)
		go func() {
			d, err := c.Download(t.Context(), "/file-upload/f1/a.txt", 100)
			if err == nil {
				d.Close()
			}
			third <- err
		}()
		synctest.Wait()
		for range 20 {
			if _, err := c.SendMessage(t.Context(), Outgoing{ID: "m1", Room: "r1", Text: "x"}); err != nil {
				t.Fatal(err)
			}
		}
		if n := b.count(); n != transfers+20 {
			t.Errorf("%d requests: the third file didn't wait", n)
		}
		close(release)
		for _, d := range open {
			if _, err := io.Copy(io.Discard, d); err != nil {
				t.Error(err)
			}
			d.Close()
		}
		if err := <-third; err != nil {
			t.Error(err)
		}
	})
}
