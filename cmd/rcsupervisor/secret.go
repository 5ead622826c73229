package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"rcsupervisor/internal/enroll"
	"rcsupervisor/sealed"
)

func secretVerb(s streams) *cli.Command {
	return &cli.Command{
		Name:      "secret",
		Usage:     "list, set or unset what is sealed for a profile; values are never shown",
		UsageText: "rcsupervisor secret NAME list\nrcsupervisor secret NAME set KEY\nrcsupervisor secret NAME unset KEY",
		Description: `KEY is token, asker (the key that signs asker tokens), or the name of a variable
that agent.secrets in channel.yaml may give to the agent. The value is asked for
on a terminal, and else read from standard input; one line end is taken off. A
token is proved before it is sealed.

   rcsupervisor secret alice list
   rcsupervisor secret alice set OPENAI_API_KEY
   openssl rand -base64 32 | rcsupervisor secret alice set asker
   rcsupervisor secret alice set token < token.txt
   rcsupervisor secret alice unset OPENAI_API_KEY`,
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "unchecked", Usage: "do not ask the server whether the token is the bot's"},
			jsonFlag(),
		},
		OnUsageError: usageError,
		Action:       func(c *cli.Context) error { return again(c, secret(c, s)) },
	}
}

func secret(c *cli.Context, s streams) error {
	name, wish, err := secretWish(c)
	if err != nil {
		return err
	}
	do := func(wish enroll.SecretWish) (enroll.SealedList, error) {
		return carryOut(c, s, "secret", name, wish, func(ctx context.Context, d *enroll.Desk) (enroll.SealedList, error) {
			return d.Secret(ctx, enroll.Operator, name, wish)
		})
	}
	if wish.Do == "set" {
		if err := wish.Check(name); err != nil {
			return err
		}
		// Nobody is asked for what can't be sealed then. An identity by descriptor is
		// read once.
		if isTerminal(s.in) && identityFD(c) < 0 {
			if _, err := do(enroll.SecretWish{Do: "list"}); err != nil {
				return err
			}
		}
		if wish.Value, err = askValue(c.Context, s, name, wish.Key); err != nil {
			return err
		}
	}
	list, err := do(wish)
	if err != nil {
		return err
	}
	if err := show(c, s, list, func(w io.Writer) { printSealed(w, list) }); err != nil {
		return err
	}
	if list.Username != "" {
		s.word("the token is @%s's", list.Username)
	}
	if list.Changed {
		s.word("%s %s; a channel that runs takes it over by itself", map[string]string{"set": "sealed", "unset": "took out"}[wish.Do], wish.Key)
	}
	if list.Stale {
		s.word("sealed for other recipients than recipients.txt names now: rcsupervisor reseal %s", name)
	}
	if len(list.Missing) > 0 {
		s.word("agent.secrets names what is not sealed: %s", strings.Join(list.Missing, ", "))
	}
	return nil
}

// secretWish reads the arguments. A third word after set may be a value, in
// plain sight of whoever lists processes.
func secretWish(c *cli.Context) (name string, w enroll.SecretWish, err error) {
	args := c.Args().Slice()
	if len(args) == 0 {
		return "", w, usage(errors.New("secret takes the name of a profile"), "rcsupervisor secret NAME list")
	}
	name, w.Do, w.Unchecked = args[0], "list", c.Bool("unchecked")
	if len(args) > 1 {
		w.Do = args[1]
	}
	want := 2
	if w.Do == "set" || w.Do == "unset" {
		want = 3
	}
	switch {
	case len(args) > want && w.Do == "set":
		return "", w, usage(errors.New("a value is never given as an argument: others can read it there; take it for known, and make another"), "rcsupervisor secret NAME set KEY < FILE")
	case len(args) > want:
		return "", w, usage(errors.New("too many words"), "rcsupervisor secret --help")
	case len(args) < want && want == 3:
		return "", w, usage(errors.New(w.Do+" which key?"), "rcsupervisor secret NAME "+w.Do+" KEY")
	}
	if len(args) == 3 {
		w.Key = args[2]
	}
	return name, w, nil
}

// askValue reads a secret's value from a terminal or from what is piped in.
func askValue(ctx context.Context, s streams, name, key string) (enroll.Plain, error) {
	again := "rcsupervisor secret " + shown(name) + " set " + key + " < FILE"
	var text string
	var err error
	if isTerminal(s.in) {
		text, err = askPasted(ctx, s, "The value of "+key+" (not shown): ")
	} else {
		text, err = readLimited(s.in)
		text = strings.TrimSuffix(strings.TrimSuffix(text, "\n"), "\r")
	}
	if err != nil {
		return enroll.Plain{}, fail(fmt.Errorf("read the value: %w", err), again)
	}
	if key == enroll.TokenKey {
		if found := enroll.Find(text); found.Token != "" {
			text = found.Token
		}
		text = strings.TrimSpace(text)
	}
	if text == "" {
		return enroll.Plain{}, usage(errors.New("no value was given"), again)
	}
	return enroll.Plain{Secret: sealed.NewSecret(text)}, nil
}

func printSealed(w io.Writer, l enroll.SealedList) {
	fmt.Fprintf(w, "bot     %s on %s\nsealed  %s, generation %d\n\n", l.UserID, l.Server, longAgo(l.SealedAt, time.Now()), l.Generation)
	var rows [][]string
	for _, r := range l.Secrets {
		note := ""
		if !r.Used {
			note = "agent.secrets does not name it"
		}
		rows = append(rows, []string{r.Name, r.What, note})
	}
	table(w, []string{"NAME", "WHAT", ""}, rows)
}
