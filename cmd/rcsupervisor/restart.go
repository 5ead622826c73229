package main

import "github.com/urfave/cli/v2"

func restartVerb(s streams) *cli.Command {
	return orderVerb(s, "restart", "restarted", &cli.Command{
		Usage: "end the runs of profiles and begin others",
		Description: `Only the profiles named are touched. What was being answered is cancelled; what
is owed is posted by the next run.

   rcsupervisor restart alice --wait
   rcsupervisor restart --all --spread 10m`,
	})
}
