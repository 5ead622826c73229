package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/urfave/cli/v2"

	"rcsupervisor/internal/enroll"
)

func importVerb(s streams) *cli.Command {
	return &cli.Command{
		Name:      "import",
		Usage:     "seal the credentials that a home's .env gives to Hermes' own Rocket.Chat plugin",
		UsageText: "rcsupervisor import NAME [--scrub]",
		Description: `Knows the names that the Rocket.Chat plugins for Hermes use, and shows names and
never values. The token is proved before it is sealed. With --scrub the secrets
are taken out of .env, and not before what was sealed has been read back and
opened; nothing else in the file changes. It may be repeated at any time.

   rcsupervisor import alice
   rcsupervisor import alice --scrub`,
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "scrub", Usage: "take the secrets out of .env once they are sealed"},
			&cli.StringFlag{Name: "agent", Usage: "what answers, for a new channel.yaml: `KIND` acp, exec or echo", DefaultText: "acp"},
			&cli.BoolFlag{Name: "unchecked", Usage: "do not ask the server whether the token is the bot's"},
			&cli.BoolFlag{Name: "force", Usage: "replace another bot's envelope"},
			jsonFlag(),
		},
		OnUsageError: usageError,
		Action:       func(c *cli.Context) error { return again(c, importBot(c, s)) },
	}
}

func importBot(c *cli.Context, s streams) error {
	name, err := oneName(c)
	if err != nil {
		return err
	}
	wish := enroll.ImportWish{Scrub: c.Bool("scrub"), Agent: c.String("agent"), Unchecked: c.Bool("unchecked"), Force: c.Bool("force")}
	r, err := carryOut(c, s, "import", name, wish, func(ctx context.Context, d *enroll.Desk) (enroll.Imported, error) {
		return d.Import(ctx, enroll.Operator, name, wish)
	})
	if err != nil {
		return err
	}
	if err := show(c, s, r, func(w io.Writer) { printImported(w, name, r) }); err != nil {
		return err
	}
	if len(r.Left) > 0 {
		s.word("in plain text still: %s", strings.Join(r.Left, "; "))
		if !wish.Scrub {
			s.word("next: rcsupervisor import %s --scrub", name)
			return nil
		}
		s.word("take it out of there by hand: only what .env assigns is taken out by us")
	}
	if r.Sealed {
		afterAdd(s, name, r.Added)
	}
	return nil
}

func printImported(w io.Writer, name string, r enroll.Imported) {
	if len(r.Found) > 0 {
		var rows [][]string
		for _, f := range r.Found {
			rows = append(rows, []string{f.Name, f.Use})
		}
		table(w, []string{"NAME", "USE"}, rows)
		fmt.Fprintln(w)
	}
	if r.Sealed {
		printAdded(w, name, r.Added)
	} else {
		fmt.Fprintf(w, "sealed  %s, already\n", name)
	}
	if len(r.Scrubbed) > 0 {
		hanging(w, "scrub   ", strings.Join(r.Scrubbed, ", "))
	}
}
