package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

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
	if word != "" && verb == nil {
		return nil, usage(fmt.Errorf("no such verb %q%s", word, didYouMean(app, word)), "rcsupervisor --help")
	}
	seen := false
	for i := 0; i < len(args); i++ {
		arg := args[i]
		switch {
		case arg == "--":
			rest = append(rest, args[i+1:]...)
			i = len(args)
		case len(arg) > 1 && arg[0] == '-':
			name, _, hasValue := strings.Cut(strings.TrimLeft(arg, "-"), "=")
			if verb != nil && (name == "help" || name == "h") {
				return []string{argv[0], verb.Name, "--help"}, nil // whatever else there is
			}
			flag, isGlobal := lookup(app, verb, name)
			words := []string{arg}
			if flag != nil && !hasValue && !isBool(flag) {
				if i+1 == len(args) {
					return nil, usage(fmt.Errorf("flag --%s needs a value", name), help(verb))
				}
				i++
				words = append(words, args[i])
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
	if name == "help" || name == "h" || name == "version" || name == "v" {
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

// didYouMean names the verb that was probably meant.
func didYouMean(app *cli.App, typed string) string {
	var names []string
	for _, c := range app.Commands {
		if !c.Hidden {
			names = append(names, c.Name)
		}
	}
	if near := slips.Nearest(typed, names); near != "" {
		return fmt.Sprintf(": did you mean %q?", near)
	}
	return ""
}
