package channel

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
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
		Post: l.postAt, Edit: l.editAt, Log: l.log,
		Save: func(record []byte) error {
			return atomicfile.ReplacePath(filepath.Join(folder, requestsName), record, 0o600, nil)
		},
		Server: func(ours time.Time) time.Time {
			offset, _ := l.client.Load().ClockOffset()
			return ours.Add(offset)
		},
	}, recorded)
}

// postAt says a text at a place, as often as it takes, and returns the server's
// time of it. The same place and text give the same message.
func (l *life) postAt(ctx context.Context, p approval.Place, text string) (time.Time, error) {
	part := dedup.Part{
		Question: dedup.ID{Message: p.Question}, Step: p.Step, Index: p.Index, Room: p.Room, Thread: p.Thread, Text: text,
	}
	for try := 0; ; try++ {
		if err := l.owed.Await(ctx); err != nil {
			return time.Time{}, err
		}
		m, outcome, err := l.poster.Say(ctx, part)
		switch {
		case err == nil && outcome.Posted() && m.Sent.IsZero():
			return l.serverNow(), nil
		case err == nil && outcome.Posted():
			return m.Sent.Time, nil
		case err == nil:
			return time.Time{}, fmt.Errorf("it can't be posted: %s", outcome.Reason)
		case post.Doomed(err, try+1) != "":
			return time.Time{}, err
		}
		if !pause(ctx, max(askAgain(try), l.asked(err))) {
			return time.Time{}, ctx.Err()
		}
	}
}

// editAt replaces the text at a place, as often as it takes. One that is not
// there is no error.
func (l *life) editAt(ctx context.Context, p approval.Place, text string) error {
	id := post.ID(l.poster.Key, p.Question, p.Step, p.Index)
	for try := 0; ; try++ {
		if err := l.owed.Await(ctx); err != nil {
			return err
		}
		err := l.client.Load().Update(ctx, p.Room, id, text)
		switch {
		case err == nil, errors.Is(err, rest.ErrNotFound), errors.Is(err, rest.ErrRoomGone):
			return nil
		case errors.Is(err, rest.ErrForbidden), errors.Is(err, rest.ErrReadOnly), errors.Is(err, rest.ErrTooLong),
			post.Doomed(err, try+1) != "":
			return err
		}
		if !pause(ctx, max(askAgain(try), l.asked(err))) {
			return ctx.Err()
		}
	}
}

// answered takes what somebody decided, and says so where it does not count. A
// decision that does shows in the request itself.
func (l *life) answered(j judged) {
	by := j.message.Sender.Username
	if by == "" {
		by = j.message.Sender.ID
	}
	if say := l.desk.Answer(j.verdict.Answer, by); say != "" {
		l.say(j, say)
		return
	}
	l.say(j)
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
