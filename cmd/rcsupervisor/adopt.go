package main

import (
	"context"
	"fmt"
	"io"

	"github.com/urfave/cli/v2"

	"rcsupervisor/internal/control"
	"rcsupervisor/internal/enroll"
)

func adoptVerb(s streams) *cli.Command {
	return &cli.Command{
		Name:      "adopt",
		Usage:     "take what a held profile is now for what it should be",
		UsageText: "rcsupervisor adopt NAME",
		Description: `A profile is held when its home, owner, server or bot is another than was proven
by a login, or its envelope is an older one. If that is as it should be, this
says so. A home that was renamed while no supervisor ran is adopted too, and its
envelope sealed for its new name; a copy of another profile's is not.

   rcsupervisor adopt alice`,
		Flags:        []cli.Flag{jsonFlag()},
		OnUsageError: usageError,
		Action: func(c *cli.Context) error {
			name, err := oneName(c)
			if err != nil {
				return err
			}
			r, err := carryOut(c, s, "adopt", name, struct{}{}, func(ctx context.Context, d *enroll.Desk) (enroll.Adopted, error) {
				return d.Adopt(ctx, enroll.Operator, name)
			})
			if err != nil {
				return err
			}
			return show(c, s, r, func(w io.Writer) { printChanges(w, name, r.Changes, "is what it was; nothing to adopt", "adopted") })
		},
	}
}

func acceptVerb(s streams) *cli.Command {
	return &cli.Command{
		Name:      "accept",
		Usage:     "accept what a profile's files give more than before",
		UsageText: "rcsupervisor accept NAME",
		Description: `An agent that runs as its home's owner can write the home's files. So what they
give more than before (a person, a room, another agent) waits until somebody
says here that it is meant. The verbs people and rooms need no acceptance.

   rcsupervisor plan            what waits
   rcsupervisor accept alice`,
		Flags:        []cli.Flag{jsonFlag()},
		OnUsageError: usageError,
		Action: func(c *cli.Context) error {
			name, err := oneName(c)
			if err != nil {
				return err
			}
			r, err := carryOut(c, s, "accept", name, struct{}{}, func(ctx context.Context, d *enroll.Desk) (control.AcceptReply, error) {
				accepted, err := d.Accept(ctx, enroll.Operator, name)
				return control.AcceptReply{Accepted: accepted.Changes}, err
			})
			if err != nil {
				return err
			}
			return show(c, s, r, func(w io.Writer) { printChanges(w, name, r.Accepted, "has nothing that waits", "accepted") })
		},
	}
}

// printChanges lists what was taken, or says that there was nothing.
func printChanges(w io.Writer, name string, changes []string, none, done string) {
	if len(changes) == 0 {
		fmt.Fprintf(w, "%s %s\n", name, none)
	}
	for _, change := range changes {
		hanging(w, done+"  ", change)
	}
}
