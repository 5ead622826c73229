package rest

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// A download that its reader forgot gives its place back.
func TestAForgottenDownloadEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _, _, stop := bubble(t, says(200, "text/plain", "abc"), nil)
		defer stop()
		for range 3 * transfers {
			if _, err := c.Download(t.Context(), "/file-upload/f1/a.txt", 100); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// R88 (RC#9589): a download without credentials is 403 on a server that
// protects its files, so they go along, in the two headers.
func TestDownload(t *testing.T) {
	b := secure(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Auth-Token") != testToken || r.Header.Get("X-User-Id") != testUser || r.URL.RawQuery != "" {
			w.WriteHeader(403)
			return
		}
		say(w, 200, "text/plain; charset=utf-8", "content of "+r.URL.Path)
	})
	for link, want := range map[string]string{
		"/file-upload/f1/a.txt":                   "/file-upload/f1/a.txt",
		"/file-upload/f1/a.txt?download":          "/file-upload/f1/a.txt",
		"/file-upload/f1/a%20b.txt":               "/file-upload/f1/a b.txt",
		"/file-upload/f1/%C3%9Cbung%2F1.txt":      "/file-upload/f1/Übung/1.txt",
		"/file-upload/f1/a b.txt":                 "/file-upload/f1/a b.txt",
		b.url + "/file-upload/f1/a.txt":           "/file-upload/f1/a.txt",
		b.url + "/file-upload/f1/a.txt#x?rc_uid=": "/file-upload/f1/a.txt",
	} {
		d, err := b.client(t, nil).Download(t.Context(), link, 1000)
		if err != nil {
			t.Errorf("%s: %v", link, err)
			continue
		}
		got, err := io.ReadAll(d)
		if err != nil || string(got) != "content of "+want || d.Type != "text/plain" || d.Size != int64(len(got)) {
			t.Errorf("%s: %q %v, %+v", link, got, err, d)
		}
		for range 2 {
			if err := d.Close(); err != nil {
				t.Errorf("close: %v", err)
			}
		}
		if _, err := d.Read(make([]byte, 1)); err == nil {
			t.Error("read after close")
		}
	}
}

// Only the same server's /file-upload/ is asked for, whoever wrote the link.
func TestDownloadOfOtherThings(t *testing.T) {
	other := secure(t, succeeds)
	b := secure(t, succeeds)
	for _, base := range []string{"", "/chat"} {
		c := b.client(t, func(cfg *Config) { cfg.Server += base })
		for _, link := range []string{
			"", "/", "a.txt", "file-upload/f1/a.txt", "/api/v1/me", "/file-upload", "/file-upload/", "/file-upload/f1", "/file-upload/f1/",
			"/file-upload//a.txt", "/file-upload/../api/v1/me", "/file-upload/f1/../../api/v1/me", "/file-upload/%2e%2e/me",
			"/file-upload/f1/..", "/file-upload/f1/%2e%2e", "/file-upload/f1/a/b", "/file-upload/f1%2f..%2f../me", "/ufs/GridFS/f1/a.txt",
			"/chat/chat/file-upload/f1/a.txt", "/other/file-upload/f1/a.txt", "/chatfile-upload/f1/a.txt",
			other.url + "/file-upload/f1/a.txt", "//evil.example/file-upload/f1/a.txt", "https:///file-upload/f1/a.txt",
			"http" + strings.TrimPrefix(b.url, "https") + "/file-upload/f1/a.txt",
			"https://user:pw@" + strings.TrimPrefix(b.url, "https://") + "/file-upload/f1/a.txt",
			"https://127.0.0.1.evil.example/file-upload/f1/a.txt", "file:///etc/passwd", "/file-upload/f1/%zz", "\x00",
		} {
			_, err := c.Download(t.Context(), link, 1000)
			mustBe(t, err, ErrInvalid)
		}
	}
	if b.count()+other.count() != 0 {
		t.Errorf("asked %d and %d times", b.count(), other.count())
	}
}

func TestDownloadBehindABasePath(t *testing.T) {
	b := secure(t, says(200, "text/plain", "x"))
	c := b.client(t, func(cfg *Config) { cfg.Server += "/chat" })
	for _, link := range []string{"/file-upload/f1/a.txt", "/chat/file-upload/f1/a.txt", b.url + "/chat/file-upload/f1/a.txt"} {
		d, err := c.Download(t.Context(), link, 10)
		if err != nil {
			t.Fatal(link, err)
		}
		d.Close()
		if p := b.last(t).path; p != "/chat/file-upload/f1/a.txt" {
			t.Error(p)
		}
	}
}

