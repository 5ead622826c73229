package trial

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"rcsupervisor/channel"
	"rcsupervisor/channel/agent"
	"rcsupervisor/internal/supervisor"
	"rcsupervisor/internal/worker"
	"rcsupervisor/profile"
	"rcsupervisor/sealed"
)

// A host is a folder with all that a supervisor needs: an identity, a state
// directory, and a root with the world's profile in it.
type host struct{ dir string }

// newHost makes the world's home part of a host: settings, access and sealed
// credentials.
func (w *world) newHost(t testing.TB) host {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	must(t, os.Chmod(dir, 0o755))
	h := host{dir}
	w.home = newHome(t, filepath.Join(dir, "root", "profiles", "trial"))
	_, err = sealed.Init(sealed.InitOptions{Path: h.identityFile()})
	must(t, err)
	_, keyring, err := h.keys()
	must(t, err)
	w.write(t, profile.SettingsFile, "agent: {kind: exec, command: [script]}\nlimits: {queue: 200, answers_per_hour: 10000}\n")
	var access strings.Builder
	access.WriteString("people:\n")
	for _, p := range w.people {
		fmt.Fprintf(&access, "  - {id: %q, name: %q, role: member}\n", p.ID, p.Username)
	}
	access.WriteString("rooms:\n")
	for _, r := range w.rooms {
		if r.Kind != "d" {
			fmt.Fprintf(&access, "  - {id: %q, name: %q}\n", r.ID, r.Name)
		}
	}
	w.write(t, profile.AccessFile, access.String())
	folder, err := supervisor.Tenant{Name: "trial", Path: w.home}.Folder()
	must(t, err)
	defer folder.Close()
	_, err = sealed.Store{Folder: supervisor.Sealed(folder), Profile: "trial"}.Write(sealed.Envelope{
		Server: w.url, UserID: w.bot.ID, Token: sealed.NewSecret(w.bot.Token),
		Keys: map[string]sealed.Secret{sealed.PostKey: sealed.NewSecret(w.key)},
	}, keyring, sealed.WriteOptions{})
	must(t, err)
	return h
}

func (w *world) write(t testing.TB, name, text string) {
	t.Helper()
	must(t, os.WriteFile(filepath.Join(w.home, profile.Folder, name), []byte(text), 0o600))
}

func (h host) identityFile() string { return filepath.Join(h.dir, "identity.txt") }

// keys are the host's own.
func (h host) keys() (*sealed.Identity, *sealed.Keyring, error) {
	o := sealed.Options{File: h.identityFile(), Getenv: func(string) string { return "" }}
	id, err := sealed.FindIdentity(o)
	if err != nil {
		return nil, nil, err
	}
	recipients, err := sealed.FindRecipients(id, o)
	if err != nil {
		return nil, nil, err
	}
	keyring, err := sealed.NewKeyring(id, recipients, false)
	return id, keyring, err
}

// supervisorChild runs a supervisor, whose workers are processes of this same
// binary, until it is killed, drained, or alone.
func supervisorChild() error {
	in := bufio.NewReader(os.Stdin)
	line, err := in.ReadBytes('\n')
	if err != nil {
		return err
	}
	var o orders
	if err := json.Unmarshal(line, &o); err != nil {
		return err
	}
	h := host{o.Host}
	if err := os.MkdirAll(filepath.Join(h.dir, "state"), 0o700); err != nil {
		return err
	}
	state, err := os.OpenRoot(filepath.Join(h.dir, "state"))
	if err != nil {
		return err
	}
	defer state.Close()
	reports, out := newSlot[channel.Report](), json.NewEncoder(os.Stdout)
	go func() {
		for range reports.wake {
			if r := reports.take(); r != nil {
				_ = out.Encode(r)
			}
		}
	}()
	super, err := supervisor.New(supervisor.Config{
		Sources: profile.Sources{Roots: []profile.Root{{Dir: filepath.Join(h.dir, "root")}}},
		Root:    true, State: state, Keys: supervisor.NewKeys(h.keys), Carrier: worker.NewProcesses(nil), Drain: drainTime,
		Log: slog.New(slog.NewTextHandler(os.Stderr, nil)),
		Observe: func(e supervisor.Event) {
			if e.Report != nil {
				reports.put(*e.Report)
			}
		},
	})
	if err != nil {
		return err
	}
	ctx, end := context.WithCancel(context.Background())
	defer end()
	go func() {
		if command, err := in.ReadString('\n'); err != nil || command != drain+"\n" {
			os.Exit(1) // nobody is left who could end it
		}
		end()
		_, _ = io.Copy(io.Discard, in)
	}()
	return super.Run(ctx, nil)
}

// workerChild is what a supervisor's worker is: the real one, with a script
// for an agent.
func workerChild() int {
	return worker.Main(os.Args, channel.Env{Agent: func(s channel.Start, _ channel.Link) (agent.Agent, error) {
		return orders{MaxThink: 20}.agent(s.Home)
	}})
}

// workers are the processes that a supervisor carries channels with.
func workers(t testing.TB, supervisor int) (pids []int) {
	t.Helper()
	all, err := filepath.Glob("/proc/[0-9]*/stat")
	must(t, err)
	for _, path := range all {
		stat, err := os.ReadFile(path)
		if err != nil {
			continue // it has gone
		}
		// The name, in parentheses, may hold anything.
		fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
		if len(fields) < 2 || fields[1] != strconv.Itoa(supervisor) {
			continue
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		must(t, err)
		if line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid)); worker.IsWorker(strings.Split(string(line), "\x00")) {
			pids = append(pids, pid)
		}
	}
	return pids
}
