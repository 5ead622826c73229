package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

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
	return fail(errors.New(name+" would not run as it is"), firstTry(r.Findings))
}

// firstTry is what mends the first thing that is wrong.
func firstTry(findings []enroll.Finding) string {
	for _, f := range findings {
		if !f.OK && !f.Warn && f.Try != "" {
			return f.Try
		}
	}
	return ""
}

func printFinding(w io.Writer, f enroll.Finding) {
	mark, colour := "FAIL", red
	switch {
	case f.OK:
		mark, colour = "ok", green
	case f.Warn:
		mark, colour = "warn", yellow
	}
	hanging(w, fmt.Sprintf("%-5s %-10s ", mark, f.What), printableLines(f.Text), colour)
	head := fmt.Sprintf("%-5s %-10s ", "", "")
	switch {
	case f.Try == "":
	case isCommand(f.Try): // to be copied, so it is not broken
		fmt.Fprintf(w, "%stry: %s\n", head, f.Try)
	default:
		hanging(w, head, "try: "+printableLines(f.Try))
	}
}

// printableLines is printable for what has lines: the name of a folder may hold
// what a terminal would obey.
func printableLines(text string) string {
	lines := strings.Split(text, "\n")
	for i, l := range lines {
		lines[i] = printable(l)
	}
	return strings.Join(lines, "\n")
}

// isCommand tells a command from words.
func isCommand(try string) bool {
	word, _, _ := strings.Cut(try, " ")
	return slices.Contains([]string{"rcsupervisor", "chmod", "chown", "rm", "shred", "sysctl", "timedatectl", "curl", "edit", "sudo"}, word)
}
