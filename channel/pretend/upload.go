package pretend

import (
	"encoding/json"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"path"
	"strings"
	"time"
)

// An upload is a file in the server's store. The server's lock guards it; its
// content never changes.
type upload struct {
	File
	room      *room
	by        *user
	content   []byte
	expires   time.Time // of media nobody confirmed; zero: stays
	confirmed bool
}

// mediaLife is how long rooms.media keeps what nobody confirms.
const mediaLife = 24 * time.Hour

// SayFile posts a file of u's in r, with text as its caption.
func (s *Server) SayFile(u User, r Room, name, kind string, content []byte, text string, opts ...SayOptions) Message {
	var o SayOptions
	if len(opts) > 0 {
		o = opts[0]
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	by, in := s.userLocked(u), s.roomLocked(r)
	f := s.keepLocked(in, by, name, kind, content)
	return *s.fileMessageLocked(f, text, "", o)
}

func (s *Server) keepLocked(r *room, by *user, name, kind string, content []byte) *upload {
	f := &upload{
		File: File{ID: newID(), Name: name, Type: kind, Size: len(content)},
		room: r, by: by, content: content,
	}
	s.uploads[f.ID] = f
	return f
}

// fileMessageLocked posts the message that shows a file.
func (s *Server) fileMessageLocked(f *upload, text, description string, o SayOptions) *Message {
	link := f.Path()
	card := doc{{"ts", s.now()}, {"title", f.Name}, {"title_link", link}, {"title_link_download", true}}
	card = card.text("description", description)
	switch {
	case strings.HasPrefix(f.Type, "image/"):
		card = append(card, field{"image_url", link}, field{"image_type", f.Type}, field{"image_size", f.Size})
	case strings.HasPrefix(f.Type, "audio/"):
		card = append(card, field{"audio_url", link}, field{"audio_type", f.Type}, field{"audio_size", f.Size})
	case strings.HasPrefix(f.Type, "video/"):
		card = append(card, field{"video_url", link}, field{"video_type", f.Type}, field{"video_size", f.Size})
	}
	card = card.with("type", "file")
	f.confirmed, f.expires = true, time.Time{}
	m := s.draftFor(f.by, text, o)
	m.RoomID, m.Files = f.room.id, []File{f.File}
	m.Attachments = append(m.Attachments, json.RawMessage(encode(nil, card, overREST)))
	s.storeLocked(f.room, m, !o.Quiet)
	return m
}

// readUpload reads a multipart form with one file; it may take long, so no
// lock is held.
func (c *call) readUpload() *refusal {
	mr, err := c.r.MultipartReader()
	if err != nil {
		return bad("invalid-params", "must be multipart/form-data")
	}
	limit := int64(104857600)
	c.s.mu.Lock()
	limit = int64(c.s.intSetting("FileUpload_MaxFileSize", int(limit)))
	c.s.mu.Unlock()
	c.form = &uploadForm{fields: map[string]string{}}
	for {
		p, err := mr.NextPart()
		if err == io.EOF {
			break
		}
		if err != nil {
			return bad("invalid-params", "the form ends early")
		}
		if no := c.form.add(p, limit); no != nil {
			return no
		}
	}
	if c.form.name == "" {
		return bad("invalid-field", "File required")
	}
	return nil
}

// uploadForm is a multipart form with its one file.
type uploadForm struct {
	fields     map[string]string
	name, kind string
	content    []byte
}

func (f *uploadForm) add(p *multipart.Part, limit int64) *refusal {
	if p.FileName() == "" {
		b, err := io.ReadAll(io.LimitReader(p, 1<<20))
		if err != nil {
			return bad("invalid-params", "the form ends early")
		}
		f.fields[p.FormName()] = string(b)
		return nil
	}
	if p.FormName() != "file" || f.name != "" {
		return bad("invalid-field", "invalid-field")
	}
	b, err := io.ReadAll(io.LimitReader(p, limit+1))
	if err != nil {
		return bad("invalid-params", "the form ends early")
	}
	if int64(len(b)) > limit {
		return bad("error-file-too-large", "File exceeds allowed size")
	}
	f.name, f.content, f.kind = path.Base(p.FileName()), b, p.Header.Get("Content-Type")
	if f.kind == "" {
		f.kind = orText(mime.TypeByExtension(path.Ext(f.name)), "application/octet-stream")
	}
	return nil
}

// uploadRoom is the room in the path of rooms.media, rooms.mediaConfirm and
// rooms.upload.
func (c *call) uploadRoom() (*room, *refusal) {
	if len(c.args) == 0 {
		return nil, errNoRoom
	}
	r := c.s.rooms[c.args[0]]
	if r == nil || !c.s.canAccess(c.user, r) {
		return nil, &refusal{status: http.StatusForbidden, text: "forbidden"}
	}
	return r, nil
}

// media stores a file and shows it to nobody.
func (c *call) media() (doc, *refusal) {
	r, no := c.uploadRoom()
	if no != nil {
		return nil, no
	}
	f := c.s.keepLocked(r, c.user, c.form.name, c.form.kind, c.form.content)
	if c.s.v.uploadExpires {
		f.expires = c.s.now().Add(mediaLife)
	}
	return doc{{"file", doc{{"_id", f.ID}, {"url", f.Path()}}}}, nil
}

// mediaConfirm posts the message. It is not idempotent: a second confirmation
// posts a second message (RC#41886).
func (c *call) mediaConfirm() (doc, *refusal) {
	r, no := c.uploadRoom()
	if no != nil {
		return nil, no
	}
	var b struct {
		Msg         string          `json:"msg"`
		Thread      string          `json:"tmid"`
		Description string          `json:"description"`
		FileName    string          `json:"fileName"`
		Custom      json.RawMessage `json:"customFields"`
		Content     json.RawMessage `json:"content"`
		Groupable   *bool           `json:"groupable"`
		T           string          `json:"t"`
	}
	if no := c.into(&b); no != nil {
		return nil, no
	}
	var f *upload
	if len(c.args) == 2 {
		f = c.s.uploads[c.args[1]]
	}
	if f == nil || f.room != r || f.by != c.user || (!f.expires.IsZero() && c.s.now().After(f.expires)) {
		return nil, errNoSuchFile
	}
	if no := c.s.mayPost(c.user, r, b.Msg); no != nil {
		return nil, no
	}
	if b.FileName != "" {
		f.Name = b.FileName
	}
	m := c.s.fileMessageLocked(f, b.Msg, b.Description, SayOptions{Thread: b.Thread})
	return doc{{"message", m.doc(c.s.v)}}, nil
}

// uploadOld is rooms.upload: store and post in one.
func (c *call) uploadOld() (doc, *refusal) {
	r, no := c.uploadRoom()
	if no != nil {
		return nil, no
	}
	x := c.form.fields
	if no := c.s.mayPost(c.user, r, x["msg"]); no != nil {
		return nil, no
	}
	f := c.s.keepLocked(r, c.user, c.form.name, c.form.kind, c.form.content)
	m := c.s.fileMessageLocked(f, x["msg"], x["description"], SayOptions{Thread: x["tmid"]})
	return doc{{"message", m.doc(c.s.v)}}, nil
}

// serveFile answers /file-upload/<id>/<name>: only to somebody who is logged
// in and may read the room, by headers, cookies or query.
func (s *Server) serveFile(w http.ResponseWriter, r *http.Request, p string) {
	id, token := r.Header.Get("X-User-Id"), r.Header.Get("X-Auth-Token")
	if token == "" {
		id, token = cookie(r, "rc_uid"), cookie(r, "rc_token")
	}
	if token == "" {
		id, token = r.URL.Query().Get("rc_uid"), r.URL.Query().Get("rc_token")
	}
	u, _ := s.whoIs(id, token)
	fid, _, _ := strings.Cut(p, "/")
	s.mu.Lock()
	f := s.uploads[fid]
	may := f != nil && s.canAccess(u, f.room)
	var file File
	var content []byte
	if f != nil {
		file, content = f.File, f.content
	}
	s.count.add(u, "GET file-upload")
	s.changedLocked()
	s.mu.Unlock()
	switch {
	case u == nil:
		w.WriteHeader(http.StatusForbidden)
	case f == nil:
		http.NotFound(w, r)
	case !may:
		w.WriteHeader(http.StatusForbidden)
	default:
		s.sendFile(w, r, file, content, u)
	}
}

func cookie(r *http.Request, name string) string {
	c, err := r.Cookie(name)
	if err != nil {
		return ""
	}
	return c.Value
}

func (s *Server) sendFile(w http.ResponseWriter, r *http.Request, f File, content []byte, u *user) {
	if x, ok := s.faults.find(RedirectFile, u, ""); ok {
		http.Redirect(w, r, x.URL, http.StatusFound)
		return
	}
	h := w.Header()
	h.Set("Content-Type", f.Type)
	h.Set("Content-Disposition", "attachment; filename*=UTF-8''"+pathEscape(f.Name))
	h.Set("Content-Security-Policy", "default-src 'none'")
	w.Write(content)
}
