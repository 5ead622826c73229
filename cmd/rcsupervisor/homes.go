package main

import (
	"fmt"
	"os"

	"github.com/urfave/cli/v2"

	"rcsupervisor/profile"
	"rcsupervisor/sealed"
)

// sources are the places where homes are looked for: the flags, else the
// variable, else where Hermes itself would look.
func sources(c *cli.Context) (profile.Sources, error) {
	var src profile.Sources
	for _, arg := range c.StringSlice("home") {
		h, err := profile.ParseHome(arg)
		if err != nil {
			return src, usage(err, "rcsupervisor --home NAME=DIR ...")
		}
		src.Homes = append(src.Homes, h)
	}
	args := roots(c)
	if len(args) == 0 {
		src.Roots = profile.DefaultRoots(os.Getenv("HERMES_HOME"), homeDir())
	}
	for _, arg := range args {
		r, err := profile.ParseRoot(arg)
		if err != nil {
			return src, usage(err, "rcsupervisor --root [PREFIX=]DIR ...")
		}
		src.Roots = append(src.Roots, r)
	}
	return src, nil
}

// reading finds and reads one profile.
func reading(c *cli.Context, name string) (profile.Reading, error) {
	src, err := sources(c)
	if err != nil {
		return profile.Reading{}, err
	}
	snap, err := profile.NewScanner(profile.Options{Sources: src}).Scan(c.Context)
	if err != nil {
		return profile.Reading{}, fail(err, "rcsupervisor doctor")
	}
	if r, ok := snap.Profile(name); ok {
		return r, nil
	}
	return profile.Reading{}, &failure{fmt.Errorf("no such profile: %s", name), "rcsupervisor add " + name + " --server URL", exitNoProfile}
}

// keyring is the identity with the recipients it seals for.
func keyring(c *cli.Context) (*sealed.Keyring, error) {
	k, err := sealed.FindKeyring(identityOptions(c), false)
	if err != nil {
		return nil, fail(err, "")
	}
	return k, nil
}

// oneName is the NAME of verbs that take one.
func oneName(c *cli.Context) (string, error) {
	if c.NArg() != 1 {
		return "", usage(fmt.Errorf("%s takes the name of one profile", c.Command.Name), "rcsupervisor "+c.Command.Name+" NAME")
	}
	return c.Args().First(), nil
}
