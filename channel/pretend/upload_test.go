package pretend

import (
	"bytes"
	"io"
	"mime/multipart"
	"net/http"
	"strings"
	"testing"
	"time"
)

// upload posts a multipart form with one file.
func (w *world) upload(u User, route, name string, content []byte, fields map[string]string) answer {
	w.t.Helper()
	var b bytes.Buffer
	form := multipart.NewWriter(&b)
	for k, v := range fields {
		form.WriteField(k, v)
	}
	if name != "" {
		f, err := form.CreateFormFile("file", name)
		if err != nil {
			w.t.Fatal(err)
		}
		f.Write(content)
	}
	form.Close()
	r, err := http.NewRequest("POST", w.url+"/api/v1/"+route, &b)
	if err != nil {
		w.t.Fatal(err)
	}
	r.Header.Set("Content-Type", form.FormDataContentType())
	r.Header.Set("X-User-Id", u.ID)
	r.Header.Set("X-Auth-Token", u.Token)
	res, err := w.http.Do(r)
	if err != nil {
		w.t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		w.t.Fatal(err)
	}
	return answer{res.StatusCode, res.Header, body}
}

// TestMedia: stored, then confirmed; a second confirmation is a second message.
func TestMedia(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		a := w.upload(w.bot, "rooms.media/"+w.lab.ID, "report.txt", []byte("content"), nil)
		if w.Version() == V34 {
			if kind := a.header.Get("Content-Type"); a.status != 200 || !strings.HasPrefix(kind, "text/html") {
				t.Errorf("3.4 knows no rooms.media: %d %s", a.status, kind)
			}
			return
		}
		id, _ := a.get("file._id").(string)
		if a.status != 200 || a.get("file.url") != "/file-upload/"+id+"/report.txt" || len(w.Messages(w.lab)) != 0 {
			t.Fatalf("%d %s", a.status, a.body)
		}
		confirm := "rooms.mediaConfirm/" + w.lab.ID + "/" + id
		for n := 1; n <= 2; n++ {
			a := w.post(w.bot, confirm, object{"msg": "here it is", "description": "the report"})
			if a.status != 200 || a.get("message.file._id") != id || a.get("message.attachments.0.description") != "the report" || len(w.Messages(w.lab)) != n {
				t.Errorf("%d %s", a.status, a.body)
			}
		}
		w.Break(Fault{Kind: LoseReply, Route: "rooms.mediaConfirm", Count: 1})
		if _, err := w.try(w.bot, "POST", "/api/v1/"+confirm, object{}); err == nil || len(w.Messages(w.lab)) != 3 {
			t.Errorf("the reply should be lost, the message there: %v", err)
		}
		if a := w.post(w.alice, confirm, object{}); a.status != 400 {
			t.Errorf("another's file: %d %s", a.status, a.body)
		}
		if a := w.post(w.bot, "rooms.mediaConfirm/"+w.lab.ID+"/none", object{}); a.status != 400 || a.get("errorType") != "invalid-file" {
			t.Errorf("no file: %d %s", a.status, a.body)
		}
	})
}

func TestMediaExpires(t *testing.T) {
	bubble(t, Options{NoLimits: true}, func(t *testing.T, w *world, _ func() *socket) {
		a := w.upload(w.bot, "rooms.media/"+w.lab.ID, "x.txt", []byte("x"), nil)
		time.Sleep(25 * time.Hour)
		if a := w.post(w.bot, "rooms.mediaConfirm/"+w.lab.ID+"/"+a.get("file._id").(string), object{}); a.status != 400 {
			t.Errorf("a day later: %d", a.status)
		}
	})
}

