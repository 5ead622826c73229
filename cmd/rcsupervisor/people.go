package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/urfave/cli/v2"

	"rcsupervisor/internal/enroll"
)

func peopleVerb(s streams) *cli.Command {
	return &cli.Command{
		Name:      "people",
		Usage:     "who may talk to a profile's bot; let people in, make owners, block, forget",
		UsageText: "rcsupervisor people NAME\nrcsupervisor people NAME let-in|owner|block|forget ID",
		Description: `Lists who is let in and who asks to be. ID is a user id, or @ and a username,
which the server is asked for. What is said here holds at once: a person's word
need not be accepted.

   rcsupervisor people alice
   rcsupervisor people alice let-in @olivia
   rcsupervisor people alice owner rbAXPnMktTFbNpwtJ
   rcsupervisor people alice block @gustav
   rcsupervisor people alice forget @gustav`,
		Flags:        []cli.Flag{jsonFlag()},
		OnUsageError: usageError,
		Action:       func(c *cli.Context) error { return doPeople(c, s) },
	}
}

func doPeople(c *cli.Context, s streams) error {
	name, do, id, err := nameDoID(c)
	if err != nil {
		return err
	}
	wish := enroll.PersonWish{Do: do, ID: id}
	crowd, err := carryOut(c, s, "people", name, wish, func(ctx context.Context, d *enroll.Desk) (enroll.Crowd, error) {
		return d.People(ctx, enroll.Operator, name, wish)
	})
	if err != nil {
		return err
	}
	if crowd.Note != "" {
		s.word("%s", crowd.Note)
	}
	if p := crowd.Changed; p != nil {
		s.word("%s is %s", personName(*p), map[string]string{"let-in": "let in as a member", "owner": "an owner now", "block": "blocked", "forget": "forgotten"}[do])
	}
	return show(c, s, crowd, func(w io.Writer) { printCrowd(w, name, crowd) })
}

func personName(p enroll.PersonRow) string {
	if p.Name == "" {
		return p.ID
	}
	return "@" + p.Name + " (" + p.ID + ")"
}

func printCrowd(w io.Writer, name string, c enroll.Crowd) {
	if len(c.People) == 0 {
		fmt.Fprintf(w, "Nobody is let in. The first owner: rcsupervisor people %s owner @USERNAME\n", name)
	} else {
		var rows [][]string
		for _, p := range c.People {
			rows = append(rows, []string{string(p.Role), p.ID, p.Name})
		}
		table(w, []string{"ROLE", "ID", "NAME"}, rows)
	}
	if len(c.Requests) == 0 {
		return
	}
	fmt.Fprintf(w, "\nThey ask to be let in (rcsupervisor people %s let-in ID):\n\n", name)
	var rows [][]string
	for _, r := range c.Requests {
		rows = append(rows, []string{longAgo(r.At, time.Now()), r.ID, r.Name})
	}
	table(w, []string{"ASKED", "ID", "NAME"}, rows)
}

// nameDoID reads NAME [ACT ID].
func nameDoID(c *cli.Context) (name, do, id string, err error) {
	args, verb := c.Args().Slice(), c.Command.Name
	switch len(args) {
	case 0:
		err = usage(fmt.Errorf("%s takes the name of a profile", verb), "rcsupervisor "+verb+" NAME")
	case 1:
		return args[0], "", "", nil
	case 2:
		err = usage(errors.New("an act and an id belong together"), "rcsupervisor "+verb+" "+shown(args[0])+" "+args[1]+" ID")
	case 3:
		return args[0], args[1], args[2], nil
	default:
		err = usage(errors.New("too many words"), "rcsupervisor "+verb+" --help")
	}
	return "", "", "", err
}
