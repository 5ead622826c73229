package main

import (
	"context"
	"fmt"
	"io"

	"github.com/urfave/cli/v2"

	"rcsupervisor/internal/enroll"
)

func roomsVerb(s streams) *cli.Command {
	return &cli.Command{
		Name:      "rooms",
		Usage:     "in which rooms a profile's bot answers; turn them on and off",
		UsageText: "rcsupervisor rooms NAME\nrcsupervisor rooms NAME on|off ID [--no-mention]",
		Description: `Lists the rooms that are on and those the bot is in. ID is a room id, or # and
the name of a room the bot is in. One-to-one rooms need not be turned on.

   rcsupervisor rooms alice
   rcsupervisor rooms alice on '#lounge'
   rcsupervisor rooms alice on GENERAL --no-mention
   rcsupervisor rooms alice off '#lounge'`,
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "no-mention", Usage: "answer there without being named"},
			jsonFlag(),
		},
		OnUsageError: usageError,
		Action:       func(c *cli.Context) error { return doRooms(c, s) },
	}
}

func doRooms(c *cli.Context, s streams) error {
	name, do, id, err := nameDoID(c)
	if err != nil {
		return err
	}
	wish := enroll.RoomWish{Do: do, ID: id, NoMention: c.Bool("no-mention")}
	hall, err := carryOut(c, s, "rooms", name, wish, func(ctx context.Context, d *enroll.Desk) (enroll.Hall, error) {
		return d.Rooms(ctx, enroll.Operator, name, wish)
	})
	if err != nil {
		return err
	}
	if hall.Note != "" {
		s.word("%s", hall.Note)
	}
	if r := hall.Changed; r != nil {
		s.word("%s is %s", roomName(*r), do)
	}
	return show(c, s, hall, func(w io.Writer) { printHall(w, hall) })
}

func roomName(r enroll.RoomRow) string {
	if r.Name == "" {
		return r.ID
	}
	return "#" + r.Name + " (" + r.ID + ")"
}

func printHall(w io.Writer, h enroll.Hall) {
	if len(h.Rooms) == 0 {
		fmt.Fprintln(w, "No room is on. In one-to-one rooms the bot answers whom it was told to.")
		return
	}
	var rows [][]string
	for _, r := range h.Rooms {
		on, mention, member := "off", "", "?"
		if r.On {
			on, mention = "on", "yes"
			if !r.Mention {
				mention = "no"
			}
		}
		if r.Member != nil {
			member = map[bool]string{true: "yes", false: "no"}[*r.Member]
		}
		rows = append(rows, []string{on, mention, member, r.ID, r.Name})
	}
	table(w, []string{"ON", "MENTION", "MEMBER", "ID", "NAME"}, rows)
}
