package main

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"rcsupervisor/internal/supervisor"
)

func logsVerb(s streams) *cli.Command {
	return &cli.Command{
		Name:      "logs",
		Usage:     "the newest lines of a profile's log",
		UsageText: "rcsupervisor logs NAME [-f] [--json]",
		Description: `Lines hold ids, never what was written. They are kept in memory, the newest 500.

   rcsupervisor logs alice
   rcsupervisor logs alice -f`,
		Flags: []cli.Flag{
			jsonFlag(),
			&cli.BoolFlag{Name: "follow", Aliases: []string{"f"}, Usage: "go on with those that come"},
		},
		OnUsageError: usageError,
		Action: func(c *cli.Context) error {
			name, err := oneName(c)
			if err != nil {
				return err
			}
			client, err := connect(c)
			if err != nil {
				return err
			}
			defer client.Close()
			return remote(client.Logs(c.Context, name, 0, c.Bool("follow"), func(l supervisor.Line) error {
				if c.Bool("json") {
					return json.NewEncoder(s.out).Encode(l)
				}
				return printLine(s.out, l)
			}))
		},
	}
}

// printLine prints a line of a log for people.
func printLine(w io.Writer, l supervisor.Line) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %-5s %s", l.Time.Local().Format(time.DateTime), l.Level, printable(l.Text))
	dropSaid(l)
	for _, key := range slices.Sorted(maps.Keys(l.Attrs)) {
		v := l.Attrs[key]
		if strings.ContainsAny(v, " \"=") || printable(v) != v || v == "" {
			v = strconv.Quote(v)
		}
		fmt.Fprintf(&b, " %s=%s", printable(key), v)
	}
	b.WriteByte('\n')
	_, err := io.WriteString(w, b.String())
	return err
}

// dropSaid drops the attribute that says what the text says.
func dropSaid(l supervisor.Line) {
	if l.Attrs["state"] == l.Text {
		delete(l.Attrs, "state")
	}
}

// printable is s without what a terminal would obey.
func printable(s string) string {
	if !strings.ContainsFunc(s, func(r rune) bool { return !strconv.IsPrint(r) }) {
		return s
	}
	q := strconv.Quote(s)
	return q[1 : len(q)-1]
}
