package supervisor

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"rcsupervisor/channel/pretend"
	"rcsupervisor/healthcheck"
	"rcsupervisor/profile"
	"rcsupervisor/sealed"
)

// Two profiles with one bot: the one that proved it first goes on, the other is
// held and names it, and runs when it is free (hermes#118388, #91435).
func TestABotIsRunOnce(t *testing.T) {
	t.Parallel()
	both(t, func(h *house) {
		h.add("alice", quick)
		h.start()
		h.online("alice")
		undisturbed := h.undisturbed("alice")
		h.home("copy", quick)
		h.bots["copy"] = h.bots["alice"]
		h.seal("copy", h.bots["alice"], h.server.AddToken(h.bots["alice"]))
		p := h.await("copy", healthcheck.Held, healthcheck.Duplicate)
		if deref(p.Action) != "rcsupervisor stop alice" || !strings.Contains(deref(p.Error), "alice") {
			h.Errorf("%q, %q", deref(p.Error), deref(p.Action))
		}
		stranger, _ := h.super.Profile(Viewer{UID: os.Geteuid()}, "copy")
		if s := deref(stranger.Error) + deref(stranger.Action); strings.Contains(s, "alice") || !strings.Contains(s, "another profile on this host") {
			h.Errorf("who may not know of alice is told %q", s)
		}
		undisturbed()
		h.must(h.stop())
		h.start() // it is the same one again, whoever is quicker
		h.online("alice")
		h.await("copy", healthcheck.Held, healthcheck.Duplicate)
		h.must(h.super.Stop(h.Context(), "alice"))
		h.online("copy")
		h.must(h.super.Start(h.Context(), "alice"))
		h.await("alice", healthcheck.Held, healthcheck.Duplicate)
		h.seal("copy", h.server.AddUser("third", pretend.UserOptions{Bot: true}), "no-token-of-its")
		h.online("alice") // copy let go of the bot
		h.await("copy", healthcheck.Held, healthcheck.Rebound)
	})
}

// An envelope that merely names another's bot keeps nobody from running it.
func TestAnUnprovenClaimHoldsNobody(t *testing.T) {
	t.Parallel()
	both(t, func(h *house) {
		h.add("alice", quick)
		h.must(os.Rename(h.homeDir("alice"), filepath.Join(h.dir, "aside")))
		h.home("mallory", quick)
		h.seal("mallory", h.bots["alice"], "a-token-that-is-none")
		h.start()
		h.await("mallory", healthcheck.NeedsToken, healthcheck.Refused)
		h.must(os.Rename(filepath.Join(h.dir, "aside"), h.homeDir("alice")))
		h.online("alice")
	})
}

// What the ledger holds against a home that is another than it was.
func TestWhatIsHeldUntilAdopted(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		reason healthcheck.Reason
		change func(h *house)
	}{
		{healthcheck.Rebound, func(h *house) {
			other := h.server.AddUser("other", pretend.UserOptions{Bot: true})
			h.bots["alice"] = other
			h.seal("alice", other, other.Token)
		}},
		{healthcheck.RolledBack, func(h *house) {
			old, err := os.ReadFile(h.path("alice", sealed.FileName))
			h.must(err)
			h.seal("alice", h.bots["alice"], h.server.AddToken(h.bots["alice"]))
			h.awaitThat("alice", "online with generation 2", func(p ProfileStatus) bool {
				return p.State == healthcheck.Online && *p.Generation == 2 && deref(p.Reason) == "reload"
			})
			h.write("alice", sealed.FileName, string(old))
		}},
		{healthcheck.Moved, func(h *house) {
			h.must(h.stop())
			h.must(os.Rename(h.homeDir("alice"), filepath.Join(h.dir, "moved")))
			h.config.Sources.Homes = []profile.Home{{Name: "alice", Dir: filepath.Join(h.dir, "moved")}}
			h.start()
		}},
	} {
		t.Run(string(row.reason), func(t *testing.T) {
			t.Parallel()
			both(t, func(h *house) {
				h.add("alice", quick)
				h.start()
				h.online("alice")
				row.change(h)
				p := h.await("alice", healthcheck.Held, row.reason)
				if deref(p.Action) != "rcsupervisor adopt alice" {
					h.Errorf("action %q", deref(p.Action))
				}
				h.must(h.super.Start(h.Context(), "alice"))
				h.await("alice", healthcheck.Held, row.reason) // a start is no adoption
				changes, err := h.super.Adopt(h.Context(), "alice")
				if err != nil || len(changes) != 1 {
					h.Errorf("adopted %q, %v", changes, err)
				}
				h.online("alice")
				if changes, err := h.super.Adopt(h.Context(), "alice"); err != nil || len(changes) != 0 {
					h.Errorf("adopted again: %q, %v", changes, err)
				}
			})
		})
	}
}

