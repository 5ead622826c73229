package main

import (
	"context"
	"fmt"

	"github.com/urfave/cli/v2"

	"rcsupervisor/internal/control"
)

func suspendVerb(s streams) *cli.Command {
	return &cli.Command{
		Name:      "suspend",
		Usage:     "keep a profile off, whatever its owner asks",
		UsageText: "rcsupervisor suspend NAME [--reason TEXT]",
		Description: `For root and the supervisor's user. The reason is told to the owner.

   rcsupervisor suspend alice --reason "unpaid since May"`,
		Flags:        []cli.Flag{jsonFlag(), &cli.StringFlag{Name: "reason", Usage: "why, in `TEXT` for its owner"}},
		OnUsageError: usageError,
		Action: func(c *cli.Context) error {
			return oneOrder(c, s, "suspended", func(ctx context.Context, client *control.Client, name string) error {
				return client.Do(ctx, "suspend", name, control.SuspendArgs{Reason: c.String("reason")}, nil)
			})
		},
	}
}

func resumeVerb(s streams) *cli.Command {
	return &cli.Command{
		Name:      "resume",
		Usage:     "end a suspension",
		UsageText: "rcsupervisor resume NAME",
		Description: `For root and the supervisor's user. The profile runs again if it is wanted.

   rcsupervisor resume alice`,
		Flags:        []cli.Flag{jsonFlag()},
		OnUsageError: usageError,
		Action: func(c *cli.Context) error {
			return oneOrder(c, s, "resumed", func(ctx context.Context, client *control.Client, name string) error {
				return client.Do(ctx, "resume", name, nil, nil)
			})
		},
	}
}

// oneOrder gives an order for the one profile that is named.
func oneOrder(c *cli.Context, s streams, done string, do func(context.Context, *control.Client, string) error) error {
	if c.NArg() != 1 {
		return usage(fmt.Errorf("%s takes the name of one profile", c.Command.Name), "rcsupervisor "+c.Command.Name+" NAME")
	}
	client, err := connect(c)
	if err != nil {
		return err
	}
	defer client.Close()
	return each(c, s, c.Args().Slice(), 0, done, func(ctx context.Context, name string) error { return do(ctx, client, name) })
}
