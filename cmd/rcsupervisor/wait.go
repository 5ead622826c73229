package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
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
	w := &waiting{out: s.err}
	defer w.done()
	w.say(fmt.Sprintf("waiting until %d are %s", len(names), state))
	now, err := await(c.Context, client, names, c.Duration("timeout"), func(now map[string]healthcheck.State) bool {
		there := 0
		for _, name := range names {
			if now[name] == state {
				there++
			}
		}
		w.say(fmt.Sprintf("%d of %d are %s", there, len(names), state))
		return there == len(names)
	})
	w.done()
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
		return &failure{errors.New(strings.Join(few(missing), "\n")), "rcsupervisor status", exitPartly}
	}
	return &failure{errors.New(strings.Join(few(missing), "\n")), "rcsupervisor status " + names[0], exitFailed}
}

// errEnough ends watching.
var errEnough = errors.New("seen enough")

// waitsForPeople reports whether a profile in that state stays there until
// somebody does something.
func waitsForPeople(s healthcheck.State) bool {
	return s == healthcheck.NeedsToken || s == healthcheck.NeedsConfig || s == healthcheck.Held
}

// await returns the states of profiles once enough says so, or the time is
// over. enough is asked after each change.
func await(ctx context.Context, client *control.Client, names []string, timeout time.Duration, enough func(map[string]healthcheck.State) bool) (map[string]healthcheck.State, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	now := make(map[string]healthcheck.State)
	err := client.Watch(ctx, names, func(u control.Update) error {
		before := maps.Clone(now)
		switch {
		case u.Snapshot != nil:
			for _, p := range u.Snapshot.Profiles {
				if slices.Contains(names, p.Name) {
					now[p.Name] = p.State
				}
			}
		case u.Profile != nil && slices.Contains(names, u.Profile.Name):
			now[u.Profile.Name] = u.Profile.State
		case u.Gone != "":
			delete(now, u.Gone)
		}
		if (u.Snapshot != nil || !maps.Equal(before, now)) && enough(now) {
			return errEnough
		}
		return nil
	})
	if errors.Is(err, errEnough) || ctx.Err() != nil {
		return now, nil
	}
	return now, err
}

// awaitOne waits until one profile is in a state, and not once it waits for
// people.
func awaitOne(ctx context.Context, client *control.Client, name string, state healthcheck.State, timeout time.Duration) error {
	now, err := await(ctx, client, []string{name}, timeout, func(now map[string]healthcheck.State) bool {
		return now[name] == state || waitsForPeople(now[name])
	})
	if err == nil && now[name] != state {
		err = &control.Error{
			Code: control.CodeFailed, Message: name + " is " + string(now[name]),
			Try: "rcsupervisor status " + name,
		}
	}
	return err
}
