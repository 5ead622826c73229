package acp

import (
	"context"
	"time"

	"rcsupervisor/channel/agent"
)

// watch ends a process that is idle or given up, and waits for its end.
func (a *Agent) watch(p *process) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for ended := false; !ended; {
		select {
		case <-timer.C:
		case <-p.poke:
		case <-a.life.Done():
		case <-p.conn.gone:
			ended = true
			continue
		}
		wait, stop := a.idle(p)
		if stop {
			p.conn.stop(context.Background(), stopGrace)
			continue
		}
		timer.Reset(wait)
	}
	p.conn.group.Wait()
	a.ended(p)
}

// idle says whether a process is to be ended now, or when to look again.
func (a *Agent) idle(p *process) (wait time.Duration, stop bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch after := a.config.IdleStop(); {
	case p.retiring && p.users > 0:
		wait = time.Until(p.until)
	case p.retiring:
		return 0, true
	case p.users > 0 || after <= 0:
		return idleLook, false
	default:
		wait = after - time.Since(p.since)
	}
	if wait <= 0 {
		p.retiring = true
		return 0, true
	}
	return min(wait, idleLook), false
}

// ended takes leave of a process.
func (a *Agent) ended(p *process) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.proc = nil
	for _, s := range a.sessions {
		if s.conn == p.conn {
			s.conn = nil
		}
	}
	if p.retiring || p.users == 0 && p.conn.err == errEnded { // itself: status 0
		a.trim()
		a.become(agent.Idle, "")
		return
	}
	a.fail(p.conn.err)
	a.trim()
}
