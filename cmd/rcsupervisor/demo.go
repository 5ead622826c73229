package main

import (
	"github.com/urfave/cli/v2"

	"rcsupervisor/internal/demo"
)

func demoVerb(s streams) *cli.Command {
	return &cli.Command{
		Name:      "demo",
		Usage:     "a pretend Rocket.Chat with three bots and a page to chat on",
		UsageText: "rcsupervisor demo [--listen ADDR]\nrcsupervisor demo --script",
		Description: `Needs nothing: no server, no account, no file. Everything it makes lies in a
temporary folder that is gone when it ends.

   rcsupervisor demo            open the address it prints, and write to a bot
   rcsupervisor demo --script   a fixed conversation; exit 0 if it went well`,
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "script", Usage: "play a fixed conversation and say what was expected and what happened"},
			&cli.StringFlag{Name: "listen", Usage: "`ADDR` of the server", DefaultText: "a free port of this machine alone"},
		},
		OnUsageError: usageError,
		Action: func(c *cli.Context) error {
			if err := noArgs(c); err != nil {
				return err
			}
			ctx, stop := s.listened(c.Context)
			defer stop()
			o := demo.Options{Addr: c.String("listen"), Out: s.out}
			if c.Bool("script") {
				if err := demo.Script(ctx, o); err != nil {
					return fail(err, "rcsupervisor demo")
				}
				return nil
			}
			if err := demo.Play(ctx, o); err != nil {
				return fail(err, "rcsupervisor demo --listen 127.0.0.1:0")
			}
			return nil
		},
	}
}
