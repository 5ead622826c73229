package supervisor

import (
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"rcsupervisor/channel/pretend"
	"rcsupervisor/healthcheck"
	"rcsupervisor/internal/worker"
	"rcsupervisor/sealed"
)

// An ending is one way in which a connection or a worker ends, and what is to be
// seen then.
type ending struct {
	name string
	only worker.Kind // "" for both
	play func(h *house)
}

// endings are the rows of the table of what follows an end.
var endings = []ending{
	{"silent", "", func(h *house) {
		mend := h.server.Break(pretend.Fault{Kind: pretend.Silent, User: "alice"})
		h.was("alice", "connecting silent")
		mend()
		// What the new socket was told meanwhile is lost.
		h.server.Break(pretend.Fault{Kind: pretend.Drop, User: "alice", Code: 1001})
		h.online("alice")
		h.asks("alice", "are you back?")
	}},
	{"deaf", "", func(h *house) {
		mend := h.server.Break(pretend.Fault{Kind: pretend.Deaf, User: "alice"})
		room := h.server.AddDirect(h.owner, h.bots["alice"])
		// A clock may be misread by 15 s, so a message that proves something
		// is later than that.
		h.pause(16 * time.Second)
		h.server.Say(h.owner, room, "unheard")
		h.was("alice", "connecting deaf")
		mend()
		h.online("alice")
	}},
	{"closed", "", func(h *house) {
		h.server.Break(pretend.Fault{Kind: pretend.Drop, User: "alice", Code: 1001})
		h.was("alice", "connecting closed")
		h.online("alice")
	}},
	{"closed again and again", "", func(h *house) {
		for range 3 {
			h.server.Break(pretend.Fault{Kind: pretend.Drop, User: "alice", Code: 1006})
			h.awaitThat("alice", "off the first socket", func(p ProfileStatus) bool { return p.State != healthcheck.Online })
			h.online("alice")
		}
		if p, _ := h.super.Profile(Everybody, "alice"); p.Restarts != 3 || p.Flapping {
			h.Errorf("restarts %d, flapping %v", p.Restarts, p.Flapping)
		}
		h.was("alice", "backoff closed") // the second time it waits a second
	}},
	{"dropped", "", func(h *house) {
		h.server.Break(pretend.Fault{Kind: pretend.Nosub, User: "alice", Count: 1})
		h.server.Break(pretend.Fault{Kind: pretend.Drop, User: "alice", Code: 1001})
		h.was("alice", "backoff dropped")
		h.online("alice")
	}},
	{"rate-limited", "", func(h *house) {
		h.server.Break(pretend.Fault{Kind: pretend.LoginRateLimited, User: "alice", Delay: pretend.Duration(1500 * time.Millisecond), Count: 1})
		h.server.Break(pretend.Fault{Kind: pretend.Drop, User: "alice", Code: 1001})
		p := h.await("alice", healthcheck.Backoff, healthcheck.RateLimited)
		if p.RetryAt == nil || time.Until(*p.RetryAt) > 2*time.Second {
			h.Errorf("retry at %v", p.RetryAt)
		}
		h.online("alice")
	}},
	{"a transient 403 is no refusal", "", func(h *house) {
		h.server.Break(pretend.Fault{Kind: pretend.Transient403, User: "alice", Count: 1})
		h.server.Break(pretend.Fault{Kind: pretend.Drop, User: "alice", Code: 1001})
		h.was("alice", "backoff dropped")
		h.online("alice")
		if slices.ContainsFunc(h.states("alice"), func(s string) bool { return strings.Contains(s, "refused") }) {
			h.Errorf("%q", h.states("alice"))
		}
	}},
	{"refused, and sealed anew", "", func(h *house) {
		h.server.RevokeTokens(h.bots["alice"])
		p := h.await("alice", healthcheck.NeedsToken, healthcheck.Refused)
		if p.RetryAt == nil || time.Until(*p.RetryAt) > 70*time.Second {
			h.Errorf("the next probe is at %v", p.RetryAt)
		}
		h.was("alice", "connecting refused") // the file was read again first
		h.seal("alice", h.bots["alice"], h.server.AddToken(h.bots["alice"]))
		h.online("alice")
	}},
	{"refused while a newer token lies there", "", func(h *house) {
		// The file was replaced a moment ago: it is read before a person is
		// asked.
		token := h.server.AddToken(h.bots["alice"])
		h.seal("alice", h.bots["alice"], token)
		h.server.RevokeToken(h.bots["alice"].Token)
		h.awaitThat("alice", "online with generation 2", func(p ProfileStatus) bool {
			return p.State == healthcheck.Online && p.Generation != nil && *p.Generation == 2
		})
		if slices.Contains(h.states("alice"), "needs-token refused") {
			h.Errorf("%q", h.states("alice"))
		}
	}},
	{"another id than the sealed one", "", func(h *house) {
		h.server.Break(pretend.Fault{Kind: pretend.WrongID, User: "alice"})
		h.server.Break(pretend.Fault{Kind: pretend.Drop, User: "alice", Code: 1001})
		h.await("alice", healthcheck.Held, healthcheck.Identity)
	}},
	{"crashed", worker.Process, func(h *house) {
		pid := h.pid("alice")
		h.must(syscall.Kill(pid, syscall.SIGSEGV))
		h.was("alice", "starting crashed")
		h.online("alice")
		if now := h.pid("alice"); now == pid {
			h.Error("the worker is the same")
		}
		h.asks("alice", "are you back?")
	}},
	{"killed", worker.Process, func(h *house) {
		h.must(syscall.Kill(h.pid("alice"), syscall.SIGKILL))
		h.was("alice", "starting crashed")
		h.online("alice")
	}},
	{"hung", worker.Process, func(h *house) {
		pid := h.pid("alice")
		h.must(syscall.Kill(pid, syscall.SIGSTOP))
		h.write("alice", "channel.yaml", quick+"limits: {queue: 3}\n") // a command that is not taken
		h.was("alice", "starting hung")
		h.online("alice")
		if err := syscall.Kill(pid, 0); err == nil {
			h.Error("the hung worker lives")
		}
	}},
	{"busy", "", func(h *house) {
		h.must(h.super.Stop(h.Context(), "alice"))
		lock, err := worker.Lock(h.homeDir("alice"))
		h.must(err)
		h.must(h.super.Start(h.Context(), "alice"))
		h.was("alice", "backoff busy")
		lock.Close()
		h.online("alice")
	}},
	{"unsealed: missing", "", func(h *house) {
		h.must(h.super.Stop(h.Context(), "alice"))
		old, err := os.ReadFile(h.path("alice", sealed.FileName))
		h.must(err)
		h.must(os.Remove(h.path("alice", sealed.FileName)))
		h.must(h.super.Rescan(h.Context()))
		h.must(h.super.Start(h.Context(), "alice"))
		p := h.await("alice", healthcheck.NeedsToken, healthcheck.Unsealed)
		if deref(p.Action) != "rcsupervisor add alice --server "+h.url {
			h.Errorf("action %q", deref(p.Action))
		}
		h.write("alice", sealed.FileName, string(old))
		h.online("alice")
	}},
	{"unsealed: damaged, foreign", "", func(h *house) {
		old, err := os.ReadFile(h.path("alice", sealed.FileName))
		h.must(err)
		undisturbed := h.undisturbed("alice")
		h.write("alice", sealed.FileName, "no envelope")
		h.awaitThat("alice", "online with an error", func(p ProfileStatus) bool { return p.State == healthcheck.Online && p.Error != nil })
		undisturbed() // what runs goes on with the last good
		h.must(h.super.Restart(h.Context(), "alice"))
		h.await("alice", healthcheck.NeedsToken, healthcheck.Unsealed)
		other, err := os.ReadFile(h.path("bob", sealed.FileName))
		h.must(err)
		h.write("alice", sealed.FileName, string(other))
		h.awaitThat("alice", "sealed for bob", func(p ProfileStatus) bool { return strings.Contains(deref(p.Error), "bob") })
		h.write("alice", sealed.FileName, string(old))
		h.online("alice")
	}},
	{"bad-config", "", func(h *house) {
		undisturbed := h.undisturbed("alice")
		h.write("alice", "channel.yaml", quick+"limits: {queue: many}\n")
		p := h.awaitThat("alice", "online with an error", func(p ProfileStatus) bool { return p.Error != nil })
		if p.State != healthcheck.Online || !strings.Contains(*p.Error, "channel.yaml:3: limits.queue") || deref(p.Action) != "rcsupervisor check alice" {
			h.Errorf("%s %q %q", p.State, *p.Error, deref(p.Action))
		}
		undisturbed()
		h.must(h.super.Restart(h.Context(), "alice"))
		h.await("alice", healthcheck.NeedsConfig, healthcheck.BadConfig)
		h.write("alice", "channel.yaml", quick)
		h.online("alice")
	}},
	{"gone", "", func(h *house) {
		h.must(os.RemoveAll(h.homeDir("alice")))
		h.awaitGone("alice")
		if _, err := os.Stat(h.homeDir("alice")); err == nil {
			h.Error("the home was made again")
		}
		if e, ok := h.super.Entry("alice"); !ok || e.Bot != h.bots["alice"].ID {
			h.Error("the ledger forgot it")
		}
	}},
	{"operator", "", func(h *house) {
		h.must(h.super.Stop(h.Context(), "alice"))
		if p, _ := h.super.Profile(Everybody, "alice"); p.State != healthcheck.Off || deref(p.Reason) != "operator" || p.Run != nil {
			h.Errorf("%s %s %v", p.State, deref(p.Reason), p.Run)
		}
		h.must(h.super.Start(h.Context(), "alice"))
		h.online("alice")
		h.must(h.super.Restart(h.Context(), "alice"))
		p := h.awaitThat("alice", "online in its third run", func(p ProfileStatus) bool { return p.Run != nil && *p.Run == 3 && p.State == healthcheck.Online })
		if p.Restarts != 0 {
			h.Errorf("what a person asked for counts as %d restarts", p.Restarts)
		}
	}},
	{"reload", "", func(h *house) {
		undisturbed := h.undisturbed("alice")
		h.write("alice", "channel.yaml", quick+"limits: {queue: 3}\n")
		h.awaitThat("alice", "with the new settings", func(ProfileStatus) bool {
			return h.super.keeper("alice").view.Load().start.Settings.Limits.Queue == 3
		})
		undisturbed()
		h.seal("alice", h.bots["alice"], h.server.AddToken(h.bots["alice"]))
		p := h.awaitThat("alice", "online with generation 2", func(p ProfileStatus) bool {
			return p.State == healthcheck.Online && p.Generation != nil && *p.Generation == 2 && deref(p.Reason) == "reload"
		})
		if p.Restarts != 0 || *p.Run != 1 {
			h.Errorf("run %d, %d restarts", *p.Run, p.Restarts)
		}
		h.write("alice", "channel.yaml", quick+"enabled: false\n")
		h.await("alice", healthcheck.Off, healthcheck.Reload)
		h.write("alice", "channel.yaml", quick)
		h.online("alice")
	}},
}

// What follows when a connection or a worker has ended, each row in both
// carriers: the profile does what the table says, and the other one keeps its
// socket.
func TestWhatFollowsAnEnd(t *testing.T) {
	t.Parallel()
	for _, row := range endings {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			both(t, func(h *house) {
				if row.only != "" && row.only != h.kind {
					return
				}
				h.add("alice", quick)
				h.add("bob", quick)
				h.start()
				h.online("alice", "bob")
				undisturbed := h.undisturbed("bob")
				row.play(h)
				undisturbed()
				h.asks("bob", "and you?")
			})
		})
	}
}
