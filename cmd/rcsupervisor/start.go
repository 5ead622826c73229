package main

import (
	"context"
	"time"

	"github.com/urfave/cli/v2"

	"rcsupervisor/healthcheck"
)

// startTimeout is how long --wait waits for a profile to be online.
const startTimeout = 60 * time.Second

func startVerb(s streams) *cli.Command {
	return orderVerb(s, "start", "started", &cli.Command{
		Usage: "run profiles, from now on and after a restart of the supervisor",
		Description: `Forgives what went wrong before and tries at once. A profile whose channel.yaml
says enabled: false, or that is suspended, does not start.

   rcsupervisor start alice
   rcsupervisor start 'shop-*' --spread 2m
   rcsupervisor start --all --wait`,
	})
}

// orderVerb is start or restart: an order that returns when it is accepted, or
// with --wait when the profiles are online.
func orderVerb(s streams, verb, done string, cmd *cli.Command) *cli.Command {
	cmd.Name = verb
	cmd.UsageText = "rcsupervisor " + verb + " NAME...|--all [--wait] [--spread 10m]"
	cmd.Flags = []cli.Flag{
		allFlag(), jsonFlag(), spreadFlag(),
		&cli.BoolFlag{Name: "wait", Usage: "return when they are online, within a minute each"},
	}
	cmd.OnUsageError = usageError
	cmd.Action = func(c *cli.Context) error {
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
		return each(c, s, names, c.Duration("spread"), done, func(ctx context.Context, name string) error {
			if err := client.Do(ctx, verb, name, nil, nil); err != nil || !c.Bool("wait") {
				return err
			}
			return awaitOne(ctx, client, name, healthcheck.Online, startTimeout)
		})
	}
	return cmd
}
