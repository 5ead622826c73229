package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/urfave/cli/v2"

	"rcsupervisor/internal/enroll"
	"rcsupervisor/profile"
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
   rcsupervisor add alice --server URL --agent exec -- /usr/local/bin/answer -f

Adding the same bot again replaces its token. Another bot's envelope is replaced
only with --force.`,
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "server", Usage: "the server's `URL`, as in the browser"},
			&cli.StringFlag{Name: "user-id", Usage: "the bot's user `ID`"},
			&cli.StringFlag{Name: "token-file", Usage: "the `FILE` that holds the token; - for standard input"},
			&cli.StringFlag{Name: "owner-id", Usage: "the user `ID` of the first owner, instead of a code"},
			&cli.StringFlag{Name: "agent", Usage: "what answers, for a new channel.yaml: `KIND` acp, exec or echo", DefaultText: "echo"},
			&cli.BoolFlag{Name: "unchecked", Usage: "do not ask the server whether the token is the bot's"},
			&cli.BoolFlag{Name: "force", Usage: "replace another bot's envelope"},
			jsonFlag(),
		},
		OnUsageError: usageError,
		Action:       func(c *cli.Context) error { return again(c, add(c, s)) },
	}
}

func add(c *cli.Context, s streams) error {
	name := c.Args().First()
	if name == "" {
		return usage(errors.New("add takes the name of a profile"), "rcsupervisor add NAME --server URL")
	}
	if !profile.ValidName(name) {
		return badName(name)
	}
	if c.String("server") == "" {
		return usage(errors.New("on which server? --server is missing"), "rcsupervisor add "+shown(name)+" --server https://chat.example.org")
	}
	if err := tokenInFlag(c); err != nil {
		return err
	}
	a := enroll.Addition{
		Server: c.String("server"), UserID: c.String("user-id"), OwnerID: c.String("owner-id"),
		Agent: c.String("agent"), Command: c.Args().Tail(), Unchecked: c.Bool("unchecked"), Force: c.Bool("force"),
	}
	if err := foresee(c, s, name, a); err != nil {
		return err
	}
	if err := askBot(c, s, &a); err != nil {
		return err
	}
	made, err := carryOut(c, s, "add", name, a, func(ctx context.Context, d *enroll.Desk) (enroll.Added, error) {
		return d.Add(ctx, enroll.Operator, name, a)
	})
	if err != nil {
		return err
	}
	if err := show(c, s, made, func(w io.Writer) { printAdded(w, name, made) }); err != nil {
		return err
	}
	afterAdd(s, name, made)
	return nil
}

// foresee refuses what can't succeed before anybody is asked for a token. What
// only the supervisor can see it says itself, later.
func foresee(c *cli.Context, s streams, name string, a enroll.Addition) error {
	if _, err := enroll.Server(a.Server); err != nil {
		return err
	}
	client, err := supervisorOf(c)
	if err != nil {
		return err
	}
	if client != nil {
		client.Close()
		return nil
	}
	w := &waiting{out: s.err}
	defer w.done()
	desk, err := newDesk(c, w)
	if err != nil {
		return err
	}
	defer desk.State.Close()
	if err := desk.Foresee(c.Context, enroll.Operator, name, a); err != nil {
		return err
	}
	// An identity by descriptor is read once, and by whoever seals.
	if identityFD(c) >= 0 {
		return nil
	}
	o := identityOptions(c)
	o.Passphrase = nil
	if _, err := sealed.FindIdentity(o); err != nil && !errors.Is(err, sealed.ErrPassphrase) {
		return err
	}
	return nil
}

func printAdded(w io.Writer, name string, made enroll.Added) {
	fmt.Fprintf(w, "sealed  %s for %s (generation %d)\nhome    %s\n", name, made.Server, made.Generation, printable(made.Home))
	if made.Username != "" {
		fmt.Fprintf(w, "bot     @%s (%s)\n", made.Username, made.UserID)
	}
	if made.Code != "" {
		fmt.Fprintf(w, "code    %s\n", made.Code)
	}
}

// afterAdd says what a person should know, and what comes next.
func afterAdd(s streams, name string, made enroll.Added) {
	if len(made.Holders) > 0 {
		s.word("another profile has this bot: %s; only one of them can run", strings.Join(made.Holders, ", "))
	}
	if made.Admin {
		s.word("the bot is an administrator of the server, and need not be one")
	}
	if made.Code != "" {
		s.word("within an hour, write this code to the bot in a direct message, while it runs: whoever does is its owner")
	}
	s.word("next: rcsupervisor check %s", name)
}

// shown is a name that is safe to print back: what is no name may be a token.
func shown(name string) string {
	if enroll.LooksLikeToken(name) {
		return "NAME"
	}
	return name
}

// askBot takes the credentials from flags and standard input, or asks a person
// for them.
func askBot(c *cli.Context, s streams, a *enroll.Addition) error {
	file := c.String("token-file")
	var text string
	var err error
	switch {
	case file == "" && isTerminal(s.in):
		return askPerson(c, a, s)
	case file == "" || file == "-":
		text, err = readLimited(s.in)
	default:
		text, err = readFile(file)
	}
	if err != nil {
		return fail(fmt.Errorf("read the token: %w", err), addAgain(c, "--token-file FILE"))
	}
	return fill(c, a, text)
}

// fill takes what is still missing from what was given as one text.
func fill(c *cli.Context, a *enroll.Addition, text string) error {
	found := enroll.Find(text)
	token := found.Token
	if token == "" {
		token = strings.TrimSpace(text)
	}
	if a.UserID == "" {
		a.UserID = found.UserID
	}
	if a.UserID == "" && found.Token == "" && len(strings.Fields(text)) > 1 {
		return usage(errors.New("there is neither a user id nor a token in what was given"), addAgain(c, "--user-id ID"))
	}
	a.Token = enroll.Plain{Secret: sealed.NewSecret(token)}
	if a.UserID == "" && token != "" {
		return usage(errors.New("a token was given and no user id"), addAgain(c, "--user-id ID"))
	}
	return (enroll.Bot{UserID: a.UserID, Token: a.Token.Secret}).Shape()
}

// askPerson asks until there is a user id and a token. What is typed as one
// may hold both.
func askPerson(c *cli.Context, a *enroll.Addition, s streams) error {
	ctx, again := c.Context, addAgain(c, "")
	var token string
	for range 3 {
		if a.UserID == "" {
			question := "The bot's user id, or all that the token's dialog shows (not shown): "
			if token != "" {
				question = "The bot's user id (not shown): "
			}
			line, err := askPasted(ctx, s, question)
			if err != nil {
				return fail(err, again)
			}
			found := enroll.Find(line)
			if a.UserID = found.UserID; found.Token != "" {
				token = found.Token
			}
			if found == (enroll.Pasted{}) {
				if len(strings.Fields(line)) != 1 {
					s.word("there is neither a user id nor a token in that")
					continue
				}
				a.UserID = strings.TrimSpace(line)
			}
		}
		if token == "" {
			line, err := askPasted(ctx, s, "The bot's token (not shown): ")
			if err != nil {
				return fail(err, again)
			}
			if token = enroll.Find(line).Token; token == "" {
				token = strings.TrimSpace(line)
			}
		}
		if enroll.LooksLikeToken(a.UserID) && enroll.LooksLikeID(token) {
			s.word("those two were the other way round; taken so")
			a.UserID, token = token, a.UserID
		}
		if a.UserID != "" && token != "" {
			a.Token = enroll.Plain{Secret: sealed.NewSecret(token)}
			return (enroll.Bot{UserID: a.UserID, Token: a.Token.Secret}).Shape()
		}
	}
	return usage(errors.New("a user id and a token are needed"), again)
}

// secretBytes bounds what is read for a secret.
const secretBytes = 64 << 10

func readLimited(r io.Reader) (string, error) {
	b, err := io.ReadAll(io.LimitReader(r, secretBytes+1))
	if err == nil && len(b) > secretBytes {
		err = fmt.Errorf("more than %d bytes", secretBytes)
	}
	return string(b), err
}

func readFile(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	return readLimited(f)
}
