package main

import (
	"context"
	"fmt"
	"io"
	"os"

	"github.com/urfave/cli/v2"

	"rcsupervisor/sealed"
)

func initVerb(s streams) *cli.Command {
	return &cli.Command{
		Name:      "init",
		Usage:     "make the identity that opens the seals, its recipients, and the state directory",
		UsageText: "rcsupervisor init [--recovery RECIPIENT]... [--passphrase]",
		Description: `Makes what is missing and changes nothing that is there, so it may be run again.
Without the identity no sealed file can be opened: keep a recovery key offline
and name its public half here.

   rcsupervisor init
   rcsupervisor init --recovery age1pq1...
   rcsupervisor init --passphrase            for verbs alone: run can't be asked
   rcsupervisor --identity /etc/rcsupervisor/identity.txt init`,
		Flags: []cli.Flag{
			&cli.StringSliceFlag{Name: "recovery", Usage: "a `RECIPIENT` (age1pq1...) whose key is kept elsewhere; repeatable"},
			&cli.BoolFlag{Name: "passphrase", Usage: "protect a new identity with a passphrase"},
			jsonFlag(),
		},
		OnUsageError: usageError,
		Action:       func(c *cli.Context) error { return makeHost(c, s) },
	}
}

// An initResult is what init says in JSON.
type initResult struct {
	Identity   string   `json:"identity"`
	Created    bool     `json:"created"`
	Recipients string   `json:"recipients"`
	Keys       []string `json:"keys"`
	StateDir   string   `json:"state_dir"`
}

func makeHost(c *cli.Context, s streams) error {
	if err := noArgs(c); err != nil {
		return err
	}
	o := identityOptions(c)
	if o.FD != nil {
		return usage(fmt.Errorf("init makes a file; --identity-fd has none"), "rcsupervisor init --identity FILE")
	}
	path := o.File
	if path == "" {
		path = os.Getenv(sealed.IdentityVar)
	}
	options := sealed.InitOptions{Path: path, Recovery: c.StringSlice("recovery"), Options: o}
	if c.Bool("passphrase") {
		passphrase, err := newPassphrase(c.Context, s)
		if err != nil {
			return err
		}
		options.Passphrase = passphrase
	}
	made, err := sealed.Init(options)
	if err != nil {
		return fail(err, "")
	}
	state := stateDir(c)
	if err := os.MkdirAll(state, 0o700); err != nil {
		return fail(fmt.Errorf("the state directory: %w", err), "rcsupervisor init --state-dir DIR")
	}
	keys := made.Keyring.Recipients().Keys()
	r := initResult{Identity: made.Path, Created: made.Created, Recipients: made.Recipients, Keys: keys, StateDir: state}
	err = show(c, s, r, func(w io.Writer) {
		word := "kept"
		if made.Created {
			word = "made"
		}
		fmt.Fprintf(w, "identity    %s (%s)\nrecipients  %s (%d)\nstate       %s\n", r.Identity, word, r.Recipients, len(keys), state)
	})
	if len(keys) == 1 {
		s.word("only this host can open what is sealed; a recovery key kept elsewhere is advised: rcsupervisor init --recovery age1pq1...")
	}
	s.word("next: rcsupervisor add NAME --server URL")
	return err
}

// newPassphrase asks for a new passphrase, twice.
func newPassphrase(ctx context.Context, s streams) (sealed.Secret, error) {
	if !isTerminal(s.in) {
		return sealed.Secret{}, usage(fmt.Errorf("a passphrase is asked on a terminal, and there is none"), "rcsupervisor init")
	}
	var typed [2]string
	for i, question := range []string{"A passphrase for the identity: ", "The same again: "} {
		var err error
		if typed[i], err = askHidden(ctx, s, question); err != nil {
			return sealed.Secret{}, fail(err, "rcsupervisor init")
		}
	}
	if typed[0] != typed[1] || typed[0] == "" {
		return sealed.Secret{}, usage(fmt.Errorf("the two are not the same, or empty"), "rcsupervisor init --passphrase")
	}
	return sealed.NewSecret(typed[0]), nil
}

// noArgs is for verbs that take none.
func noArgs(c *cli.Context) error {
	if c.NArg() > 0 {
		return usage(fmt.Errorf("%s takes no names", c.Command.Name), "rcsupervisor "+c.Command.Name+" --help")
	}
	return nil
}
