package main

import (
	"fmt"

	"github.com/urfave/cli/v2"

	"rcsupervisor/channel/pretend"
	"rcsupervisor/channel/pretend/page"
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

func practise(c *cli.Context, s streams) error {
	if err := noArgs(c); err != nil {
		return err
	}
	version, err := pretend.ParseVersion(c.String("as"))
	if err != nil {
		return usage(err, "rcsupervisor pretend --as 9")
	}
	server := pretend.New(pretend.Options{Version: version, Home: page.Handler(), NoLimits: !c.Bool("limits")})
	defer server.Close()
	url, err := server.Listen(c.String("listen"))
	if err != nil {
		return fail(err, "rcsupervisor pretend --listen 127.0.0.1:0")
	}
	people := []pretend.User{
		server.AddUser("olivia", pretend.UserOptions{Name: "Olivia Owner"}),
		server.AddUser("gustav", pretend.UserOptions{Name: "Gustav Guest"}),
	}
	fmt.Fprintf(s.out, "A pretend Rocket.Chat %s is at %s\n\n", version, url)
	fmt.Fprintf(s.out, "  chat as a person   %s/#me=olivia\n  what can go wrong  %s/_pretend/\n", url, url)
	members := people
	for _, name := range c.StringSlice("bot") {
		bot := server.AddUser(name, pretend.UserOptions{Bot: true})
		server.AddDirect(people[0], bot)
		members = append(members, bot)
		fmt.Fprintf(s.out, "\n  the bot %s\n    user id  %s\n    token    %s   (good on this server alone)\n", name, bot.ID, bot.Token)
		fmt.Fprintf(s.out, "    seal it  rcsupervisor add %s --server %s --agent echo --owner-id %s\n", name, url, people[0].ID)
	}
	room := server.AddChannel("lounge", members...)
	fmt.Fprintf(s.out, "\n  the channel #lounge has the id %s\n\nCtrl-C ends it.\n", room.ID)
	<-c.Context.Done()
	return nil
}
