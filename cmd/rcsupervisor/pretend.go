package main

import (
	"fmt"
	"slices"

	"github.com/urfave/cli/v2"

	"rcsupervisor/channel/pretend"
	"rcsupervisor/channel/pretend/page"
	"rcsupervisor/profile"
)

func pretendVerb(s streams) *cli.Command {
	return &cli.Command{
		Name:      "pretend",
		Usage:     "a pretend Rocket.Chat to practise on",
		UsageText: "rcsupervisor pretend [--listen ADDR] [--as VERSION] [--bot NAME]...",
		Description: `Runs a server that speaks as a real Rocket.Chat does, with made-up people and
everything in memory, and prints what is needed to add a bot to it. What can go
wrong on a real server can be made to: see ADDR/_pretend/.

   rcsupervisor pretend
   rcsupervisor pretend --listen 127.0.0.1:4000 --as 3.4 --bot ada --bot babbage`,
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "listen", Usage: "`ADDR` of the server; loopback only", Value: "127.0.0.1:3300"},
			&cli.StringFlag{Name: "as", Usage: "the `VERSION` it behaves as: 9, 7 or 3.4", Value: "9"},
			&cli.BoolFlag{Name: "limits", Usage: "limit people's calls as a real server does: ten of a route in a minute"},
			&cli.StringSliceFlag{Name: "bot", Usage: "a bot's `NAME`; repeatable", Value: cli.NewStringSlice("ada")},
		},
		OnUsageError: usageError,
		Action:       func(c *cli.Context) error { return practise(c, s) },
	}
}

// peopleOfPretend are who chats there.
var peopleOfPretend = []string{"olivia", "gustav"}

// checkBots sees that each bot can be added under its name.
func checkBots(names []string) error {
	seen := slices.Clone(peopleOfPretend)
	for _, name := range names {
		switch {
		case !profile.ValidName(name):
			return fmt.Errorf("no profile can be called %q, so no bot is: lower-case letters, digits, - and _", name)
		case slices.Contains(seen, name):
			return fmt.Errorf("two users can't be called %s", name)
		}
		seen = append(seen, name)
	}
	return nil
}

func practise(c *cli.Context, s streams) error {
	if err := noArgs(c); err != nil {
		return err
	}
	version, err := pretend.ParseVersion(c.String("as"))
	if err != nil {
		return usage(err, "rcsupervisor pretend --as 9")
	}
	if err := checkBots(c.StringSlice("bot")); err != nil {
		return usage(err, "rcsupervisor pretend --bot ada --bot babbage")
	}
	server := pretend.New(pretend.Options{Version: version, Home: page.Handler(), NoLimits: !c.Bool("limits")})
	defer server.Close()
	url, err := server.Listen(c.String("listen"))
	if err != nil {
		return fail(err, "rcsupervisor pretend --listen 127.0.0.1:0")
	}
	people := []pretend.User{
		server.AddUser(peopleOfPretend[0], pretend.UserOptions{Name: "Olivia Owner"}),
		server.AddUser(peopleOfPretend[1], pretend.UserOptions{Name: "Gustav Guest"}),
	}
	fmt.Fprintf(s.out, "A pretend Rocket.Chat %s is at %s\n\n", version, url)
	fmt.Fprintf(s.out, "  chat as a person   %s/#me=olivia\n  what can go wrong  %s/_pretend/\n", url, url)
	members := people
	for _, name := range c.StringSlice("bot") {
		bot := server.AddUser(name, pretend.UserOptions{Bot: true})
		server.AddDirect(people[0], bot)
		members = append(members, bot)
		fmt.Fprintf(s.out, "\n  the bot %s\n    user id  %s\n    token    %s\n", name, bot.ID, bot.Token)
		fmt.Fprintf(s.out, "    seal it  echo %s |\n", bot.Token)
		fmt.Fprintf(s.out, "             rcsupervisor add %s --server %s \\\n", name, url)
		fmt.Fprintf(s.out, "             --user-id %s --owner-id %s\n", bot.ID, people[0].ID)
	}
	room := server.AddChannel("lounge", members...)
	fmt.Fprintf(s.out, "\n  the channel #lounge has the id %s\n\nTokens are good on this server alone. Ctrl-C ends it.\n", room.ID)
	<-c.Context.Done()
	return nil
}
