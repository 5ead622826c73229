package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/urfave/cli/v2"

	"rcsupervisor/internal/hostfile"
	"rcsupervisor/internal/ownerfs"
	"rcsupervisor/profile"
)

// sources are the places where homes are looked for: the flags, else their
// variables, else the host file, else where Hermes itself would look.
func sources(c *cli.Context) (profile.Sources, error) {
	var src profile.Sources
	for _, arg := range namedHomes(c) {
		h, err := profile.ParseHome(arg)
		if err != nil {
			return src, usage(err, "rcsupervisor --home NAME=DIR ...")
		}
		src.Homes = append(src.Homes, h)
	}
	args := roots(c)
	if len(args) == 0 {
		host, err := hostFile(c)
		if err != nil {
			return src, err
		}
		if src.Roots = host.Roots; src.Roots == nil {
			src.Roots = profile.DefaultRoots(os.Getenv("HERMES_HOME"), homeDir())
		}
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

// hostFile reads the host file; one that isn't named says nothing.
func hostFile(c *cli.Context) (hostfile.File, error) {
	path := given(c, "config", "RCSUPERVISOR_CONFIG")
	if path == "" {
		return hostfile.File{}, nil
	}
	f, err := hostfile.Read(path)
	if _, ok := errors.AsType[*profile.FileError](err); ok {
		return f, config(err, "edit "+ownerfs.Quote(path))
	}
	if err != nil {
		return f, config(err, "rcsupervisor "+c.Command.Name+" --config FILE")
	}
	return f, nil
}

// oneName is the NAME of verbs that take one, and what follows it.
func oneName(c *cli.Context) (string, error) {
	if c.NArg() != 1 {
		return "", usage(fmt.Errorf("%s takes the name of one profile", c.Command.Name), "rcsupervisor "+c.Command.Name+" NAME")
	}
	return c.Args().First(), nil
}