// TestOldUpload is rooms.upload, which 8.0 removed.
func TestOldUpload(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		a := w.upload(w.bot, "rooms.upload/"+w.lab.ID, "cat.png", []byte("png"), map[string]string{"msg": "@alice a cat", "description": "sleeping"})
		if w.Version() == V9 {
			if a.status != 404 {
				t.Errorf("%d %s", a.status, a.body)
			}
			return
		}
		if a.status != 200 || a.get("message.msg") != "@alice a cat" || a.get("message.mentions.0.username") != "alice" || a.get("message.file.name") != "cat.png" {
			t.Errorf("%d %s", a.status, a.body)
		}
		if new := a.get("message.files") != nil; new == (w.Version() == V34) {
			t.Errorf("files: %s", a.body)
		}
	})
}

func TestUploadMistakes(t *testing.T) {
	w := newWorld(t, Options{NoLimits: true})
	secret := w.AddGroup("secret", w.alice)
	w.Set("FileUpload_MaxFileSize", 10)
	if a := w.upload(w.bot, "rooms.media/"+secret.ID, "x", []byte("x"), nil); a.status != 403 {
		t.Errorf("a room one isn't in: %d", a.status)
	}
	if a := w.upload(w.bot, "rooms.media/"+w.lab.ID, "", nil, nil); a.status != 400 {
		t.Errorf("no file: %d", a.status)
	}
	if a := w.upload(w.bot, "rooms.media/"+w.lab.ID, "x", []byte("12345678901"), nil); a.status != 400 || a.get("errorType") != "error-file-too-large" {
		t.Errorf("too large: %d %s", a.status, a.body)
	}
	if a := w.post(w.bot, "rooms.media/"+w.lab.ID, object{}); a.status != 400 {
		t.Errorf("no form: %d", a.status)
	}
}

// TestFileUpload: a file is given to who is logged in and may read its room,
// by headers, cookies or query.
func TestFileUpload(t *testing.T) {
	w := newWorld(t, Options{})
	group := w.AddGroup("group", w.alice, w.bot)
	carol := w.AddUser("carol", UserOptions{})
	m := w.SayFile(w.alice, group, "a b.txt", "text/plain", []byte("content"), "@hermes read this")
	if len(m.Files) != 1 || m.Mentions[0].Username != "hermes" || !strings.Contains(string(m.Attachments[0]), `"title_link":"/file-upload/`) {
		t.Fatalf("%+v", m)
	}
	fetch := func(path string, prepare func(*http.Request)) (int, string) {
		r, err := http.NewRequest("GET", w.url+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		prepare(r)
		res, err := w.http.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		b, _ := io.ReadAll(res.Body)
		return res.StatusCode, string(b) + res.Header.Get("Location")
	}
	path := m.Files[0].Path()
	headers := func(u User) func(*http.Request) {
		return func(r *http.Request) { r.Header.Set("X-User-Id", u.ID); r.Header.Set("X-Auth-Token", u.Token) }
	}
	cookies := func(r *http.Request) {
		r.AddCookie(&http.Cookie{Name: "rc_uid", Value: w.bot.ID})
		r.AddCookie(&http.Cookie{Name: "rc_token", Value: w.bot.Token})
	}
	nothing := func(*http.Request) {}
	for _, c := range []struct {
		name, path string
		prepare    func(*http.Request)
		status     int
	}{
		{"headers", path, headers(w.bot), 200},
		{"cookies", path, cookies, 200},
		{"query", path + "?rc_uid=" + w.bot.ID + "&rc_token=" + w.bot.Token, nothing, 200},
		{"nothing", path, nothing, 403},
		{"not a member", path, headers(carol), 403},
		{"no such file", "/file-upload/none/x", headers(w.bot), 404},
	} {
		status, body := fetch(c.path, c.prepare)
		if status != c.status || (status == 200 && body != "content") {
			t.Errorf("%s: %d %q", c.name, status, body)
		}
	}
	w.Break(Fault{Kind: RedirectFile, URL: "https://store.invalid/presigned?x=1", Count: 1})
	if status, where := fetch(path, headers(w.bot)); status != 302 || !strings.HasSuffix(where, "https://store.invalid/presigned?x=1") {
		t.Errorf("redirected: %d %q", status, where)
	}
}
