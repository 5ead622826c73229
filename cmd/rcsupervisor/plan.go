package main

import (
	"fmt"

	"github.com/urfave/cli/v2"
)

func planVerb(s streams) *cli.Command {
	return &cli.Command{
		Name:      "plan",
		Usage:     "what the files say that is not in use: what waits for a person, was cut, or can't be used",
		UsageText: "rcsupervisor plan [--json]",
		Description: `A changed file is in use within a second, but for what it gives more than before
(accept), what waits for the next start, and what can't be used.

   rcsupervisor plan`,
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
			plan, err := client.Plan(c.Context)
			if err != nil {
				return remote(err)
			}
			if c.Bool("json") {
				return printJSON(s, plan)
			}
			for _, p := range plan.Profiles {
				for _, text := range p.Changes {
					fmt.Fprintf(s.out, "%s  waits for a restart: %s\n", p.Name, printable(text))
				}
				for _, text := range p.Pending {
					fmt.Fprintf(s.out, "%s  waits for accept: %s\n", p.Name, printable(text))
				}
				for _, text := range p.Capped {
					fmt.Fprintf(s.out, "%s  cut by the host: %s\n", p.Name, printable(text))
				}
				if p.Error != nil {
					fmt.Fprintf(s.out, "%s  can't be used: %s\n", p.Name, printable(*p.Error))
				}
			}
			if len(plan.Profiles) == 0 {
				fmt.Fprintln(s.err, "rcsupervisor: everything is in use as the files say")
			}
			return nil
		},
	}
}
