package channel

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"rcsupervisor/channel/approval"
	"rcsupervisor/channel/chat"
	"rcsupervisor/channel/conversation"
	"rcsupervisor/channel/gate"
	"rcsupervisor/channel/post"
	"rcsupervisor/channel/rest"
	"rcsupervisor/dedup"
	"rcsupervisor/internal/atomicfile"
	"rcsupervisor/profile"
)

// requestsName is the file, in a profile's state directory, of the requests that
// are open and of the numbers that were given within a day.
const requestsName = "requests.json"

// maxRequests bounds that file: a request is at most twelve messages long, and
// there are at most a thousand numbers.
const maxRequests = 16 << 20

func stateDir(home string) string { return filepath.Join(home, "rocketchat", "state") }

// openDesk puts a desk where agents' requests are decided. What an earlier run
// left open is refused, and its messages say so once there is a connection.
func (l *life) openDesk() *approval.Desk {
	folder := stateDir(l.start.Home)
	var recorded []byte
	root, err := os.OpenRoot(folder)
	if err == nil {
		recorded, err = atomicfile.Read(root, requestsName, maxRequests)
		root.Close()
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		l.log.Warn("the record of open requests can't be read; messages of an earlier run keep their numbers", "err", err)
	}
	return approval.Open(approval.Config{
		Post: l.postAt, Attach: l.attachAt, Edit: l.editAt, ID: l.idAt, Log: l.log,
		Save: func(record []byte) error {
			return atomicfile.ReplacePath(filepath.Join(folder, requestsName), record, 0o600, nil)
		},
		Server: func(ours time.Time) time.Time {
			offset, _ := l.client.Load().ClockOffset()
			return ours.Add(offset)
		},
	}, recorded)
}

// A never is why something can't be done however often it is tried.
type never struct{ error }

// insist tries until it is done, can never be, or ctx ends.
func (l *life) insist(ctx context.Context, try func() error) error {
	for n := 0; ; n++ {
		if err := l.owed.Await(ctx); err != nil {
			return err
		}
		err := try()
		if _, hopeless := errors.AsType[never](err); err == nil || hopeless || post.Doomed(err, n+1) != "" {
			return err
		}
		if !pause(ctx, max(askAgain(n), l.asked(err))) {
			return ctx.Err()
		}
	}
}

func partAt(p approval.Place) dedup.Part {
	return dedup.Part{
		Question: dedup.ID{Message: p.Question}, Step: p.Step, Index: p.Index, Room: p.Room, Thread: p.Thread, Owed: time.Now(),
	}
}

func (l *life) idAt(p approval.Place) string {
	return post.ID(l.poster.Key, p.Question, p.Step, p.Index)
}

// postAt says a text at a place, as often as it takes, and returns the server's
// time of it. The same place and text give the same message.
func (l *life) postAt(ctx context.Context, p approval.Place, text string) (sent time.Time, err error) {
	part := partAt(p)
	part.Text = text
	err = l.insist(ctx, func() error {
		m, outcome, err := l.poster.Say(ctx, part)
		switch {
		case err != nil:
			return err
		case !outcome.Posted():
			return never{fmt.Errorf("it can't be posted: %s", outcome.Reason)}
		case m.Sent.IsZero():
			sent = l.serverNow()
		default:
			sent = m.Sent.Time
		}
		return nil
	})
	return sent, err
}

// attachAt sends a file at a place, as often as it takes. It is of use for as
// long as its request is open, so that nothing of it outlives this run.
func (l *life) attachAt(ctx context.Context, p approval.Place, f approval.File) error {
	part := partAt(p)
	kept, problem := l.files.put(folderOf(p.Question)+"-"+p.Step, f.Name, strings.NewReader(f.Content), int64(len(f.Content)))
	if problem != "" {
		return errors.New("the file can't be kept until it is sent")
	}
	defer l.files.sent(kept)
	part.File = kept
	sender := &post.Files{
		Poster: l.poster, Server: wire{l}, Open: l.files.open, Quiet: true,
		Uploaded: func(context.Context, dedup.ID, int, string) error { return nil },
	}
	return l.insist(ctx, func() error {
		outcome, err := sender.Post(ctx, part)
		if err == nil && !outcome.Posted() {
			return never{fmt.Errorf("the file can't be sent: %s", outcome.Reason)}
		}
		return err
	})
}

// editAt replaces the text at a place, as often as it takes. One that is not
// there is no error.
func (l *life) editAt(ctx context.Context, p approval.Place, text string) error {
	return l.insist(ctx, func() error {
		err := l.client.Load().Update(ctx, p.Room, l.idAt(p), text)
		switch {
		case errors.Is(err, rest.ErrNotFound), errors.Is(err, rest.ErrRoomGone):
			return nil
		case errors.Is(err, rest.ErrForbidden), errors.Is(err, rest.ErrReadOnly), errors.Is(err, rest.ErrTooLong):
			return never{err}
		}
		return err
	})
}

// answered takes what somebody decided, and says so where it does not count. A
// decision that does shows in the request itself.
func (l *life) answered(j judged) {
	by := j.message.Sender.Username
	if by == "" {
		by = j.message.Sender.ID
	}
	say, held := l.desk.Answer(j.verdict.Answer, by, func() { l.intake.again(j.heard) })
	switch {
	case held: // until it is known whether it was said after the request
	case say != "":
		l.say(j, say)
	default:
		l.say(j)
	}
}

// Bounds of finding out who is in a room.
const (
	membersTime = 10 * time.Second
	membersRead = 1000
)

// nobodyDecides reports whether it is known that no one is in the room who may
// decide what the agent asks. What can't be found out leaves it to the request's
// own time.
func (l *life) nobodyDecides(ctx context.Context, r *rules, item conversation.Item, plain bool) bool {
	switch {
	case plain, r.access.Approvals == "asker", r.policy.Role(item.Asker) == profile.Owner:
		return false
	case item.Kind == string(gate.KindDirect):
		return true
	}
	ctx, cancel := context.WithTimeout(ctx, membersTime)
	defer cancel()
	ids, all, err := l.members(ctx, item)
	if err != nil {
		l.log.Debug("who is in a room could not be asked", "room", item.Key.Room, "err", err)
		return false
	}
	return all && !slices.ContainsFunc(ids, func(id string) bool { return r.policy.Role(id) == profile.Owner })
}

// members returns who is in a question's room, and whether that is all.
func (l *life) members(ctx context.Context, item conversation.Item) (ids []string, all bool, err error) {
	kind := historyKind(item)
	if kind != chat.Direct {
		return l.client.Load().Members(ctx, kind, item.Key.Room, membersRead)
	}
	room, err := l.client.Load().Room(ctx, item.Key.Room)
	return room.UserIDs, len(room.UserIDs) > 0, err
}
