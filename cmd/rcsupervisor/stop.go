package main

import (
	"context"

	"github.com/urfave/cli/v2"
)

func stopVerb(s streams) *cli.Command {
	return &cli.Command{
		Name:      "stop",
		Usage:     "end profiles, and keep them off until they are started",
		UsageText: "rcsupervisor stop NAME...|--all [--spread 10m]",
		Description: `Returns when they are off, within 15 s. They stay off when the supervisor is
started again.

   rcsupervisor stop alice
   rcsupervisor stop 'shop-*'`,
		Flags:        []cli.Flag{allFlag(), jsonFlag(), spreadFlag(), &cli.BoolFlag{Name: "wait", Hidden: true, Usage: "as is done anyhow"}},
		OnUsageError: usageError,
		Action: func(c *cli.Context) error {
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
			return each(c, s, names, c.Duration("spread"), "stopped", func(ctx context.Context, name string) error {
				return client.Do(ctx, "stop", name, nil, nil)
			})
		},
	}
}
