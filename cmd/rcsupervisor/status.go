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

	"rcsupervisor/healthcheck"
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
	names := c.Args().Slice()
	if slices.ContainsFunc(names, isPattern) {
		if names, err = chosen(c, client); err != nil {
			return err
		}
	}
	switch {
	case c.Bool("watch"):
		return watchStatus(c, s, client, names)
	case len(names) == 1 && !c.Bool("json"):
		e, err := client.Explain(c.Context, names[0])
		if err != nil {
			return remote(err)
		}
		explain(s, e)
		return nil
	}
	st, err := client.Status(c.Context, names...)
	if err != nil {
		return remote(err)
	}
	if c.Bool("json") {
		return printJSON(s, st)
	}
	printStatus(s, st)
	return nil
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
	st := supervisor.Status{Profiles: []supervisor.ProfileStatus{}}
	for _, r := range snap.Profiles {
		if c.NArg() == 0 || slices.ContainsFunc(c.Args().Slice(), func(arg string) bool { return matches(arg, r.Name) }) {
			st.Profiles = append(st.Profiles, supervisor.Wanted(r, ledger))
		}
	}
	if c.Bool("json") {
		return printJSON(s, st)
	}
	printStatus(s, st)
	return nil
}

func matches(arg, name string) bool {
	names, err := expand([]string{arg}, []string{name})
	return err == nil && slices.Contains(names, name)
}

// watchStatus shows the table, and then a line for each change: one that is the
// truth within a second of what happened.
func watchStatus(c *cli.Context, s streams, client *control.Client, names []string) error {
	shown := make(map[string]string)
	wanted := func(name string) bool { return len(names) == 0 || slices.Contains(names, name) }
	return remote(client.Watch(c.Context, func(u control.Update) error {
		if c.Bool("json") {
			return watchJSON(s, u, wanted)
		}
		switch {
		case u.Snapshot != nil:
			u.Snapshot.Profiles = slices.DeleteFunc(u.Snapshot.Profiles, func(p supervisor.ProfileStatus) bool { return !wanted(p.Name) })
			printStatus(s, *u.Snapshot)
			for _, p := range u.Snapshot.Profiles {
				shown[p.Name] = gist(p)
			}
		case u.Profile != nil && wanted(u.Profile.Name) && shown[u.Profile.Name] != gist(*u.Profile):
			shown[u.Profile.Name] = gist(*u.Profile)
			fmt.Fprintf(s.out, "%s  %-16s %s\n", time.Now().Format(time.TimeOnly), u.Profile.Name, gist(*u.Profile))
		case u.Gone != "" && wanted(u.Gone):
			delete(shown, u.Gone)
			fmt.Fprintf(s.out, "%s  %-16s gone\n", time.Now().Format(time.TimeOnly), u.Gone)
		}
		return nil
	}))
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

// gist is what a person wants to know of a change.
func gist(p supervisor.ProfileStatus) string {
	parts := []string{string(p.State)}
	switch {
	case p.Reason == nil:
	case p.State == healthcheck.Online || p.State == healthcheck.Connecting || p.State == healthcheck.Starting:
		parts = append(parts, "after", *p.Reason)
	default:
		parts = append(parts, *p.Reason)
	}
	if p.Restarts > 0 {
		parts = append(parts, restarts(p.Restarts))
	}
	if p.Flapping {
		parts = append(parts, "flapping")
	}
	if p.Error != nil {
		parts = append(parts, "("+printable(firstLine(*p.Error))+")")
	}
	if n := len(p.Pending); n > 0 {
		parts = append(parts, fmt.Sprintf("[%d to accept]", n))
	}
	for _, w := range p.Warnings {
		if w.Code != "pending" {
			parts = append(parts, "!"+w.Code)
		}
	}
	return strings.Join(parts, " ")
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}
