package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"rcsupervisor/internal/enroll"
	"rcsupervisor/internal/people"
	"rcsupervisor/sealed"
)

func addVerb(s streams) *cli.Command {
	return &cli.Command{
		Name:      "add",
		Usage:     "seal a bot's credentials into a profile, check them, and print the owner's code",
		UsageText: "rcsupervisor add NAME --server URL [flags] [-- COMMAND...]",
		Description: `Asks for the user id and the token, or takes both from what is pasted: log in to
Rocket.Chat as the bot, My Account → Personal Access Tokens, tick "Ignore Two
Factor Authentication", Add, and paste what the dialog shows. The token is
proved before it is sealed, and is never printed.

   rcsupervisor add alice --server https://chat.example.org
   rcsupervisor add alice --server https://chat.example.org --agent acp
   rcsupervisor add alice --server https://chat.example.org --user-id ID \
       --token-file - --owner-id ID < token.txt
   rcsupervisor add alice --server URL --agent exec -- /usr/local/bin/answer --fast

Adding the same bot again replaces its token. Another bot's envelope is replaced
only with --force.`,
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "server", Usage: "the server's `URL`, as in the browser", Required: true},
			&cli.StringFlag{Name: "user-id", Usage: "the bot's user `ID`"},
			&cli.StringFlag{Name: "token-file", Usage: "the `FILE` that holds the token; - for standard input"},
			&cli.StringFlag{Name: "owner-id", Usage: "the user `ID` of the first owner, instead of a code"},
			&cli.StringFlag{Name: "agent", Usage: "what answers, for a new channel.yaml: `KIND` acp, exec or echo", DefaultText: "echo"},
			&cli.BoolFlag{Name: "unchecked", Usage: "do not ask the server whether the token is the bot's"},
			&cli.BoolFlag{Name: "force", Usage: "replace another bot's envelope"},
		},
		OnUsageError: usageError,
		Action:       func(c *cli.Context) error { return add(c, s) },
	}
}

func add(c *cli.Context, s streams) error {
	name := c.Args().First()
	if name == "" {
		return usage(errors.New("add takes the name of a profile"), "rcsupervisor add NAME --server URL")
	}
	src, err := sources(c)
	if err != nil {
		return err
	}
	home, _, err := enroll.Place(src, name)
	if err != nil {
		return usage(err, "rcsupervisor add NAME --server URL")
	}
	keys, err := keyring(c)
	if err != nil {
		return err
	}
	bot, err := askBot(c, s)
	if err != nil {
		return err
	}
	if !c.Bool("unchecked") {
		me, err := enroll.Prove(c.Context, bot)
		if err != nil {
			return fail(err, "")
		}
		fmt.Fprintf(s.err, "rcsupervisor: the token is @%s's\n", me.Username)
	}
	made, err := enroll.Seal(enroll.Wish{
		Name: name, Home: home, Bot: bot, Agent: c.String("agent"), Command: c.Args().Tail(),
		OwnerID: c.String("owner-id"), Force: c.Bool("force"),
	}, keys)
	if err != nil {
		return fail(err, "")
	}
	fmt.Fprintf(s.out, "sealed  %s for %s (generation %d)\n", name, made.Server, made.Generation)
	fmt.Fprintf(s.out, "home    %s\n", home)
	if !made.Owned {
		return printCode(c, s, name)
	}
	fmt.Fprintf(s.err, "rcsupervisor: next: rcsupervisor check %s\n", name)
	return nil
}

// printCode gives out the code by which the first owner proves himself.
func printCode(c *cli.Context, s streams, name string) error {
	book := &people.Book{Dir: stateDir(c)}
	code, err := book.NewCode(name, time.Now())
	if err != nil {
		return fail(err, "rcsupervisor init")
	}
	fmt.Fprintf(s.out, "code    %s\n", code)
	fmt.Fprintf(s.err, "rcsupervisor: within an hour, write this code to the bot in a direct message: whoever does is its owner\n")
	fmt.Fprintf(s.err, "rcsupervisor: next: rcsupervisor run\n")
	return nil
}

// askBot takes the credentials from flags and standard input, or asks a person
// for them.
func askBot(c *cli.Context, s streams) (enroll.Bot, error) {
	bot := enroll.Bot{Server: c.String("server"), UserID: c.String("user-id")}
	file := c.String("token-file")
	var text string
	var err error
	switch {
	case file == "" && isTerminal(s.in):
		return askPerson(bot, s)
	case file == "" || file == "-":
		text, err = readLimited(s.in)
	default:
		var f *os.File
		if f, err = os.Open(file); err == nil {
			text, err = readLimited(f)
			f.Close()
		}
	}
	if err != nil {
		return bot, fail(fmt.Errorf("read the token: %w", err), "rcsupervisor add NAME --server URL --token-file FILE")
	}
	return fill(bot, text)
}

// fill takes what is still missing from what was given as one text.
func fill(bot enroll.Bot, text string) (enroll.Bot, error) {
	found := enroll.Find(text)
	token := strings.TrimSpace(text)
	if found.Token != "" {
		token = found.Token
	}
	if bot.UserID == "" {
		bot.UserID = found.UserID
	}
	bot.Token = sealed.NewSecret(token)
	switch {
	case token == "":
		return bot, usage(errors.New("no token was given"), "rcsupervisor add NAME --server URL --token-file FILE")
	case bot.UserID == "":
		return bot, usage(errors.New("no user id was given"), "rcsupervisor add NAME --server URL --user-id ID --token-file FILE")
	}
	return bot, nil
}

// askPerson asks until there is a user id and a token. What is typed as one
// may hold both.
func askPerson(bot enroll.Bot, s streams) (enroll.Bot, error) {
	var token string
	for range 3 {
		if bot.UserID == "" {
			line, err := askHidden(s, "The bot's user id, or all that the token dialog shows: ")
			if err != nil {
				return bot, fail(err, "rcsupervisor add NAME --server URL --token-file FILE")
			}
			found := enroll.Find(line)
			bot.UserID, token = found.UserID, found.Token
			if bot.UserID == "" && token == "" {
				bot.UserID = strings.TrimSpace(line)
			}
		}
		if bot.UserID != "" && token == "" {
			line, err := askHidden(s, "The bot's token (not shown): ")
			if err != nil {
				return bot, fail(err, "rcsupervisor add NAME --server URL --token-file FILE")
			}
			if found := enroll.Find(line); found.Token != "" {
				token = found.Token
			} else {
				token = strings.TrimSpace(line)
			}
		}
		if enroll.LooksLikeToken(bot.UserID) && enroll.LooksLikeID(token) {
			fmt.Fprintln(s.err, "rcsupervisor: those two were the other way round; taken so")
			bot.UserID, token = token, bot.UserID
		}
		if bot.UserID != "" && token != "" {
			bot.Token = sealed.NewSecret(token)
			return bot, nil
		}
	}
	return bot, usage(errors.New("a user id and a token are needed"), "rcsupervisor add NAME --server URL --user-id ID --token-file FILE")
}

// tokenBytes bounds what is read for a token.
const tokenBytes = 16 << 10

func readLimited(r io.Reader) (string, error) {
	b, err := io.ReadAll(io.LimitReader(r, tokenBytes+1))
	if err == nil && len(b) > tokenBytes {
		err = fmt.Errorf("more than %d bytes", tokenBytes)
	}
	return string(b), err
}
