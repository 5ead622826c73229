package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"rcsupervisor/internal/control"
	"rcsupervisor/internal/supervisor"
	"rcsupervisor/profile"
)

func statusVerb(s streams) *cli.Command {
	return &cli.Command{
		Name:      "status",
		Usage:     "what every profile is doing; with one NAME also why, what comes next, and what mends it",
		UsageText: "rcsupervisor status [NAME...] [--json] [--watch]",
		Description: `Without a supervisor it shows what is wanted, and exits with 3.

   rcsupervisor status
   rcsupervisor status alice
   rcsupervisor status --watch
   rcsupervisor status --json | jq '.profiles[] | select(.state != "online")'`,
		Flags: []cli.Flag{
			jsonFlag(),
			&cli.BoolFlag{Name: "watch", Usage: "go on with what changes"},
		},
		OnUsageError: usageError,
		Action:       func(c *cli.Context) error { return status(c, s) },
	}
}

func status(c *cli.Context, s streams) error {
	client, err := connect(c)
	if notRunning(err) {
		return errors.Join(statusWithout(c, s), err)
	}
	if err != nil {
		return err
	}
	defer client.Close()
	w := &waiting{out: s.err}
	defer w.done()
	w.say("waiting for the supervisor")
	names := c.Args().Slice()
	if slices.ContainsFunc(names, isPattern) {
		if names, err = chosen(c, client); err != nil {
			return err
		}
	}
	switch {
	case c.Bool("watch"):
		w.done()
		return watchStatus(c, s, client, names)
	case len(names) == 1 && !c.Bool("json"):
		e, err := client.Explain(c.Context, names[0])
		w.done()
		if err != nil {
			return remote(err)
		}
		explain(s, e)
		return nil
	}
	st, unknown, err := statusOf(c, client, names)
	w.done()
	if err != nil {
		return remote(err)
	}
	return errors.Join(showStatus(c, s, st), noSuch(unknown, len(names)))
}

func showStatus(c *cli.Context, s streams, st supervisor.Status) error {
	if c.Bool("json") {
		return printJSON(s, st)
	}
	printStatus(s, st)
	return nil
}

// statusOf asks for the profiles named, or for all. Of names that some of which
// are no profile's it returns the others, and those.
func statusOf(c *cli.Context, client *control.Client, names []string) (st supervisor.Status, unknown []string, err error) {
	st, err = client.Status(c.Context, names...)
	if e, ok := errors.AsType[*control.Error](err); !ok || e.Code != control.CodeNoProfile || len(names) == 1 {
		return st, nil, err
	}
	if st, err = client.Status(c.Context); err != nil {
		return st, nil, err
	}
	for _, name := range names {
		if !slices.ContainsFunc(st.Profiles, func(p supervisor.ProfileStatus) bool { return p.Name == name }) {
			unknown = append(unknown, name)
		}
	}
	if len(unknown) == len(names) {
		return st, nil, noSuch(unknown, len(names))
	}
	st.Profiles = slices.DeleteFunc(st.Profiles, func(p supervisor.ProfileStatus) bool { return !slices.Contains(names, p.Name) })
	return st, unknown, nil
}

// noSuch is the error of names that are no profile's, of so many that were
// given.
func noSuch(unknown []string, given int) error {
	if len(unknown) == 0 {
		return nil
	}
	var lines []string
	for _, name := range unknown {
		lines = append(lines, "no such profile: "+shown(name))
	}
	code := exitPartly
	if len(unknown) == given {
		code = exitNoProfile
	}
	return &failure{errors.New(strings.Join(lines, "\n")), "rcsupervisor status", code}
}

