package supervisor

import (
	"bufio"
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"rcsupervisor/channel"
	"rcsupervisor/channel/agent"
	"rcsupervisor/channel/pretend"
	"rcsupervisor/internal/worker"
	"rcsupervisor/sealed"
)

// confessing is an agent that says which secrets and which home its channel was
// given.
type confessing struct {
	agent.Echo
	start channel.Start
}

func (c confessing) Begin(context.Context, agent.Question) (agent.Turn, error) {
	s := c.start
	said := []string{"home " + filepath.Base(s.Home), "token " + s.Credentials.Token.Reveal(), "asker " + s.Credentials.AskerKey.Reveal()}
	for _, name := range slices.Sorted(maps.Keys(s.Credentials.Values)) {
		said = append(said, name+" "+s.Credentials.Values[name].Reveal())
	}
	t := slowTurn{events: make(chan agent.Event, 2), cancel: make(chan struct{}, 1)}
	t.events <- agent.Text{Chunk: strings.Join(said, "; ")}
	t.events <- agent.Done{Stop: agent.Ended}
	close(t.events)
	return t, nil
}

// What keeps a shared bot from acting for the wrong person, where it is met by
// what is kept apart, and by what is listened to. Nothing else runs beside it:
// it looks at the sockets of the whole process.
func TestASharedBotActsForNobodyElse(t *testing.T) {
	for _, kind := range []worker.Kind{worker.Shared, worker.Process} {
		t.Run(string(kind), func(t *testing.T) {
			h := newHouse(t, kind)
			before := listening(t, os.Getpid())
			for _, name := range []string{"alice", "bob"} {
				h.add(name, "agent: {kind: exec, command: [confess], secrets: [KEY]}\n")
				h.sealTo(name, sealed.Envelope{
					Server: h.url, UserID: h.bots[name].ID, Token: sealed.NewSecret(h.bots[name].Token),
					Keys:   map[string]sealed.Secret{sealed.AskerKey: sealed.NewSecret(name + "'s asker key")},
					Values: map[string]sealed.Secret{"KEY": sealed.NewSecret(name + "'s key"), "OTHER": sealed.NewSecret("not its business")},
				})
			}
			for _, name := range []string{"ROCKETCHAT_TOKEN", "ROCKETCHAT_USER_ID", "ROCKETCHAT_TEAM_ASKER_KEY", "KEY"} {
				t.Setenv(name, "a decoy")
			}
			h.start()
			h.online("alice", "bob")
			t.Run("secrets cross profiles", func(t *testing.T) { secretsStayAtHome(t, h) })
			t.Run("an unauthenticated webhook", func(t *testing.T) {
				// There is none: nothing can be sent to a channel but through Rocket.Chat.
				if now := listening(t, os.Getpid()); !slices.Equal(now, before) {
					t.Errorf("it listens on %q, and did on %q", now, before)
				}
				if kind != worker.Process {
					return
				}
				for _, name := range []string{"alice", "bob"} {
					if found := listening(t, h.pid(name)); len(found) > 0 {
						t.Errorf("the worker of %s listens on %q", name, found)
					}
				}
			})
		})
	}
}

// secretsStayAtHome asks each bot what it knows: its own alone.
func secretsStayAtHome(t *testing.T, h *house) {
	for _, name := range []string{"alice", "bob"} {
		room := h.server.AddDirect(h.owner, h.bots[name])
		before := len(h.server.Messages(room))
		h.server.Say(h.owner, room, "confess")
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		said := ""
		err := h.server.Await(ctx, func() bool {
			return slices.ContainsFunc(h.server.Messages(room)[before:], func(m pretend.Message) bool {
				said = m.Text
				return m.User.Username == name
			})
		})
		if err != nil {
			t.Fatal(err)
		}
		want := fmt.Sprintf("home %s; token %s; asker %s's asker key; KEY %s's key", name, h.bots[name].Token, name, name)
		if said != want {
			t.Errorf("%s was given %q, want %q", name, said, want)
		}
		if _, err := os.Stat(h.path(name, "state")); err != nil {
			t.Errorf("the state of %s is not in its home: %v", name, err)
		}
	}
}

// listening are the addresses on which a process takes TCP connections or
// datagrams, or on a socket of the file system.
func listening(t *testing.T, pid int) (found []string) {
	t.Helper()
	links, err := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
	if err != nil || len(links) == 0 {
		t.Fatalf("the descriptors of %d can't be read: %v", pid, err)
	}
	own := map[string]bool{}
	for _, link := range links {
		if to, err := os.Readlink(link); err == nil {
			own[strings.TrimSuffix(strings.TrimPrefix(to, "socket:["), "]")] = true
		}
	}
	// Of each table: the column of the inode, that of the state, and the states
	// of a socket that others can reach.
	for table, at := range map[string]struct {
		inode, state int
		open         string
	}{"tcp": {9, 3, "0A"}, "tcp6": {9, 3, "0A"}, "udp": {9, 3, "07"}, "udp6": {9, 3, "07"}, "unix": {6, 3, "00010000"}} {
		f, err := os.Open("/proc/net/" + table)
		if err != nil {
			t.Fatal(err)
		}
		for lines := bufio.NewScanner(f); lines.Scan(); {
			fields := strings.Fields(lines.Text())
			if len(fields) > at.inode && own[fields[at.inode]] && fields[at.state] == at.open {
				found = append(found, table+" "+fields[1]+" "+fields[len(fields)-1])
			}
		}
		f.Close()
	}
	slices.Sort(found)
	return found
}
