package post

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"mime"
	"os"
	"path"
	"sync"
	"time"

	"rcsupervisor/channel/chat"
	"rcsupervisor/channel/rest"
	"rcsupervisor/dedup"
)

// A FileServer is what sending files needs of the REST wire.
type FileServer interface {
	Upload(ctx context.Context, room string, f rest.File) (fileID string, err error)
	Confirm(ctx context.Context, room, fileID string, o rest.ConfirmOptions) (chat.Message, error)
	OldUpload(ctx context.Context, room string, f rest.File, o rest.ConfirmOptions) (chat.Message, error)
	Room(ctx context.Context, id string) (chat.Room, error)
	Backward(ctx context.Context, q rest.HistoryQuery) iter.Seq2[chat.Message, error]
}

var _ FileServer = (*rest.Client)(nil)

// Files says parts that are files, and hands those that are text to a Poster.
// It may be used from several goroutines, though not for the same part.
//
// A file goes up in two steps. Its id is stored before the second, which is the
// one that shows it: after a lost reply the room's history says whether there is
// a message with that file, and only if there is none is it asked for again.
// Servers before 6.10 have one step alone and nothing to look for; after a lost
// reply of theirs the file is not sent again, and the room is told.
type Files struct {
	Poster *Poster
	Server FileServer
	Open   func(file string) (*os.File, error)
	// Uploaded stores the server's id of a part's file.
	Uploaded func(ctx context.Context, question dedup.ID, index int, fileID string) error
	// Quiet leaves it to the caller to say in the room what became of a file.
	Quiet bool

	mu   sync.Mutex
	sent map[string]sending // by the part's message id; of parts that are not settled
}

// A sending is how far a file has come.
type sending struct {
	id    string // the server's, "" before it is there
	asked bool   // it may have been shown
}

// oneStep is stored in an id's place while a file is sent in one step.
const oneStep = "rooms.upload"

// What a room is told of a file that it does not get, or may not have got.
const (
	sayFileLost    = "(A file belongs to this answer. I can't tell whether it arrived, and did not send it twice.)"
	sayFileRefused = "(A file belongs to this answer, but the server did not take it.)"
	sayFileGone    = "(A file belongs to this answer, but it was gone before I could send it.)"
)

// Unsure is the reason of a file that may or may not be in its room.
const Unsure = "unsure"

// Post says one part, as [Poster.Post] does.
func (f *Files) Post(ctx context.Context, part dedup.Part) (dedup.Outcome, error) {
	if part.File == "" {
		return f.Poster.Post(ctx, part)
	}
	key := ID(f.Poster.Key, part.Question.Message, part.Step, part.Index)
	outcome, err := f.post(ctx, part, key)
	if err == nil {
		f.note(key, nil)
	}
	return outcome, err
}

func (f *Files) post(ctx context.Context, part dedup.Part, key string) (dedup.Outcome, error) {
	s := f.look(part, key)
	if s.id == oneStep {
		return f.tell(ctx, part, sayFileLost, Unsure)
	}
	if s.asked {
		m, found, err := f.search(ctx, part, s.id)
		if err != nil {
			return dedup.Outcome{}, fmt.Errorf("look for a file whose reply was lost: %w", err)
		}
		if found {
			return f.placed(ctx, part, m)
		}
	}
	thread, err := f.Poster.thread(ctx, part)
	if err != nil {
		return dedup.Outcome{}, err
	}
	if s.id == "" {
		id, err := f.upload(ctx, part)
		switch {
		case errors.Is(err, rest.ErrNoRoute):
			return f.uploadOld(ctx, part, thread, key)
		case errors.Is(err, errGone):
			return f.tell(ctx, part, sayFileGone, Refused)
		case refuses(err):
			return f.tell(ctx, part, sayFileRefused, Refused)
		case err != nil:
			return dedup.Outcome{}, err
		}
		if err := f.Uploaded(ctx, part.Question, part.Index, id); err != nil {
			return dedup.Outcome{}, err
		}
		s.id = id
	}
	f.note(key, &sending{s.id, true})
	m, err := f.Server.Confirm(ctx, part.Room, s.id, rest.ConfirmOptions{Thread: thread})
	switch {
	case err == nil:
		return f.placed(ctx, part, m)
	case errors.Is(err, rest.ErrNotFound), errors.Is(err, rest.ErrInvalid):
		f.note(key, &sending{}) // the server has dropped it
	case hopeless(err) != "":
		return dedup.Outcome{Reason: hopeless(err)}, nil
	}
	return dedup.Outcome{}, err
}

// errGone is a file that can't be read any more.
var errGone = errors.New("the file can't be read")

