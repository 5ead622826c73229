package healthcheck

import "time"

// A Server is what the profiles of one server share: whether it can be
// reached, and whether it refuses so many of them that it can't be their
// tokens. Make one with [NewServer] for each server and way to it (profiles
// behind another proxy or another CA have a Server of their own).
//
// It asks nobody anything. Whoever owns it asks [Server.Due] when there is
// something to do, takes it with [Server.Take], carries it out, and says what
// came of it. Every name that a method returns is to be told
// [History.Released]. It is not safe for concurrent use.
//
// While [Server.Down], nobody dials: a profile that would is told to [Next] as
// Unreachable and Common and to [Server.Unreachable], and waits with the
// others.
type Server struct {
	reach vigil
	trust vigil
	until time.Time // trust: when doubt ends by itself
	whole time.Duration

	refusals [DoubtCount]refusal  // the last refusals, of as many profiles, oldest first
	freed    map[string]time.Time // those whom another's login released from doubt, and when
}

// A refusal is that of one profile.
type refusal struct {
	name string
	at   time.Time
}

// NewServer returns a Server of which nothing is known.
func NewServer() *Server {
	return &Server{
		reach: vigil{steps: reachSteps[:], spread: Jitter.around},
		trust: vigil{steps: tokenSteps[:], spread: Jitter.after},
	}
}

// A Kind of question to a server.
type Kind int

// The kinds.
const (
	// Reach asks whether the server is there: GET /api/info, over the way that
	// the named profile takes.
	Reach Kind = iota
	// Token asks whether the server takes the named profile's token: GET
	// /api/v1/me.
	Token
)

// A Question is to be asked now, for the profile named. Its answer goes to
// [Server.Answer] within [ProbeLimit].
type Question struct {
	Kind   Kind
	Name   string
	Number uint64
}

// Down reports whether the server can't be reached, as far as is known: then
// nobody dials.
func (s *Server) Down() bool { return s.reach.open }

// Doubted reports whether the server refuses several profiles.
func (s *Server) Doubted() bool { return s.trust.open }

// Waiting is how many profiles wait for the server.
func (s *Server) Waiting() int { return s.reach.waiting.Len() + s.trust.waiting.Len() }

// Unreachable says that name's dial found no server, or that it would have
// dialled while the server is Down. It waits from now on. The first question
// goes out after 1 s, then 2, then every 5 s; a server that answered and let
// nobody in goes on where it was.
func (s *Server) Unreachable(name string, now time.Time, j Jitter) {
	s.trust.leave(name, now)
	if !s.reach.open {
		s.reach.open = true
		s.reach.plan(now, j)
	}
	s.reach.join(name)
}

// Refused says that name's token was refused. If it is the third profile
// within [DoubtWindow], or the server is doubted already, common is true, name
// waits from now on, and limit is how long at most; others are those refused
// just before, to be told [History.Doubted] with the same limit.
//
// A login in between makes the count begin anew, and one whom another's login
// released is believed when it is refused again: the server takes tokens, only
// not this one.
func (s *Server) Refused(name string, now time.Time, j Jitter) (common bool, limit time.Duration, others []string) {
	s.reach.leave(name, now)
	if s.trust.open {
		if left := s.doubtLeft(now); left > 0 {
			s.trust.join(name)
			return true, left, nil
		}
	}
	if at, ok := s.freed[name]; ok {
		delete(s.freed, name)
		if now.Sub(at) < DoubtWindow {
			return false, 0, nil
		}
	}
	s.note(name, now)
	for _, r := range s.refusals {
		if r.name == "" || now.Sub(r.at) >= DoubtWindow {
			return false, 0, nil
		}
	}
	s.trust.open, s.trust.asked, s.trust.number = true, 0, 0
	s.until, s.whole = now.Add(DoubtLast), DoubtLast
	s.trust.plan(now, j)
	for _, r := range s.refusals {
		s.trust.join(r.name)
		if r.name != name {
			others = append(others, r.name)
		}
	}
	return true, DoubtLast, others
}

