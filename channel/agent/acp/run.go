package acp

import (
	"context"
	"errors"
	"fmt"
	"time"

	"rcsupervisor/channel/agent"
)

// run is a turn, from its place in the conversation to its end.
func (a *Agent) run(ctx context.Context, t *turn, q agent.Question) agent.Done {
	s, err := a.enter(ctx, q.Conversation)
	if err != nil {
		return ending(err)
	}
	defer a.leave(s)
	p, err := a.obtain(ctx, t)
	if err != nil {
		return ending(err)
	}
	defer a.release(p)
	if err := p.conn.slot(ctx, t); err != nil {
		return ending(err)
	}
	defer func() { <-p.conn.slots }()
	for again := false; ; again = true {
		if err := a.open(ctx, p.conn, s, t); err != nil {
			return ending(err)
		}
		f, err := a.give(ctx, p, s, t, q)
		if err == nil && !again && lost(p.conn, t, f) {
			// Nothing was done with it, so that it is not done twice.
			a.lose(s, t)
			continue
		}
		return a.conclude(p.conn, t, f, err)
	}
}

// slot waits until the process has room for one more question.
func (c *conn) slot(ctx context.Context, t *turn) error {
	select {
	case c.slots <- struct{}{}:
		return nil
	default:
		t.feed.Put(agent.Progress{Title: agent.TitleBusy})
	}
	select {
	case c.slots <- struct{}{}:
		return nil
	case <-c.gone:
		return c.err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// give sends the question and waits for its answer. A turn that is cancelled
// goes on until the agent says so, for a while.
func (a *Agent) give(ctx context.Context, p *process, s *session, t *turn, q agent.Question) (frame, error) {
	c := p.conn
	c.errs.Quiet()
	reply := make(chan frame, 1)
	t.given(c, s.id, s.dir)
	c.mu.Lock()
	c.turns[s.id] = t
	c.mu.Unlock()
	leave := func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.turns, s.id)
	}
	defer leave()
	params := object{"sessionId": s.id, "prompt": blocks(q, c.info.Caps.Prompt.Image)}
	forget := c.begin(mPrompt, params, func(f frame) {
		leave() // what the agent says from here on is not of this turn
		reply <- f
	})
	defer forget()
	limit := time.NewTimer(turnTimeout)
	defer limit.Stop()
	why := errSlow
	select {
	case f := <-reply:
		return f, nil
	case <-c.gone:
		return frame{}, c.err
	case <-limit.C:
	case <-ctx.Done():
		why = context.Cause(ctx)
	}
	t.stop()
	patience := time.NewTimer(cancelGrace)
	defer patience.Stop()
	select {
	case <-reply:
	case <-c.gone:
	case <-patience.C:
		// It may be at work still, and does odd things with a second question.
		a.config.Log.Warn("the agent did not say that it stopped; it is replaced", "session", s.id)
		a.mu.Lock()
		p.retire(time.Now().Add(retireGrace))
		a.mu.Unlock()
	}
	return frame{}, why
}

// lost reports whether an answer says that the session is no more.
func lost(c *conn, t *turn, f frame) bool {
	if t.feed.Said() {
		return false
	}
	if f.Error != nil {
		return f.Error.gone()
	}
	// Hermes answers so to a session that it doesn't know.
	var r prompted
	return c.hermes && f.into(&r) == nil && r.Stop == stopRefusal
}

// ending is how a turn ends that was not answered.
func ending(err error) agent.Done {
	if errors.Is(err, errStopped) {
		return agent.Done{Stop: agent.Cancelled}
	}
	return agent.Done{Stop: agent.Failed, Err: told(err)}
}

// conclude is how a turn ends that was.
func (a *Agent) conclude(c *conn, t *turn, f frame, err error) agent.Done {
	if err != nil {
		return ending(err)
	}
	if e := f.Error; e != nil {
		a.config.Log.Warn("the agent failed at a question", "code", e.Code)
		a.config.Log.Debug("what it said of that", "message", e.Message)
		if wantsLogin(e) {
			return ending(a.loggedOut(c, e))
		}
		return ending(e)
	}
	var r prompted
	if err := f.into(&r); err != nil {
		return ending(agent.Fail(sayFailed, err))
	}
	a.answered(c)
	said := t.feed.Size() > 0
	switch r.Stop {
	case stopTokens:
		t.feed.Put(agent.Text{Chunk: sayTokens})
	case stopRequests:
		t.feed.Put(agent.Text{Chunk: sayRequests})
	case stopRefusal:
		if !said {
			return agent.Done{Stop: agent.Refused, Err: agent.Fail(sayRefused, errors.New("the agent refused"))}
		}
		return agent.Done{Stop: agent.Refused}
	case stopCancelled:
		// Without our asking: some agents end so when a request was refused.
		if !said && !t.refusedOne() {
			return agent.Done{Stop: agent.Cancelled, Err: agent.Fail(sayStopped, errors.New("the agent stopped by itself"))}
		}
		return agent.Done{Stop: agent.Cancelled}
	case stopEnd:
	default:
		a.config.Log.Debug("the agent stopped for a reason that is not known", "reason", fmt.Sprintf("%.40q", r.Stop))
	}
	return agent.Done{Stop: agent.Ended}
}