// A home that is renamed under our eyes goes on under its new name: the old
// one is not made again (hermes#109267).
func TestAHomeIsRenamed(t *testing.T) {
	t.Parallel()
	both(t, func(h *house) {
		h.add("alice", quick)
		h.add("bob", quick)
		h.start()
		h.online("alice", "bob")
		undisturbed := h.undisturbed("bob")
		h.must(os.Rename(h.homeDir("alice"), h.homeDir("alicia")))
		h.bots["alicia"] = h.bots["alice"]
		h.online("alicia")
		h.awaitGone("alice")
		if _, err := os.Stat(h.homeDir("alice")); err == nil {
			h.Error("the old home was made again")
		}
		if e, ok := h.super.Entry("alicia"); !ok || e.Bot != h.bots["alice"].ID || e.Path != h.homeDir("alicia") {
			h.Errorf("the ledger says %+v", e)
		}
		if _, ok := h.super.Entry("alice"); ok {
			h.Error("the ledger has the old name still")
		}
		undisturbed()
	})
}

// Homes that come, go and are exchanged are seen live.
func TestHomesComeAndGo(t *testing.T) {
	t.Parallel()
	both(t, func(h *house) {
		h.add("bob", quick)
		h.start()
		h.online("bob")
		undisturbed := h.undisturbed("bob")
		h.add("alice", quick)
		h.online("alice")
		// Another folder in alice's place, with the same files in it.
		h.must(os.Rename(h.homeDir("alice"), filepath.Join(h.dir, "aside")))
		h.awaitGone("alice")
		h.must(os.CopyFS(filepath.Join(h.dir, "copy"), os.DirFS(filepath.Join(h.dir, "aside"))))
		h.must(os.Chmod(filepath.Join(h.dir, "copy", "rocketchat", "state"), 0o700))
		h.must(os.Rename(filepath.Join(h.dir, "copy"), h.homeDir("alice")))
		h.online("alice")
		undisturbed()
	})
}

// What people said is remembered over an end of the supervisor.
func TestWhatIsWantedOutlivesTheSupervisor(t *testing.T) {
	t.Parallel()
	both(t, func(h *house) {
		h.add("alice", quick)
		h.add("bob", quick)
		h.add("carol", quick)
		h.start()
		h.online("alice", "bob", "carol")
		h.must(h.super.Stop(h.Context(), "alice"))
		h.must(h.super.Suspend(h.Context(), "carol", "unpaid since May"))
		h.must(h.stop())
		h.start()
		h.await("alice", healthcheck.Off, healthcheck.Operator)
		h.online("bob")
		if p := h.await("carol", healthcheck.Held, healthcheck.Suspended); deref(p.Error) != "unpaid since May" {
			h.Errorf("%q", deref(p.Error))
		}
		for viewer, want := range map[Viewer]string{Everybody: "rcsupervisor resume carol", {UID: os.Getuid()}: askAdministrator} {
			if e, ok := h.super.Explain(viewer, "carol"); !ok || deref(e.Action) != want {
				h.Errorf("%+v is told to try %q", viewer, deref(e.Action))
			}
		}
		err := h.super.Start(h.Context(), "carol")
		if err == nil || !strings.Contains(err.Error(), "unpaid since May") {
			h.Errorf("a suspended profile starts: %v", err)
		}
		h.write("carol", "channel.yaml", quick+"# changed\n")
		h.must(h.super.Rescan(h.Context()))
		h.await("carol", healthcheck.Held, healthcheck.Suspended)
		h.must(h.super.Resume(h.Context(), "carol"))
		h.online("carol")
	})
}