// note remembers the refusal of name as the latest, and each name once.
func (s *Server) note(name string, now time.Time) {
	at := 0
	for i, r := range s.refusals {
		if r.name == name {
			at = i
			break
		}
	}
	copy(s.refusals[at:], s.refusals[at+1:])
	s.refusals[len(s.refusals)-1] = refusal{name, now}
}

// Connected says that name got an answer on its socket: the server is there,
// and everybody who waited for that is released.
func (s *Server) Connected(name string, now time.Time) []string {
	s.reach.leave(name, now)
	s.reach.asked = 0
	return s.reach.release()
}

// Online says that name has logged in and hears messages: the server is there
// and takes tokens. Everybody who waits is released.
func (s *Server) Online(name string, now time.Time) []string {
	return append(s.Connected(name, now), s.Taken(name, now)...)
}

// Taken says that the server takes name's token, whatever way it was asked:
// everybody who waits because it refused is released.
func (s *Server) Taken(name string, now time.Time) []string {
	s.trust.leave(name, now)
	s.refusals = [DoubtCount]refusal{}
	doubted := s.trust.release()
	if s.freed == nil {
		s.freed = make(map[string]time.Time)
	}
	delete(s.freed, name)
	for _, n := range doubted {
		s.freed[n] = now
	}
	return doubted
}

// Idle reports whether s knows nothing, or nothing any more, that a new Server
// would not.
func (s *Server) Idle(now time.Time) bool {
	old := func(t time.Time) bool { return now.Sub(t) >= DoubtLast }
	for _, r := range s.refusals {
		if r.name != "" && !old(r.at) {
			return false
		}
	}
	for _, at := range s.freed {
		if !old(at) {
			return false
		}
	}
	return s.Waiting() == 0 && (s.reach.asked == 0 || old(s.reach.due))
}

// Leave says that name waits no more: it was stopped, restarted or changed, or
// is gone.
func (s *Server) Leave(name string, now time.Time) {
	s.reach.leave(name, now)
	s.trust.leave(name, now)
	delete(s.freed, name)
	for i, r := range s.refusals {
		if r.name == name {
			copy(s.refusals[1:i+1], s.refusals[:i])
			s.refusals[0] = refusal{}
			return
		}
	}
}

// Due is how long it is until there is something to Take. ok is false while
// nobody waits.
func (s *Server) Due(now time.Time) (d time.Duration, ok bool) {
	d, ok = s.reach.in(now)
	if t, some := s.trust.in(now); some {
		t = min(t, s.doubtLeft(now))
		if !ok || t < d {
			d = t
		}
		ok = true
	}
	return d, ok
}

// Take takes what is due: a question to ask, if ok, and profiles to release.
// Call it until nothing is due.
func (s *Server) Take(now time.Time) (q Question, ok bool, released []string) {
	if name, n, some := s.reach.ask(now); some {
		return Question{Reach, name, n}, true, nil
	}
	if s.trust.open && s.doubtLeft(now) <= 0 {
		s.refusals = [DoubtCount]refusal{}
		return Question{}, false, s.trust.release()
	}
	if name, n, some := s.trust.ask(now); some {
		return Question{Token, name, n}, true, nil
	}
	return Question{}, false, nil
}

// Answer says what came of a question. An answer that the server is there
// releases everybody, the question may be old or not. An answer that the token
// is taken releases the one who asked: the others wait until it has logged in.
// No, or none at all, means the next in turn asks at the next step.
func (s *Server) Answer(q Question, yes bool, now time.Time, j Jitter) (released []string) {
	v := &s.reach
	if q.Kind == Token {
		v = &s.trust
	}
	switch {
	case !yes:
		v.failed(q.Number, now, j)
		return nil
	case q.Kind == Reach:
		return v.release()
	case v.places[q.Name] == nil:
		return nil
	}
	asking := v.number != 0
	v.leave(q.Name, now)
	if asking && v.number == 0 {
		v.plan(now, j)
	}
	return []string{q.Name}
}

// doubtLeft is how long the doubt lasts at most.
func (s *Server) doubtLeft(now time.Time) time.Duration {
	if s.until.Sub(now) > s.whole { // the clock was set back
		s.until = now.Add(s.whole)
	}
	return max(0, s.until.Sub(now))
}
