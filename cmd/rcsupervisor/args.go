package main

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"rcsupervisor/internal/enroll"
	"rcsupervisor/internal/slips"
)

// order puts the arguments of one call into the order that the flag parser
// understands: global flags, verb, the verb's flags, "--", everything else.
// The parser itself stops reading flags at the first argument, which would
// leave the flag of `start alice --wait` unread.
func order(app *cli.App, argv []string) ([]string, error) {
	var global, own, rest []string
	args := argv[1:]
	verb, word := verbIn(app, args)
	if word == helpWord {
		return helpFor(app, argv)
	}
	if word != "" && verb == nil {
		return nil, noSuchVerb(app, word)
	}
	seen := false
	for i := 0; i < len(args); i++ {
		arg := args[i]
		switch {
		case arg == "--":
			rest = append(rest, args[i+1:]...)
			i = len(args)
		case len(arg) > 1 && arg[0] == '-':
			name, value, hasValue := strings.Cut(strings.TrimLeft(arg, "-"), "=")
			if verb != nil && (name == "help" || name == "h") {
				return []string{argv[0], verb.Name, "--help"}, nil // whatever else there is
			}
			flag, isGlobal := lookup(app, verb, name)
			if flag == nil && !builtIn(name) {
				return nil, noSuchFlag(app, verb, arg)
			}
			words := []string{arg}
			if flag != nil && !hasValue && !isBool(flag) {
				if i+1 == len(args) {
					return nil, usage(fmt.Errorf("flag --%s needs a value", name), help(verb))
				}
				i++
				words, value, hasValue = append(words, args[i]), args[i], true
			}
			if err := fits(flag, value); hasValue && err != nil {
				return nil, usage(fmt.Errorf("flag --%s: %w", name, err), help(verb))
			}
			if isGlobal || verb == nil || flag == nil && !seen {
				global = append(global, words...)
			} else {
				own = append(own, words...)
			}
		case !seen:
			seen = true // the verb itself
		default:
			rest = append(rest, arg)
		}
	}
	out := append([]string{argv[0]}, global...)
	if verb == nil {
		return out, nil
	}
	out = append(append(out, verb.Name), own...)
	if len(rest) > 0 {
		out = append(append(out, "--"), rest...)
	}
	return out, nil
}

// verbIn finds the verb: the first word that is no flag and no flag's value.
func verbIn(app *cli.App, args []string) (verb *cli.Command, word string) {
	for i := 0; i < len(args); i++ {
		arg := args[i]
		if arg == "--" {
			return nil, ""
		}
		if len(arg) < 2 || arg[0] != '-' {
			return app.Command(arg), arg
		}
		name, _, hasValue := strings.Cut(strings.TrimLeft(arg, "-"), "=")
		if flag := named(app.Flags, name); flag != nil && !hasValue && !isBool(flag) {
			i++
		}
	}
	return nil, ""
}

// lookup finds a flag of the verb, or else a global one.
func lookup(app *cli.App, verb *cli.Command, name string) (flag cli.Flag, global bool) {
	if verb != nil {
		if f := named(verb.Flags, name); f != nil {
			return f, false
		}
	}
	if builtIn(name) {
		return nil, false
	}
	f := named(app.Flags, name)
	return f, f != nil
}

func named(flags []cli.Flag, name string) cli.Flag {
	for _, f := range flags {
		if slices.Contains(f.Names(), name) {
			return f
		}
	}
	return nil
}

func isBool(f cli.Flag) bool {
	_, ok := f.(*cli.BoolFlag)
	return ok
}

func help(verb *cli.Command) string {
	if verb == nil {
		return "rcsupervisor --help"
	}
	return "rcsupervisor " + verb.Name + " --help"
}

// fits reports what is wrong with a flag's value, in other words than the
// parser's.
func fits(f cli.Flag, value string) error {
	switch f.(type) {
	case *cli.DurationFlag:
		if d, err := time.ParseDuration(value); err != nil || d < 0 {
			return fmt.Errorf("%q is no time, such as 30s or 10m", value)
		}
	case *cli.IntFlag:
		if n, err := strconv.Atoi(value); err != nil || n < 0 {
			return fmt.Errorf("%q is no number", value)
		}
	case *cli.BoolFlag:
		if _, err := strconv.ParseBool(value); err != nil {
			return errors.New("it takes no value")
		}
	}
	return nil
}

// builtIn reports whether the parser itself knows a flag.
func builtIn(name string) bool {
	return slices.Contains([]string{"help", "h", "version", "v"}, name)
}

// helpWord is help where a verb is expected: help of the verb after it, or of
// all.
const helpWord = "help"

func helpFor(app *cli.App, argv []string) ([]string, error) {
	args := slices.Clone(argv[1:])
	i := slices.Index(args, helpWord)
	switch verb, word := verbIn(app, slices.Delete(args, i, i+1)); {
	case verb != nil:
		return []string{argv[0], verb.Name, "--help"}, nil
	case word != "":
		return nil, noSuchVerb(app, word)
	}
	return []string{argv[0], "--help"}, nil
}

// noSuchVerb is the error of a word that is no verb, and names the verb that
// was probably meant.
func noSuchVerb(app *cli.App, typed string) error {
	names := []string{helpWord}
	for _, c := range app.Commands {
		if !c.Hidden {
			names = append(names, c.Name)
		}
	}
	if near := slips.Nearest(typed, names); near != "" {
		return usage(fmt.Errorf("no such verb %q: did you mean %q?", typed, near), help(app.Command(near)))
	}
	return usage(fmt.Errorf("no such verb %q", typed), help(nil))
}

// noSuchFlag is the error of a flag that neither the verb nor all verbs have.
// Its value isn't repeated, nor what may be a secret in the place of a flag.
func noSuchFlag(app *cli.App, verb *cli.Command, typed string) error {
	typed, _, _ = strings.Cut(typed, "=")
	word := strings.TrimLeft(typed, "-")
	if enroll.LooksLikeToken(word) {
		return usage(errors.New("there is no such flag"), help(verb))
	}
	flags, of := app.Flags, ""
	if verb != nil {
		flags, of = slices.Concat(verb.Flags, app.Flags), " of "+verb.Name
	}
	var names []string
	for _, f := range flags {
		names = append(names, f.Names()[0])
	}
	if near := slips.Nearest(word, names); near != "" {
		return usage(fmt.Errorf("no such flag %s%s: did you mean --%s?", typed, of, near), help(verb))
	}
	return usage(fmt.Errorf("no such flag %s%s", typed, of), help(verb))
}