func TestDownloadIsBounded(t *testing.T) {
	chunked := func(n int) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.(http.Flusher).Flush()
			io.WriteString(w, strings.Repeat("x", n))
		}
	}
	for _, c := range []struct {
		name string
		h    http.HandlerFunc
		open bool // Download itself gives no error
		ok   bool
	}{
		{"just fits", says(200, "", strings.Repeat("x", 1000)), true, true},
		{"just fits, length unknown", chunked(1000), true, true},
		{"empty", says(200, "", ""), true, true},
		{"announced over", says(200, "", strings.Repeat("x", 1001)), false, false},
		{"over, length unknown", chunked(1001), true, false},
		{"far over, length unknown", chunked(1 << 20), true, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			d, err := secure(t, c.h).client(t, nil).Download(t.Context(), "/file-upload/f1/a", 1000)
			if (err == nil) != c.open {
				t.Fatal(err)
			}
			if err == nil {
				defer d.Close()
				var got []byte
				got, err = io.ReadAll(d)
				if len(got) > 1000 {
					t.Errorf("%d bytes", len(got))
				}
				if c.ok && err == nil {
					return
				}
				if _, again := d.Read(make([]byte, 10)); again != err {
					t.Errorf("then %v", again)
				}
			}
			mustBe(t, err, ErrTooLarge)
		})
	}
}

func TestDownloadFailures(t *testing.T) {
	for _, c := range []struct {
		name string
		h    http.HandlerFunc
		kind Kind
	}{
		{"403", says(403, "text/html", ""), ErrForbidden},
		{"401", says(401, asJSON, `{"status":"error","message":"You must be logged in to do this."}`), ErrForbidden},
		{"404", says(404, "text/html", ""), ErrNotFound},
		{"410", says(410, "text/html", ""), ErrNotFound},
		{"429", says(429, "text/html", ""), ErrRateLimited},
		{"503", says(503, "text/html", ""), ErrUnavailable},
		{"400", says(400, "text/html", ""), ErrInvalid},
		{"206 unasked", says(206, "text/plain", "x"), ErrInvalid},
		{"204", says(204, "", ""), ErrInvalid},
		{"S3", func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "https://bucket.s3.example/f1?X-Amz-Signature=abc", http.StatusFound)
		}, ErrRedirected},
		{"compressed", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			io.WriteString(w, "\x1f\x8b")
		}, ErrMalformed},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := secure(t, c.h).client(t, nil).Download(t.Context(), "/file-upload/f1/a", 1000)
			e := mustBe(t, err, c.kind)
			showsNothing(t, e, "")
			if strings.Contains(e.Error(), "s3") || errors.Is(e, ErrRefused) {
				t.Error(e)
			}
		})
	}
}

func TestDownloadsThatBreakOff(t *testing.T) {
	begin := func(w http.ResponseWriter) {
		w.Header().Set("Content-Length", "100")
		io.WriteString(w, "abc")
		w.(http.Flusher).Flush()
	}
	for _, c := range []struct {
		name  string
		h     http.HandlerFunc
		after func(*Client, context.CancelFunc)
		want  error
		takes time.Duration
	}{
		{"the server hangs up", func(w http.ResponseWriter, r *http.Request) { begin(w); panic(http.ErrAbortHandler) }, nil, ErrUnavailable, 0},
		{"the server stalls", func(w http.ResponseWriter, r *http.Request) { begin(w); <-r.Context().Done() }, nil, ErrUnavailable, stallTime},
		{
			"the client is closed", func(w http.ResponseWriter, r *http.Request) { begin(w); <-r.Context().Done() },
			func(c *Client, _ context.CancelFunc) { c.Close() }, ErrClosed, 0,
		},
		{
			"the caller gives up", func(w http.ResponseWriter, r *http.Request) { begin(w); <-r.Context().Done() },
			func(_ *Client, cancel context.CancelFunc) { cancel() }, context.Canceled, 0,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				client, _, _, stop := bubble(t, c.h, nil)
				defer stop()
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				d, err := client.Download(ctx, "/file-upload/f1/a", 1000)
				if err != nil {
					t.Fatal(err)
				}
				defer d.Close()
				if n, err := io.ReadFull(d, make([]byte, 3)); n != 3 {
					t.Fatal(n, err)
				}
				if c.after != nil {
					c.after(client, cancel)
				}
				start := time.Now()
				_, err = io.ReadAll(d)
				if !errors.Is(err, c.want) || time.Since(start) != c.takes {
					t.Errorf("%v after %v", err, time.Since(start))
				}
			})
		})
	}
}

// A download that trickles ends too, however lively it is.
func TestATricklingDownload(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _, _, stop := bubble(t, func(w http.ResponseWriter, r *http.Request) {
			for r.Context().Err() == nil {
				io.WriteString(w, "x")
				w.(http.Flusher).Flush()
				time.Sleep(10 * time.Second)
			}
		}, nil)
		defer stop()
		start := time.Now()
		d, err := c.Download(t.Context(), "/file-upload/f1/a", 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		defer d.Close()
		_, err = io.ReadAll(d)
		mustBe(t, err, ErrUnavailable)
		if took := time.Since(start); took != transferTime {
			t.Errorf("after %v", took)
		}
	})
}
