package observe

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"
	"golang.org/x/sys/unix"

	"rcsupervisor/internal/supervisor"
)

// statusEvery bounds how often systemd is told how many are online.
const statusEvery = 2 * time.Second

// A Notifier tells systemd how the supervisor is: that it is ready once all
// homes were looked at, in words how many are online, that it reloads and that
// it ends; and, where the unit has a watchdog, that it still goes round. With
// no systemd to tell it does nothing.
type Notifier struct {
	super *supervisor.Supervisor
	log   *slog.Logger
}

// NewNotifier returns a Notifier of s.
func NewNotifier(s *supervisor.Supervisor, log *slog.Logger) *Notifier { return &Notifier{s, log} }

// Run tells until ctx ends, and then that the supervisor ends.
func (n *Notifier) Run(ctx context.Context) {
	defer n.tell(daemon.SdNotifyStopping)
	select {
	case <-n.super.Ready():
	case <-ctx.Done():
		return
	}
	n.tell(daemon.SdNotifyReady + "\n" + n.words())
	changes := n.super.Listen()
	defer changes.Close()
	dog := n.watchdog()
	if dog != nil {
		defer dog.Stop()
	}
	next := time.NewTimer(statusEvery)
	defer next.Stop()
	said, changed := n.words(), false
	for {
		select {
		case <-ctx.Done():
			return
		case <-changes.C():
			changes.Take()
			changed = true
		case <-next.C:
			if now := n.words(); changed && now != said {
				said = now
				n.tell(now)
			}
			changed = false
			next.Reset(statusEvery)
		case <-tick(dog):
			if n.super.Alive() {
				n.tell(daemon.SdNotifyWatchdog)
			}
		}
	}
}

// Reloading tells that all homes are looked at, and returns what tells that
// this is done.
func (n *Notifier) Reloading() (done func()) {
	var now unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &now)
	n.tell(fmt.Sprintf("%s\nMONOTONIC_USEC=%d", daemon.SdNotifyReloading, now.Nano()/1000))
	return func() { n.tell(daemon.SdNotifyReady + "\n" + n.words()) }
}

func (n *Notifier) tell(what string) {
	if _, err := daemon.SdNotify(false, what); err != nil {
		n.log.Debug("systemd could not be told", "err", err)
	}
}

func (n *Notifier) words() string {
	st, _ := n.super.Status(supervisor.Everybody)
	return fmt.Sprintf("STATUS=%d of %d profiles online", st.Supervisor.Online, st.Supervisor.Profiles)
}

// watchdog ticks twice within the time that systemd waits; nil without one.
func (n *Notifier) watchdog() *time.Ticker {
	d, err := daemon.SdWatchdogEnabled(false)
	if err != nil || d <= 0 {
		return nil
	}
	return time.NewTicker(d / 2)
}

func tick(t *time.Ticker) <-chan time.Time {
	if t == nil {
		return nil
	}
	return t.C
}

// Probe answers 200 while ok, else 503.
func Probe(ok func() bool) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if !ok() {
			http.Error(w, "no", http.StatusServiceUnavailable)
			return
		}
		fmt.Fprintln(w, "ok")
	})
}

// Pages are what a supervisor serves beside its API.
func Pages(s *supervisor.Supervisor) map[string]http.Handler {
	return map[string]http.Handler{
		"GET /metrics": Metrics(s),
		"GET /healthz": Probe(s.Alive),
		"GET /readyz": Probe(func() bool {
			select {
			case <-s.Ready():
				return true
			default:
				return false
			}
		}),
	}
}