// enabled: false is not overruled by a start, which names the line.
func TestStartOfADisabledProfile(t *testing.T) {
	t.Parallel()
	both(t, func(h *house) {
		h.add("alice", quick+"enabled: false\n")
		h.start()
		h.await("alice", healthcheck.Off, healthcheck.Reload)
		err := h.super.Start(h.Context(), "alice")
		if err == nil || !strings.HasSuffix(err.Error(), "channel.yaml:3 says enabled: false") {
			h.Errorf("%v", err)
		}
	})
}

// Both copies of the ledger damaged: nothing runs until a person says so.
func TestTheLedgerIsLost(t *testing.T) {
	t.Parallel()
	both(t, func(h *house) {
		h.add("alice", quick)
		h.add("bob", quick)
		h.start()
		h.online("alice", "bob")
		h.must(h.stop())
		for _, name := range []string{profile.LedgerFile, profile.LedgerPrevious} {
			h.must(os.WriteFile(filepath.Join(h.dir, "state", name), []byte("{"), 0o600))
		}
		h.start()
		p := h.await("alice", healthcheck.Held, healthcheck.LedgerLost)
		h.await("bob", healthcheck.Held, healthcheck.LedgerLost)
		if deref(p.Action) != "rcsupervisor start alice" || !slices.ContainsFunc(p.Warnings, func(w healthcheck.Warning) bool { return w.Code == "ledger-lost" }) {
			h.Errorf("%q %v", deref(p.Action), p.Warnings)
		}
		h.write("bob", "channel.yaml", quick+"# a changed file starts nothing\n")
		h.must(h.super.Rescan(h.Context()))
		h.must(h.super.Start(h.Context(), "alice"))
		h.online("alice")
		if p, _ := h.super.Profile(Everybody, "bob"); p.State != healthcheck.Held && p.State != healthcheck.Off {
			h.Errorf("bob is %s", p.State)
		}
		h.must(h.stop())
		h.start()
		h.online("alice")
		h.await("bob", healthcheck.Off, healthcheck.Operator) // nobody knows what was wanted of him
	})
}

// One copy damaged costs nothing.
func TestOneCopyOfTheLedgerIsLost(t *testing.T) {
	t.Parallel()
	both(t, func(h *house) {
		h.add("alice", quick)
		h.start()
		h.online("alice")
		h.must(h.super.Stop(h.Context(), "alice"))
		h.must(h.super.Start(h.Context(), "alice"))
		h.must(h.super.Stop(h.Context(), "alice"))
		h.must(h.stop())
		h.must(os.Truncate(filepath.Join(h.dir, "state", profile.LedgerPrevious), 10))
		h.start()
		h.await("alice", healthcheck.Off, healthcheck.Operator)
	})
}

// Three of one server refused within a minute: it is the server. One that logs
// in frees the others.
func TestTheServerRefusesThree(t *testing.T) {
	t.Parallel()
	both(t, func(h *house) {
		all := []string{"alice", "bob", "carol"}
		for _, name := range all {
			h.add(name, quick)
		}
		h.start()
		h.online(all...)
		mend := h.server.Break(pretend.Fault{Kind: pretend.RefuseToken})
		h.server.Break(pretend.Fault{Kind: pretend.Drop, Code: 1012})
		for _, name := range all {
			p := h.awaitThat(name, "backoff refused", func(p ProfileStatus) bool {
				return p.State == healthcheck.Backoff && deref(p.Reason) == "refused"
			})
			if p.RetryAt == nil || time.Until(*p.RetryAt) > healthcheck.DoubtLast {
				h.Errorf("%s: until %v", name, p.RetryAt)
			}
		}
		mend()
		h.seal("alice", h.bots["alice"], h.server.AddToken(h.bots["alice"])) // somebody does something
		h.online(all...)
	})
}

