package main

import (
	"context"
	"fmt"
	"io"

	"github.com/urfave/cli/v2"

	"rcsupervisor/internal/enroll"
)

func removeVerb(s streams) *cli.Command {
	return &cli.Command{
		Name:      "remove",
		Usage:     "take a profile out: its credentials go, its settings stay",
		UsageText: "rcsupervisor remove NAME [--purge]",
		Description: `The home takes part no more: channel.yaml is renamed to channel.yaml.removed,
and the sealed credentials are gone for good. access.yaml and the channel's
state stay for another time. With --purge the whole folder rocketchat/ goes.
Nothing else in the home is touched.

   rcsupervisor remove alice
   rcsupervisor remove alice --purge`,
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "purge", Usage: "settings, access and state too"},
			jsonFlag(),
		},
		OnUsageError: usageError,
		Action: func(c *cli.Context) error {
			name, err := oneName(c)
			if err != nil {
				return err
			}
			wish := enroll.RemoveWish{Purge: c.Bool("purge")}
			r, err := carryOut(c, s, "remove", name, wish, func(ctx context.Context, d *enroll.Desk) (enroll.Removed, error) {
				return d.Remove(ctx, enroll.Operator, name, wish)
			})
			if err != nil {
				return err
			}
			if r.UserID != "" {
				s.word("the token is still good on the server: take it back there, as the bot %s", r.UserID)
			}
			return show(c, s, r, func(w io.Writer) {
				fmt.Fprintf(w, "home  %s\ngone  %s\n", printable(r.Home), orNone(r.Gone))
				if r.Kept != "" {
					fmt.Fprintf(w, "kept  %s\n", r.Kept)
				}
			})
		},
	}
}
