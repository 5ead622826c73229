package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/urfave/cli/v2"

	"rcsupervisor/internal/enroll"
)

func checkVerb(s streams) *cli.Command {
	return &cli.Command{
		Name:      "check",
		Usage:     "look a profile over: files, seal, server, token, socket, access",
		UsageText: "rcsupervisor check NAME",
		Description: `Does once what a start does, step by step, and says what mends each thing that
is wrong. It connects and lets go; a channel that runs keeps its own socket.

   rcsupervisor check alice
   rcsupervisor check alice --json`,
		Flags:        []cli.Flag{jsonFlag()},
		OnUsageError: usageError,
		Action:       func(c *cli.Context) error { return check(c, s) },
	}
}

// A checked is the answer of check.
type checked struct {
	Good     bool             `json:"good"`
	Findings []enroll.Finding `json:"findings"`
}

func check(c *cli.Context, s streams) error {
	name, err := oneName(c)
	if err != nil {
		return err
	}
	live := func(f enroll.Finding) {
		if !c.Bool("json") {
			printFinding(s.out, f)
		}
	}
	printed := 0
	r, err := carryOut(c, s, "check", name, struct{}{}, func(ctx context.Context, d *enroll.Desk) (r checked, err error) {
		r.Good, err = d.Check(ctx, enroll.Operator, name, func(f enroll.Finding) {
			r.Findings = append(r.Findings, f)
			live(f)
			printed++
		})
		return r, err
	})
	if err != nil {
		return err
	}
	err = show(c, s, r, func(io.Writer) {
		for _, f := range r.Findings[printed:] {
			live(f)
		}
	})
	if err != nil || r.Good {
		return err
	}
	try := ""
	for _, f := range r.Findings {
		if !f.OK && !f.Warn && try == "" {
			try = f.Try
		}
	}
	return fail(errors.New(name+" would not run as it is"), try)
}

func printFinding(w io.Writer, f enroll.Finding) {
	mark, colour := "FAIL", red
	switch {
	case f.OK:
		mark, colour = "ok", green
	case f.Warn:
		mark, colour = "warn", yellow
	}
	hanging(w, fmt.Sprintf("%-5s %-9s ", mark, f.What), f.Text, colour)
	if f.Try != "" {
		hanging(w, fmt.Sprintf("%-5s %-9s ", "", ""), "try: "+f.Try)
	}
}