// A server that goes away is asked by one probe for all of its profiles, and
// lets all in when it is back; nobody counts as flapping (RC.ReactNative#7443).
func TestTheServerIsAway(t *testing.T) {
	t.Parallel()
	both(t, func(h *house) {
		all := []string{"alice", "bob", "carol", "dave"}
		for _, name := range all {
			h.add(name, quick)
		}
		h.start()
		h.online(all...)
		h.server.Break(pretend.Fault{Kind: pretend.Restart, Delay: pretend.Duration(4 * time.Second)})
		for _, name := range all {
			h.awaitThat(name, "waiting for its server", func(p ProfileStatus) bool {
				return p.State == healthcheck.Backoff && deref(p.Reason) == "unreachable"
			})
		}
		before, _ := h.server.Sockets()
		h.online(all...)
		after, _ := h.server.Sockets()
		if after-before > len(all)+1 {
			h.Errorf("%d sockets for %d profiles", after-before, len(all))
		}
		for _, name := range all {
			if p, _ := h.super.Profile(Everybody, name); p.Flapping {
				h.Errorf("%s is flapping", name)
			}
		}
	})
}

// A bot starts before its server does (hubot-rocketchat#131).
func TestTheServerComesLater(t *testing.T) {
	t.Parallel()
	both(t, func(h *house) {
		h.add("alice", quick)
		mend := h.server.Break(pretend.Fault{Kind: pretend.Unreachable})
		h.start()
		h.await("alice", healthcheck.Backoff, healthcheck.Unreachable)
		mend()
		h.online("alice")
	})
}

// More than six ends that followed online within ten minutes are flapping, and
// the profile says so; a person ends it.
func TestFlapping(t *testing.T) {
	t.Parallel()
	both(t, func(h *house) {
		h.add("alice", quick)
		h.start()
		h.online("alice")
		k := h.super.keeper("alice")
		for range healthcheck.FlapEnds {
			h.must(k.ask(h.Context(), func() error { // as if it had just happened
				copy(k.history.Tally[:], k.history.Tally[1:])
				k.history.Tally[len(k.history.Tally)-1] = time.Now()
				return nil
			}))
		}
		h.server.Break(pretend.Fault{Kind: pretend.Drop, User: "alice", Code: 1006})
		p := h.await("alice", healthcheck.Backoff, healthcheck.Closed)
		if !p.Flapping || p.RetryAt == nil || time.Until(*p.RetryAt) < 4*time.Minute {
			h.Errorf("flapping %v, again at %v", p.Flapping, p.RetryAt)
		}
		h.must(h.super.Start(h.Context(), "alice"))
		h.online("alice")
		if p, _ := h.super.Profile(Everybody, "alice"); p.Flapping {
			h.Error("it is flapping still")
		}
	})
}

// One bad file among ten does not keep the others from starting, and a
// half-written one is read again (hermes#52796, #117508).
func TestOneOfTenIsBad(t *testing.T) {
	t.Parallel()
	both(t, func(h *house) {
		var good []string
		for _, name := range []string{"a", "b", "c", "d", "e", "f", "g", "h"} {
			h.add(name, quick)
			good = append(good, name)
		}
		h.add("bad", "agent: {kind: [\n")
		h.home("empty", quick) // no envelope
		h.home("link", quick)
		h.must(os.Remove(h.path("link", "channel.yaml")))
		h.must(os.Symlink(h.path("a", "channel.yaml"), h.path("link", "channel.yaml")))
		h.add("wide", quick)
		h.must(os.Chmod(h.homeDir("wide"), 0o777))
		h.start()
		h.online(good...)
		for name, want := range map[string]healthcheck.State{
			"bad": healthcheck.NeedsConfig, "empty": healthcheck.NeedsToken, "link": healthcheck.NeedsConfig, "wide": healthcheck.NeedsConfig,
		} {
			if p := h.await(name, want, ""); p.Error == nil || p.Action == nil {
				h.Errorf("%s says nothing: %+v", name, p)
			}
		}
		h.must(os.Chmod(h.homeDir("wide"), 0o755))
		if err := h.super.Rescan(h.Context()); err == nil || !strings.Contains(err.Error(), "bad/rocketchat/channel.yaml:1") {
			h.Errorf("a rescan finds nothing wrong: %v", err)
		}
		h.online("wide")
	})
}
