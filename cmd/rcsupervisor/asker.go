package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"rcsupervisor/channel/prompt/asker"
	"rcsupervisor/internal/enroll"
)

func askerVerb(s streams) *cli.Command {
	return &cli.Command{
		Name:      "asker",
		Usage:     "verify an asker token: who asked, and in which room",
		UsageText: "rcsupervisor asker verify TOKEN [--profile NAME]",
		Description: `An agent is shown a token that says whom it acts for. A tool server checks it
with the key that is sealed as asker; this does so by hand. Without --profile
the key is read from standard input.

   rcsupervisor asker verify v1.… --profile alice
   rcsupervisor asker verify v1.… < key.txt`,
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "profile", Usage: "the profile `NAME` whose key signed it"},
			jsonFlag(),
		},
		OnUsageError: usageError,
		Action:       func(c *cli.Context) error { return askerVerify(c, s) },
	}
}

func askerVerify(c *cli.Context, s streams) error {
	const again = "rcsupervisor asker verify TOKEN --profile NAME"
	args := c.Args().Slice()
	if len(args) != 2 || args[0] != "verify" {
		return usage(errors.New("asker takes the word verify and a token"), again)
	}
	claims, err := verifyToken(c, s, args[1])
	switch {
	case errors.Is(err, asker.ErrNoKey) && c.String("profile") != "":
		return fail(err, "rcsupervisor secret "+shown(c.String("profile"))+" set asker")
	case errors.Is(err, asker.ErrNoKey):
		return usage(err, again)
	case errors.Is(err, asker.ErrMalformed), errors.Is(err, asker.ErrSignature), errors.Is(err, asker.ErrExpired):
		return fail(err, "a token of this turn, from this profile")
	case err != nil:
		return err
	}
	return show(c, s, claims, func(w io.Writer) {
		fmt.Fprintf(w, "user     %s\nroom     %s\nexpires  %s\n", claims.User, claims.Room, claims.Expires.Format(time.RFC3339))
	})
}

func verifyToken(c *cli.Context, s streams, token string) (enroll.AskerClaims, error) {
	name := c.String("profile")
	if name != "" {
		wish := enroll.AskerWish{Token: token}
		return carryOut(c, s, "asker", name, wish, func(ctx context.Context, d *enroll.Desk) (enroll.AskerClaims, error) {
			return d.VerifyAsker(ctx, enroll.Operator, name, wish)
		})
	}
	var key string
	var err error
	if isTerminal(s.in) {
		key, err = askHidden(c.Context, s, "The key (not shown): ")
	} else {
		key, err = readLimited(s.in)
	}
	if err != nil {
		return enroll.AskerClaims{}, fail(fmt.Errorf("read the key: %w", err), "rcsupervisor asker verify TOKEN < FILE")
	}
	key = strings.TrimSuffix(strings.TrimSuffix(key, "\n"), "\r")
	claims, err := asker.Verify([]byte(key), token, time.Now())
	return enroll.AskerClaims(claims), err
}
