package acp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"rcsupervisor/channel/agent"
)

// maxLive bounds how many sessions a process is left with that nobody uses at
// the moment: some agents run a process for each.
const maxLive = 64

// A session is a conversation as the agent knows it. Whoever holds busy is the
// only one to change id and dir; all else, and every change, is guarded by the
// agent's mu.
type session struct {
	conversation string
	busy         chan struct{} // capacity 1: one question at a time
	id           string        // "" before the first
	dir          string
	conn         *conn // the process that knows it, nil for none
	renew        bool  // begin anew with the next question
	taken        bool  // its id is another conversation's by now
	users        int   // turns that hold busy or wait for it
	used         time.Time
}

// enter returns the session of a conversation, with what is known of it from
// earlier, once no other question is at work in it. leave has to follow.
func (a *Agent) enter(ctx context.Context, conversation string) (*session, error) {
	a.mu.Lock()
	s := a.sessions[conversation]
	if s == nil {
		s = &session{conversation: conversation, busy: make(chan struct{}, 1)}
		var known bool
		s.id, known = a.saved.id(conversation)
		s.taken = known && s.id == ""
		a.sessions[conversation] = s
	}
	s.users++
	a.mu.Unlock()
	select {
	case s.busy <- struct{}{}:
		return s, nil
	case <-ctx.Done():
		a.forgo(s)
		return nil, context.Cause(ctx)
	}
}

func (a *Agent) leave(s *session) {
	<-s.busy
	a.forgo(s)
}

func (a *Agent) forgo(s *session) {
	a.mu.Lock()
	defer a.mu.Unlock()
	s.users--
	s.used = time.Now()
	a.trim()
}

// trim forgets the sessions that nobody uses and no process knows, and of those
// a process knows all but the [maxLive] used last: their ids are in the file.
// The caller holds a.mu.
func (a *Agent) trim() {
	var live []*session
	for name, s := range a.sessions {
		switch {
		case s.users > 0:
		case s.conn == nil:
			delete(a.sessions, name)
		default:
			live = append(live, s)
		}
	}
	if len(live) <= maxLive {
		return
	}
	slices.SortFunc(live, func(a, b *session) int { return a.used.Compare(b.used) })
	for _, s := range live[:len(live)-maxLive] {
		a.closeSession(s.conn, s)
		delete(a.sessions, s.conversation)
	}
}

// open sees to it that the process knows the session: as it is, taken up from
// an earlier process, or begun.
func (a *Agent) open(ctx context.Context, c *conn, s *session, t *turn) error {
	a.mu.Lock()
	known, taken := s.conn == c && s.id != "" && !s.renew, s.taken
	if s.renew {
		a.closeSession(c, s)
		s.id, s.conn = "", nil
	}
	s.renew, s.taken = false, false
	a.mu.Unlock()
	switch {
	case known:
		return nil
	case taken:
		a.lose(s, t)
	}
	dir, err := agent.MakeWorkDir(a.config.Home, s.conversation)
	if err != nil {
		return agent.Fail(agent.SayNoPlace, err)
	}
	s.dir = dir
	ctx, cancel := context.WithTimeoutCause(ctx, initTimeout, errSlow)
	defer cancel()
	if s.id != "" {
		found, err := a.takeUp(ctx, c, s)
		if err != nil {
			return err
		}
		if found {
			return a.knows(c, s, s.id)
		}
		a.lose(s, t)
	}
	return a.create(ctx, c, s)
}

// lose forgets a session that is no more, and says so.
func (a *Agent) lose(s *session, t *turn) {
	a.config.Log.Info("the agent no longer knows a session; a new one is begun", "session", s.id)
	a.mu.Lock()
	s.id, s.conn = "", nil
	a.mu.Unlock()
	a.saved.forget(s.conversation)
	t.feed.Put(agent.Notice{Text: sayLost})
}

func (a *Agent) create(ctx context.Context, c *conn, s *session) error {
	var made sessionCreated
	if err := a.asks(ctx, c, mNew, object{"cwd": s.dir, "mcpServers": []string{}}, &made); err != nil {
		a.explain(err)
		return err
	}
	if made.ID == "" || len(made.ID) > maxID {
		return errors.New("the agent began a session without a usable id")
	}
	return a.knows(c, s, made.ID)
}

// knows notes that the process knows a session by an id. In one process it has
// to be its own: two rooms in one session would read each other. Agents that
// count give the ids of an earlier process again; what had such a one is lost.
func (a *Agent) knows(c *conn, s *session, id string) error {
	a.mu.Lock()
	for _, other := range a.sessions {
		switch {
		case other == s || other.id != id:
		case other.conn == c:
			a.mu.Unlock()
			return errShared
		default:
			other.taken = true
		}
	}
	s.id, s.conn = id, c
	a.mu.Unlock()
	a.saved.put(s.conversation, id)
	return nil
}

// takeUp asks for a session of an earlier process. What is replayed of it is
// shown to nobody. It reports false when the agent can't, or knows none.
//
// An agent that offers both resumes rather than load, which replays; Hermes
// loads, because resuming what it doesn't know makes a session that it doesn't
// name.
func (a *Agent) takeUp(ctx context.Context, c *conn, s *session) (bool, error) {
	method := ""
	switch {
	case c.info.Caps.Session.Resume != nil && !(c.hermes && c.info.Caps.Load):
		method = mResume
	case c.info.Caps.Load:
		method = mLoad
	default:
		return false, nil
	}
	c.mu.Lock()
	c.replay[s.id] = time.Time{}
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.replay, s.id)
	}()
	var result json.RawMessage
	err := a.asks(ctx, c, method, object{"sessionId": s.id, "cwd": s.dir, "mcpServers": []string{}}, &result)
	if _, answered := errors.AsType[*rpcError](err); answered && !wantsLogin(err) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if c.hermes && bytes.Equal(bytes.TrimSpace(result), []byte("null")) {
		return false, nil
	}
	return true, c.settled(ctx, s.id)
}

// replayQuiet and replayMost bound how long the rest of a replay is waited for
// that comes after the answer.
const (
	replayQuiet = 200 * time.Millisecond
	replayMost  = 5 * time.Second
)

// settled waits until no more of a session is being replayed.
func (c *conn) settled(ctx context.Context, id string) error {
	begun := time.Now()
	for {
		c.mu.Lock()
		last := c.replay[id]
		c.mu.Unlock()
		if last.Before(begun) {
			last = begun
		}
		wait := min(replayQuiet-time.Since(last), replayMost-time.Since(begun))
		if wait <= 0 {
			return nil
		}
		select {
		case <-time.After(wait):
		case <-c.gone:
			return c.err
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// closeSession tells an agent that a session is no longer needed, where it
// wants to know. The caller holds a.mu.
func (a *Agent) closeSession(c *conn, s *session) {
	if s.conn == c && s.id != "" && c.info.Caps.Session.Close != nil {
		c.begin(mClose, object{"sessionId": s.id}, func(frame) {})
	}
}
