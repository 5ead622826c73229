package main

import (
	"context"
	"errors"
	"io"
	"os"
	"slices"
	"sync"

	"github.com/urfave/cli/v2"

	"rcsupervisor/channel/prompt/asker"
	"rcsupervisor/internal/control"
	"rcsupervisor/internal/enroll"
	"rcsupervisor/internal/people"
	"rcsupervisor/internal/supervisor"
	"rcsupervisor/profile"
	"rcsupervisor/sealed"
)

// deskVerbs are the verbs about homes as a supervisor serves them: the same
// desk as without one, but that the supervisor is the only writer and keeps the
// ledger.
func deskVerbs(c *cli.Context, super *supervisor.Supervisor, keys *supervisor.Keys, state *os.Root, book *people.Book) ([]control.Verb, error) {
	src, err := sources(c)
	if err != nil {
		return nil, err
	}
	host, err := hostFile(c)
	if err != nil {
		return nil, err
	}
	identity := identityOptions(c)
	desk := &enroll.Desk{
		Sources: src, Host: host, State: state, Book: book, Names: runningLedger{super}, Identity: identity,
		Keys: func() (*sealed.Keyring, error) { return keyringOf(keys, identity) },
		Lock: new(oneAtATime).lock, Edit: super.EditAccess,
	}
	return []control.Verb{
		verbOf(control.Verb{Name: "people"}, func(w enroll.PersonWish) string { return w.Do + " " + w.ID }, desk.People),
		verbOf(control.Verb{Name: "rooms"}, func(w enroll.RoomWish) string { return w.Do + " " + w.ID }, desk.Rooms),
		verbOf(control.Verb{Name: "secret"}, func(w enroll.SecretWish) string { return w.Do + " " + w.Key }, desk.Secret),
		verbOf(control.Verb{Name: "add", Makes: true}, func(w enroll.Addition) string { return w.Server + " " + w.UserID }, known(super, desk.Add)),
		verbOf(control.Verb{Name: "import", Makes: true}, func(w enroll.ImportWish) string { return flagWord("scrub", w.Scrub) }, known(super, desk.Import)),
		verbOf(control.Verb{Name: "asker", Reads: true}, func(enroll.AskerWish) string { return "" }, desk.VerifyAsker),
		verbOf(control.Verb{Name: "remove", Unknown: true}, func(w enroll.RemoveWish) string { return flagWord("purge", w.Purge) },
			func(ctx context.Context, by enroll.Caller, name string, w enroll.RemoveWish) (enroll.Removed, error) {
				if err := super.Stop(ctx, name); err != nil && !errors.Is(err, supervisor.ErrNoProfile) {
					return enroll.Removed{}, err
				}
				removed, err := desk.Remove(ctx, by, name, w)
				_ = super.Rescan(ctx) // what is wrong with other homes is nothing new
				return removed, err
			}),
		verbOf(control.Verb{Name: "reseal", Unknown: true}, func(w enroll.ResealWish) string { return flagWord("new-identity", w.NewIdentity) },
			func(ctx context.Context, by enroll.Caller, _ string, w enroll.ResealWish) (enroll.Resealed, error) {
				keys.Refresh()
				defer keys.Refresh()
				return desk.Reseal(ctx, by, w)
			}),
		verbOf(control.Verb{Name: "check", Reads: true}, func(struct{}) string { return "" },
			func(ctx context.Context, by enroll.Caller, name string, _ struct{}) (r checked, err error) {
				r.Good, err = desk.Check(ctx, by, name, func(f enroll.Finding) { r.Findings = append(r.Findings, f) })
				return r, err
			}),
	}, nil
}

// verbOf makes a verb of what a desk does. note is what the audit line says of
// the wish, which never holds a secret.
func verbOf[Wish, Result any](v control.Verb, note func(Wish) string, do func(context.Context, enroll.Caller, string, Wish) (Result, error)) control.Verb {
	v.Do = func(ctx context.Context, c control.Call) (any, error) {
		var w Wish
		if err := c.Decode(&w); err != nil {
			return nil, err
		}
		if text := note(w); !enroll.HoldsToken(text) {
			c.Note(cut(printable(text), 200))
		}
		r, err := do(ctx, enroll.Caller{UID: c.Peer.UID, Operator: c.Peer.Admin()}, c.Profile, w)
		return r, crossing(err)
	}
	return v
}

// known has the supervisor know of a home that was made, before whoever asked
// for it is told: the next that he asks is how it is.
func known[Wish, Result any](super *supervisor.Supervisor, do func(context.Context, enroll.Caller, string, Wish) (Result, error)) func(context.Context, enroll.Caller, string, Wish) (Result, error) {
	return func(ctx context.Context, by enroll.Caller, name string, w Wish) (Result, error) {
		r, err := do(ctx, by, name, w)
		if err == nil {
			_ = super.Rescan(ctx) // what is wrong with other homes is nothing new
		}
		return r, err
	}
}

// crossing gives an error the code under which it crosses the socket.
func crossing(err error) error {
	code := control.CodeFailed
	switch {
	case err == nil:
		return nil
	case errors.Is(err, enroll.ErrNoProfile):
		code = control.CodeNoProfile
	case errors.Is(err, enroll.ErrUnlikely), errors.Is(err, asker.ErrMalformed):
		code = control.CodeUsage
	case errors.Is(err, enroll.ErrNotYours):
		code = control.CodeRefused
	case enroll.Hint(err) == "":
		return err
	}
	return &control.Error{Code: code, Message: err.Error(), Try: enroll.Hint(err)}
}

func flagWord(word string, on bool) string {
	if on {
		return word
	}
	return ""
}

// keyringOf is what the supervisor has, or why it has none.
func keyringOf(keys *supervisor.Keys, o sealed.Options) (*sealed.Keyring, error) {
	if k := keys.Keyring(); k != nil {
		return k, nil
	}
	o.Passphrase = nil
	return sealed.FindKeyring(o, false)
}

// runningLedger is the ledger while a supervisor runs.
type runningLedger struct{ s *supervisor.Supervisor }

var _ enroll.Registry = runningLedger{}

func (l runningLedger) Entry(name string) (profile.Entry, bool, error) {
	e, ok := l.s.Entry(name)
	return e, ok, nil
}

func (l runningLedger) Holders(server, bot string) ([]string, error) {
	return l.s.Holders(server, bot), nil
}

func (l runningLedger) Paths() (map[string]string, error) { return l.s.Paths(), nil }

func (l runningLedger) Change(name string, e *profile.Entry) error {
	return l.s.Note(context.Background(), name, e)
}

// oneAtATime keeps two requests from changing one home at the same time. The
// home's own lock is held by its channel.
type oneAtATime struct {
	mu   sync.Mutex
	cond *sync.Cond
	busy []string
}

func (o *oneAtATime) lock(home string) (io.Closer, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.cond == nil {
		o.cond = sync.NewCond(&o.mu)
	}
	for slices.Contains(o.busy, home) {
		o.cond.Wait()
	}
	o.busy = append(o.busy, home)
	return release(func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		o.busy = slices.DeleteFunc(o.busy, func(h string) bool { return h == home })
		o.cond.Broadcast()
	}), nil
}

// A release is the end of a lock.
type release func()

func (r release) Close() error {
	r()
	return nil
}
