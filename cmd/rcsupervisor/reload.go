package main

import (
	"errors"
	"fmt"

	"github.com/urfave/cli/v2"
)

func reloadVerb(s streams) *cli.Command {
	return &cli.Command{
		Name:      "reload",
		Usage:     "look at all homes and the identity now",
		UsageText: "rcsupervisor reload",
		Description: `Changed files are seen by themselves; this is for file systems that do not tell,
and for changed modes and owners.

   rcsupervisor reload`,
		Flags:        []cli.Flag{jsonFlag()},
		OnUsageError: usageError,
		Action: func(c *cli.Context) error {
			if err := noArgs(c); err != nil {
				return err
			}
			client, err := connect(c)
			if err != nil {
				return err
			}
			defer client.Close()
			w := &waiting{out: s.err}
			defer w.done()
			w.say("the supervisor looks at all homes")
			reply, err := client.Reload(c.Context)
			w.done()
			if err != nil {
				return remote(err)
			}
			if c.Bool("json") {
				if err := printJSON(s, reply); err != nil {
					return err
				}
			}
			switch {
			case reply.OK:
				fmt.Fprintln(s.err, "rcsupervisor: every home that was found can be used")
				return nil
			case reply.Error == nil:
				return &failure{errors.New("not every home can be used"), "rcsupervisor status", exitPartly}
			}
			return &failure{errors.New(*reply.Error), "rcsupervisor plan", exitPartly}
		},
	}
}
