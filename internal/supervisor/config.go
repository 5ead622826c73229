package supervisor

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"rcsupervisor/channel"
	"rcsupervisor/healthcheck"
	"rcsupervisor/internal/hostfile"
	"rcsupervisor/internal/redact"
	"rcsupervisor/internal/worker"
	"rcsupervisor/profile"
	"rcsupervisor/sealed"
)

// Config is what a supervisor runs with.
type Config struct {
	Sources profile.Sources  // where homes are found
	Host    hostfile.File    // what the operator says of all profiles
	Root    bool             // homes that belong to root run too
	State   *os.Root         // our own directory: the ledger lies there
	Keys    *Keys            // what opens the envelopes
	Carrier worker.Carrier   // how runs are carried
	Env     channel.Env      // how servers are asked; the zero Env is the real one
	Drain   time.Duration    // how long running turns may take at the end
	People  People           // what strangers' requests and codes come to; nil refuses them
	Redact  *redact.Redactor // is told every secret that is opened; nil: none is
	Observe func(Event)      // called for everything that happens; never blocks, any goroutine
	Log     *slog.Logger
	Jitter  healthcheck.Jitter // nil: none
}

// People is where a channel's requests about people are written down.
type People interface {
	Ask(ctx context.Context, profile string, r channel.Request) (channel.Reply, error)
}

// An Event is what happened to one profile: a new state, a report of its
// channel, or a line of its log.
type Event struct {
	Time    time.Time
	Profile string
	History healthcheck.History // as it is now
	Report  *channel.Report     // the latest, nil before the first
	Record  *channel.Record     // a line of the log, nil if it is none
	Changed bool                // the state or its reason is another than before
	Gone    bool                // the profile has left the list
}

// An Unready is why a home can't run as it is. Try is the command that mends
// it, "" for the one of its reason.
type Unready struct {
	Reason healthcheck.Reason // unsealed, bad-config, duplicate, …
	Err    error
	Try    string
}

func (u *Unready) Error() string { return u.Err.Error() }
func (u *Unready) Unwrap() error { return u.Err }

// unready makes an Unready of err, with the command that err itself names.
func unready(r healthcheck.Reason, err error) *Unready {
	u := &Unready{Reason: r, Err: err}
	var hint interface{ Hint() string }
	if fault, ok := errors.AsType[*profile.Fault](err); ok {
		u.Try = fault.Try
	} else if errors.As(err, &hint) {
		u.Try = hint.Hint()
	}
	return u
}

// homes is what the host says to whoever reads a home.
func (c *Config) homes() profile.Host {
	h := c.Host.Host()
	if c.Root {
		h.AllowRoot = func(string) bool { return true }
	}
	return h
}

// debug reports whether lines of level debug are written.
func (c *Config) debug() bool { return c.Log.Enabled(context.Background(), slog.LevelDebug) }

func (c *Config) setDefaults() {
	if c.Observe == nil {
		c.Observe = func(Event) {}
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Carrier == nil {
		c.Carrier = worker.NewShared(c.Env)
	}
	if c.Redact == nil {
		c.Redact = redact.New()
	}
	if c.Keys == nil {
		c.Keys = NewKeys(func() (*sealed.Identity, *sealed.Keyring, error) {
			return nil, nil, fmt.Errorf("no identity was given: %w", sealed.ErrNoIdentity)
		})
	}
}
