package main

import (
	"errors"
	"fmt"

	"github.com/urfave/cli/v2"

	"rcsupervisor/internal/enroll"
	"rcsupervisor/internal/supervisor"
)

func checkVerb(s streams) *cli.Command {
	return &cli.Command{
		Name:      "check",
		Usage:     "look a profile over: files, seal, server, token, socket, access",
		UsageText: "rcsupervisor check NAME",
		Description: `Does once what a start does, step by step, and says what mends each thing that is
wrong. It connects and lets go; a channel that runs keeps its own socket.

   rcsupervisor check alice`,
		OnUsageError: usageError,
		Action: func(c *cli.Context) error {
			name, err := oneName(c)
			if err != nil {
				return err
			}
			r, err := reading(c, name)
			if err != nil {
				return err
			}
			keys, err := keyring(c)
			if err != nil {
				return err
			}
			tenant := supervisor.Tenant{Name: name, Path: r.Home, Identity: keys.Identity()}
			try := ""
			good := enroll.Check(c.Context, tenant, r, keys, func(f enroll.Finding) {
				mark := "FAIL"
				switch {
				case f.OK:
					mark = "ok"
				case f.Warn:
					mark = "warn"
				}
				fmt.Fprintf(s.out, "%-5s %-9s %s\n", mark, f.What, f.Text)
				if f.Try != "" {
					fmt.Fprintf(s.out, "      %-9s try: %s\n", "", f.Try)
				}
				if mark == "FAIL" {
					try = f.Try
				}
			})
			if !good {
				return fail(errors.New(name+" would not run as it is"), try)
			}
			return nil
		},
	}
}
