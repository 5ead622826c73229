package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"rcsupervisor/healthcheck"
	"rcsupervisor/internal/control"
)

func waitVerb(s streams) *cli.Command {
	return &cli.Command{
		Name:      "wait",
		Usage:     "wait until profiles are in a state",
		UsageText: "rcsupervisor wait NAME...|--all [--for STATE] [--timeout 30s]",
		Description: `Exit: 0 all are, 5 some are, 1 none is.

   rcsupervisor wait alice bob --for online --timeout 1m
   rcsupervisor wait --all --for off`,
		Flags: []cli.Flag{
			allFlag(), jsonFlag(),
			&cli.StringFlag{Name: "for", Usage: "the `STATE`: " + stateNames(), Value: string(healthcheck.Online)},
			&cli.DurationFlag{Name: "timeout", Usage: "how `LONG` at most", Value: 30 * time.Second},
		},
		OnUsageError: usageError,
		Action: func(c *cli.Context) error {
			state := healthcheck.State(c.String("for"))
			if !slices.Contains(healthcheck.States(), state) {
				return usage(fmt.Errorf("%q is no state; there are %s", string(state), stateNames()), "rcsupervisor wait NAME --for online")
			}
			if err := someNamed(c); err != nil {
				return err
			}
			client, err := connect(c)
			if err != nil {
				return err
			}
			defer client.Close()
			names, err := chosen(c, client)
			if err != nil {
				return err
			}
			return waitFor(c, s, client, names, state)
		},
	}
}

func stateNames() string {
	var names []string
	for _, s := range healthcheck.States() {
		names = append(names, string(s))
	}
	return strings.Join(names, ", ")
}

// waitFor waits for all at once and tells which are where they should be.
func waitFor(c *cli.Context, s streams, client *control.Client, names []string, state healthcheck.State) error {
	now, err := await(c.Context, client, names, state, c.Duration("timeout"), false)
	if err != nil {
		return remote(err)
	}
	var missing []string
	outcomes := make([]outcome, len(names))
	for i, name := range names {
		outcomes[i] = outcome{Name: name, OK: now[name] == state}
		if !outcomes[i].OK {
			where := string(now[name])
			if where == "" {
				where = "not there"
			}
			missing = append(missing, name+" is "+where)
			outcomes[i].Error = &control.Error{Code: control.CodeFailed, Message: name + " is " + where, Try: "rcsupervisor status " + name}
		}
	}
	if c.Bool("json") {
		if err := printJSON(s, outcomes); err != nil {
			return err
		}
	}
	switch {
	case len(missing) == 0:
		return nil
	case len(missing) < len(names):
		return &failure{errors.New(strings.Join(missing, "\n")), "rcsupervisor status", exitPartly}
	}
	return &failure{errors.New(strings.Join(missing, "\n")), "rcsupervisor status " + names[0], exitFailed}
}

// errEnough ends watching.
var errEnough = errors.New("seen enough")

// waitsForPeople reports whether a profile in that state stays there until
// somebody does something.
func waitsForPeople(s healthcheck.State) bool {
	return s == healthcheck.NeedsToken || s == healthcheck.NeedsConfig || s == healthcheck.Held
}

// await returns the states of profiles once all are in the wanted one, or the
// time is over; with stuck also once all others wait for people.
func await(ctx context.Context, client *control.Client, names []string, state healthcheck.State, timeout time.Duration, stuck bool) (map[string]healthcheck.State, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	now := make(map[string]healthcheck.State)
	err := client.Watch(ctx, func(u control.Update) error {
		switch {
		case u.Snapshot != nil:
			for _, p := range u.Snapshot.Profiles {
				now[p.Name] = p.State
			}
		case u.Profile != nil:
			now[u.Profile.Name] = u.Profile.State
		case u.Gone != "":
			delete(now, u.Gone)
		}
		for _, name := range names {
			if now[name] != state && !(stuck && waitsForPeople(now[name])) {
				return nil
			}
		}
		return errEnough
	})
	if errors.Is(err, errEnough) || ctx.Err() != nil {
		return now, nil
	}
	return now, err
}

// awaitOne is await for one profile, as an error.
func awaitOne(ctx context.Context, client *control.Client, name string, state healthcheck.State, timeout time.Duration) error {
	now, err := await(ctx, client, []string{name}, state, timeout, true)
	if err == nil && now[name] != state {
		err = &control.Error{
			Code: control.CodeFailed, Message: name + " is " + string(now[name]),
			Try: "rcsupervisor status " + name,
		}
	}
	return err
}
