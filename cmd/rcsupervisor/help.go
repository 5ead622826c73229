package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"
)

// Help is printed by us, so that it fits into 80 columns whatever it says.

func init() {
	cli.HelpPrinter = func(w io.Writer, _ string, data any) {
		switch d := data.(type) {
		case *cli.App:
			printAppHelp(w, d)
		case *cli.Command:
			printVerbHelp(w, d)
		}
	}
}

func printAppHelp(w io.Writer, app *cli.App) {
	hanging(w, "rcsupervisor: ", app.Usage)
	fmt.Fprintf(w, "\nusage: %s\n\n%s\n\nverbs:\n", app.UsageText, app.Description)
	for _, c := range app.Commands {
		if !c.Hidden {
			hanging(w, fmt.Sprintf("  %-9s ", c.Name), c.Usage)
		}
	}
	fmt.Fprint(w, "\nflags, before or after the verb:\n")
	printFlags(w, app.Flags)
}

func printVerbHelp(w io.Writer, c *cli.Command) {
	hanging(w, c.Name+": ", c.Usage)
	fmt.Fprintln(w)
	for i, line := range strings.Split(c.UsageText, "\n") {
		head := "       "
		if i == 0 {
			head = "usage: "
		}
		hanging(w, head, line)
	}
	fmt.Fprintf(w, "\n%s\n", strings.TrimSpace(c.Description))
	if len(c.Flags) > 0 {
		fmt.Fprint(w, "\nflags:\n")
		printFlags(w, c.Flags)
	}
	fmt.Fprint(w, "\nFlags of every verb: rcsupervisor --help\n")
}

// printFlags lists flags with what they mean beside them, or below where they
// are long.
func printFlags(w io.Writer, flags []cli.Flag) {
	const indent = 22
	for _, f := range flags {
		doc, ok := f.(cli.DocGenerationFlag)
		if !ok || slices.Contains(f.Names(), "help") || slices.Contains(f.Names(), "version") {
			continue
		}
		if v, ok := f.(cli.VisibleFlag); ok && !v.IsVisible() {
			continue
		}
		value, usage := unquoted(doc.GetUsage())
		head := "  "
		for _, alias := range f.Names()[1:] {
			head += "-" + alias + ", "
		}
		head += "--" + f.Names()[0]
		if value != "" {
			head += " " + value
		}
		if def := doc.GetDefaultText(); doc.TakesValue() && def != "" && def != `""` && def != "0s" {
			usage += " (default: " + strings.Trim(def, `"`) + ")"
		}
		if len(head) > indent-2 {
			fmt.Fprintln(w, head)
			head = ""
		}
		hanging(w, fmt.Sprintf("%-*s", indent, head), usage)
	}
}

// unquoted takes the name of a flag's value out of its usage, where it stands
// in backquotes.
func unquoted(usage string) (value, text string) {
	before, rest, ok := strings.Cut(usage, "`")
	if !ok {
		return "", usage
	}
	value, after, _ := strings.Cut(rest, "`")
	return value, before + value + after
}