// upload brings the file to the server, where nobody sees it yet.
func (f *Files) upload(ctx context.Context, part dedup.Part) (string, error) {
	file, content, err := f.content(part)
	if err != nil {
		return "", err
	}
	defer content.Close()
	return f.Server.Upload(ctx, part.Room, file)
}

func (f *Files) content(part dedup.Part) (rest.File, *os.File, error) {
	content, err := f.Open(part.File)
	if err != nil {
		return rest.File{}, nil, fmt.Errorf("%w: %w", errGone, err)
	}
	info, err := content.Stat()
	if err != nil {
		content.Close()
		return rest.File{}, nil, fmt.Errorf("%w: %w", errGone, err)
	}
	name := path.Base(part.File)
	return rest.File{Name: name, Type: mime.TypeByExtension(path.Ext(name)), Size: info.Size(), Content: content}, content, nil
}

// uploadOld sends the file in one step. That it was tried is stored before.
func (f *Files) uploadOld(ctx context.Context, part dedup.Part, thread, key string) (dedup.Outcome, error) {
	file, content, err := f.content(part)
	if err != nil {
		return f.tell(ctx, part, sayFileGone, Refused)
	}
	defer content.Close()
	if err := f.Uploaded(ctx, part.Question, part.Index, oneStep); err != nil {
		return dedup.Outcome{}, err
	}
	f.note(key, &sending{id: oneStep})
	m, err := f.Server.OldUpload(ctx, part.Room, file, rest.ConfirmOptions{Thread: thread})
	switch {
	case err == nil:
		return f.placed(ctx, part, m)
	case !certain(err):
		return dedup.Outcome{}, err // and is told of next
	case refuses(err), errors.Is(err, rest.ErrNoRoute):
		return f.tell(ctx, part, sayFileRefused, Refused)
	}
	f.note(key, &sending{}) // it was not sent
	return dedup.Outcome{}, err
}

// certain reports whether a failure says that nothing was sent.
func certain(err error) bool {
	e, ok := errors.AsType[*rest.Error](err)
	return ok && !e.Uncertain
}

// refuses reports whether the server won't take the file, however often it is
// asked.
func refuses(err error) bool {
	if hopeless(err) != "" {
		return true
	}
	e, ok := errors.AsType[*rest.Error](err)
	return ok && (e.Kind == rest.ErrTooLarge || e.Kind == rest.ErrInvalid)
}

// tell says in the file's place what became of it.
func (f *Files) tell(ctx context.Context, part dedup.Part, text, reason string) (dedup.Outcome, error) {
	if f.Quiet {
		return dedup.Outcome{Reason: reason}, nil
	}
	part.Step, part.Text, part.File = part.Step+"-file", text, ""
	outcome, err := f.Poster.Post(ctx, part)
	if err != nil {
		return dedup.Outcome{}, err
	}
	return dedup.Outcome{MessageID: outcome.MessageID, Reason: reason}, nil
}

// Bounds of looking for a message: from a while before the file was owed, by a
// clock that may be another, and back so many messages.
const (
	searchBefore = 30 * time.Minute
	searchMost   = 1000
)

// search looks for our message with a file.
func (f *Files) search(ctx context.Context, part dedup.Part, fileID string) (found chat.Message, ok bool, err error) {
	room, err := f.Server.Room(ctx, part.Room)
	if err != nil {
		return found, false, err
	}
	n := 0
	for m, err := range f.Server.Backward(ctx, rest.HistoryQuery{Kind: room.Kind, Room: part.Room, Oldest: part.Owed.Add(-searchBefore)}) {
		if err != nil {
			return found, false, err
		}
		if m.Sender.ID == f.Poster.Self && shows(&m, fileID) {
			return m, true, nil
		}
		if n++; n >= searchMost {
			break
		}
	}
	return found, false, nil
}

func shows(m *chat.Message, fileID string) bool {
	for _, file := range m.Files {
		if file.ID == fileID {
			return true
		}
	}
	return m.File.ID == fileID
}

func (f *Files) placed(ctx context.Context, part dedup.Part, m chat.Message) (dedup.Outcome, error) {
	_, outcome, err := f.Poster.placed(ctx, part, m)
	return outcome, err
}

// look returns how far a part has come. What an earlier run stored may have
// been shown.
func (f *Files) look(part dedup.Part, key string) sending {
	f.mu.Lock()
	defer f.mu.Unlock()
	if s, known := f.sent[key]; known {
		return s
	}
	return sending{id: part.Upload, asked: part.Upload != ""}
}

// note remembers how far a part has come, nil to forget it.
func (f *Files) note(key string, s *sending) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if s == nil {
		delete(f.sent, key)
		return
	}
	if f.sent == nil {
		f.sent = make(map[string]sending)
	}
	f.sent[key] = *s
}
