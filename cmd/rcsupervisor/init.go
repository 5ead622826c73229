package main

import (
	"fmt"
	"os"

	"github.com/urfave/cli/v2"

	"rcsupervisor/sealed"
)

func initVerb(s streams) *cli.Command {
	return &cli.Command{
		Name:      "init",
		Usage:     "make the identity that opens the seals, its recipients, and the state directory",
		UsageText: "rcsupervisor init [--recovery RECIPIENT]...",
		Description: `Makes what is missing and changes nothing that is there, so it may be run again.
Without the identity no sealed file can be opened: keep a recovery key offline
and name its public half here.

   rcsupervisor init
   rcsupervisor init --recovery age1pq1...
   rcsupervisor --identity /etc/rcsupervisor/identity.txt init`,
		Flags: []cli.Flag{
			&cli.StringSliceFlag{Name: "recovery", Usage: "a `RECIPIENT` (age1pq1...) whose key is kept elsewhere; repeatable"},
		},
		OnUsageError: usageError,
		Action: func(c *cli.Context) error {
			made, err := sealed.Init(sealed.InitOptions{Path: c.String("identity"), Recovery: c.StringSlice("recovery"), Options: identityOptions(c)})
			if err != nil {
				return fail(err, "")
			}
			state := stateDir(c)
			if err := os.MkdirAll(state, 0o700); err != nil {
				return fail(fmt.Errorf("the state directory: %w", err), "rcsupervisor init --state-dir DIR")
			}
			word := "kept"
			if made.Created {
				word = "made"
			}
			fmt.Fprintf(s.out, "identity    %s (%s)\nrecipients  %s (%d)\nstate       %s\n", made.Path, word, made.Recipients, len(made.Keyring.Recipients().Keys()), state)
			if len(made.Keyring.Recipients().Keys()) == 1 {
				fmt.Fprintf(s.err, "rcsupervisor: only this host can open what is sealed; a recovery key kept elsewhere is advised\n")
			}
			fmt.Fprintf(s.err, "rcsupervisor: next: rcsupervisor add NAME --server URL\n")
			return nil
		},
	}
}

// identityOptions say where the identity is, by the flags.
func identityOptions(c *cli.Context) sealed.Options {
	o := sealed.Options{File: c.String("identity")}
	if fd := c.Int("identity-fd"); fd >= 0 {
		o.File, o.FD = "", &fd
	}
	return o
}
