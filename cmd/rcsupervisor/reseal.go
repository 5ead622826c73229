package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/urfave/cli/v2"

	"rcsupervisor/internal/control"
	"rcsupervisor/internal/enroll"
)

func resealVerb(s streams) *cli.Command {
	return &cli.Command{
		Name:      "reseal",
		Usage:     "seal credentials anew for the recipients that recipients.txt names now",
		UsageText: "rcsupervisor reseal NAME...|--all [--new-identity]",
		Description: `All of them or none: one that can't be resealed leaves all as they were, and one
that is interrupted is brought to its end by the next. Generations stay. With
--new-identity the host gets another identity, and the old one is forgotten once
every envelope opens without it.

   rcsupervisor reseal alice bob
   rcsupervisor reseal --all
   rcsupervisor reseal --all --new-identity`,
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "all", Usage: "every profile"},
			&cli.BoolFlag{Name: "new-identity", Usage: "make another identity for this host first; needs --all"},
			jsonFlag(),
		},
		OnUsageError: usageError,
		Action:       func(c *cli.Context) error { return reseal(c, s) },
	}
}

func reseal(c *cli.Context, s streams) error {
	wish := enroll.ResealWish{Names: c.Args().Slice(), All: c.Bool("all"), NewIdentity: c.Bool("new-identity")}
	if err := wish.Check(); err != nil {
		return err
	}
	r, err := resealWith(c, s, wish)
	if e, ok := errors.AsType[*control.Error](err); ok && e.Code == control.CodeNoProfile && wish.All && !wish.NewIdentity {
		// All are the host's to reseal; whoever may not has those that are his.
		if wish, err = ownReseal(c); err == nil {
			r, err = resealWith(c, s, wish)
		}
	}
	if err != nil {
		return err
	}
	err = show(c, s, r, func(w io.Writer) { printResealed(w, r) })
	if err == nil && len(r.Changed)+len(r.Gone) > 0 {
		err = &failure{errors.New("not all of them could be resealed"), "rcsupervisor reseal --all", exitPartly}
	}
	return err
}

func resealWith(c *cli.Context, s streams, wish enroll.ResealWish) (enroll.Resealed, error) {
	name := allNames
	if !wish.All {
		name = wish.Names[0]
	}
	return carryOut(c, s, "reseal", name, wish, func(ctx context.Context, d *enroll.Desk) (enroll.Resealed, error) {
		return d.Reseal(ctx, enroll.Operator, wish)
	})
}

// ownReseal names all profiles of whoever asks.
func ownReseal(c *cli.Context) (w enroll.ResealWish, err error) {
	client, err := connect(c)
	if err != nil {
		return w, err
	}
	defer client.Close()
	st, err := client.Status(c.Context)
	for _, p := range st.Profiles {
		w.Names = append(w.Names, p.Name)
	}
	if err == nil && len(w.Names) == 0 {
		err = fail(errors.New("no profile here is yours"), "rcsupervisor status")
	}
	return w, err
}

func printResealed(w io.Writer, r enroll.Resealed) {
	for _, l := range []struct {
		what  string
		names []string
	}{
		{"finished", r.Finished}, {"resealed", r.Resealed}, {"empty", r.Empty}, {"gone", r.Gone}, {"changed", r.Changed},
	} {
		if len(l.names) > 0 || l.what == "resealed" {
			hanging(w, fmt.Sprintf("%-10s  ", l.what), orNone(l.names))
		}
	}
	fmt.Fprintf(w, "recipients  %d\n", len(r.Recipients))
	if r.Identity != "" {
		fmt.Fprintf(w, "identity    %.20s… (its public half; the old one is forgotten)\n", r.Identity)
	}
}
