package main

import (
	"errors"
	"strings"

	"github.com/urfave/cli/v2"

	"rcsupervisor/internal/enroll"
	"rcsupervisor/internal/ownerfs"
	"rcsupervisor/profile"
)

// again makes the whole command of what mends one flag of it, such as
// "--server URL, as in the browser", so that it can be pasted.
func again(c *cli.Context, err error) error {
	hint := enroll.Hint(err)
	f, ok := errors.AsType[*failure](err)
	switch {
	case !strings.HasPrefix(hint, "--") || ok && f.try != "":
		return err
	case ok:
		return &failure{err, addAgain(c, hint), f.code}
	}
	return &failure{err, addAgain(c, hint), codeOf(err)}
}

// addAgain is the verb add as it was called, or as it would have been instead
// of the verb that was, with one flag put right.
func addAgain(c *cli.Context, hint string) string {
	right, note, noted := strings.Cut(hint, ", ")
	flag, value, _ := strings.Cut(strings.TrimPrefix(right, "--"), " ")
	words := []string{"rcsupervisor add", "NAME"}
	if name := c.Args().First(); profile.ValidName(name) {
		words[1] = shown(name)
	}
	for _, name := range []string{"server", "user-id", "token-file", "owner-id", "agent"} {
		v := c.String(name)
		if name == flag {
			v = value
		}
		if v != "" && !enroll.HoldsToken(v) {
			words = append(words, "--"+name, ownerfs.Quote(v))
		}
	}
	for _, name := range []string{"unchecked", "force"} {
		if c.Bool(name) || name == flag {
			words = append(words, "--"+name)
		}
	}
	if command := c.Args().Tail(); len(command) > 0 && c.Command.Name == "add" {
		words = append(words, "--")
		for _, w := range command {
			words = append(words, ownerfs.Quote(w))
		}
	}
	line := strings.Join(words, " ")
	if noted {
		line += ", " + note
	}
	return line
}

// tokenInFlag fails for a token that was given where everybody can read it.
func tokenInFlag(c *cli.Context) error {
	if !enroll.LooksLikeToken(c.String("user-id")) {
		return nil
	}
	return usage(errors.New("user id: that is a token, and whoever lists processes may have read it: take it back on the server, and make another"),
		addAgain(c, "--user-id ID, and the new token when it asks"))
}

// badName is the error of a name that no profile can have, with what was meant
// where that can be said.
func badName(name string) error {
	try := "NAME"
	if low := strings.ToLower(name); profile.ValidName(low) {
		try = shown(low)
	}
	if enroll.LooksLikeToken(name) {
		try = "NAME"
	}
	return usage(errors.New("that can't be a profile's name: a-z, 0-9, _ and -, 64 at most, beginning with a letter or digit"), "rcsupervisor add "+try+" --server URL")
}