// statusWithout shows what is wanted of profiles while no supervisor runs.
func statusWithout(c *cli.Context, s streams) error {
	src, host, err := homesToRun(c)
	if err != nil {
		return err
	}
	var ledger *profile.Ledger
	if dir, err := os.OpenRoot(stateDir(c)); err == nil {
		defer dir.Close()
		if ledger, err = profile.OpenLedger(dir); err != nil {
			fmt.Fprintf(s.err, "rcsupervisor: %v\n", err)
		}
	}
	snap, err := profile.NewScanner(profile.Options{Sources: src, Host: host.Host()}).Scan(c.Context)
	if err != nil {
		return err
	}
	args := c.Args().Slice()
	var unknown []string
	for _, arg := range args {
		if !slices.ContainsFunc(snap.Profiles, func(r profile.Reading) bool { return matches(arg, r.Name) }) {
			unknown = append(unknown, arg)
		}
	}
	if len(args) > 0 && len(unknown) == len(args) {
		return noSuch(unknown, len(args))
	}
	st := supervisor.Status{Profiles: []supervisor.ProfileStatus{}}
	for _, r := range snap.Profiles {
		if len(args) > 0 && !slices.ContainsFunc(args, func(arg string) bool { return matches(arg, r.Name) }) {
			continue
		}
		if len(args) == 1 && args[0] == r.Name && !c.Bool("json") {
			explain(s, supervisor.ExplainWanted(r, ledger))
			return nil
		}
		st.Profiles = append(st.Profiles, supervisor.Wanted(r, ledger))
	}
	return showStatus(c, s, st)
}

func matches(arg, name string) bool {
	names, err := expand([]string{arg}, []string{name})
	return err == nil && slices.Contains(names, name)
}

// watchStatus shows the table, and then a line for each change: one that is the
// truth within a second of what happened.
func watchStatus(c *cli.Context, s streams, client *control.Client, names []string) error {
	w := &watching{s: s, names: names, shown: make(map[string]string)}
	return remote(client.Watch(c.Context, names, func(u control.Update) error {
		if c.Bool("json") {
			return watchJSON(s, u, w.wanted)
		}
		w.update(u, time.Now())
		return s.lost()
	}))
}

// A watching prints what changes.
type watching struct {
	s     streams
	names []string // "" for all
	shown map[string]string
	long  int // columns of the longest name so far
}

func (w *watching) wanted(name string) bool {
	return len(w.names) == 0 || slices.Contains(w.names, name)
}

func (w *watching) update(u control.Update, now time.Time) {
	switch {
	case u.Snapshot != nil:
		u.Snapshot.Profiles = slices.DeleteFunc(u.Snapshot.Profiles, func(p supervisor.ProfileStatus) bool { return !w.wanted(p.Name) })
		printStatus(w.s, *u.Snapshot)
		w.long = nameWide(u.Snapshot.Profiles, widthOf(w.s.out))
		for _, p := range u.Snapshot.Profiles {
			w.shown[p.Name] = gist(p)
		}
	case u.Profile != nil && w.wanted(u.Profile.Name) && w.shown[u.Profile.Name] != gist(*u.Profile):
		w.shown[u.Profile.Name] = gist(*u.Profile)
		w.line(u.Profile.Name, paintedState(w.s, u.Profile.State), why(*u.Profile, now), now)
	case u.Gone != "" && w.wanted(u.Gone):
		delete(w.shown, u.Gone)
		w.line(u.Gone, "gone", "", now)
	}
}

// line prints one change in the columns of the table, but that when it was
// stands in front.
func (w *watching) line(name, state, why string, now time.Time) {
	wide := widthOf(w.s.out)
	w.long = min(max(w.long, cells(name)), max(16, wide-52))
	rest := wide - len(time.TimeOnly) - w.long - stateWide - 3*between
	line := now.Format(time.TimeOnly) + "  " + pad(cutMiddle(name, w.long), w.long+between) + state + cut(why, rest)
	fmt.Fprintln(w.s.out, strings.TrimRight(line, " "))
}

func watchJSON(s streams, u control.Update, wanted func(string) bool) error {
	e := json.NewEncoder(s.out)
	switch {
	case u.Snapshot != nil:
		return e.Encode(map[string]any{"event": control.EventSnapshot, "status": u.Snapshot})
	case u.Profile != nil && wanted(u.Profile.Name):
		return e.Encode(map[string]any{"event": control.EventProfile, "profile": u.Profile})
	case u.Gone != "" && wanted(u.Gone):
		return e.Encode(map[string]any{"event": control.EventGone, "name": u.Gone})
	case u.Supervisor != nil:
		return e.Encode(map[string]any{"event": control.EventSupervisor, "supervisor": u.Supervisor})
	}
	return nil
}

// gist is what makes a line of its own: not that time goes by.
func gist(p supervisor.ProfileStatus) string {
	p.RetryAt = nil
	return string(p.State) + " " + why(p, time.Time{})
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}
