package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/urfave/cli/v2"

	"rcsupervisor/internal/control"
)

// Flags of verbs that take NAME…|--all.
func allFlag() cli.Flag { return &cli.BoolFlag{Name: "all", Usage: "every profile that is yours"} }

func spreadFlag() cli.Flag {
	return &cli.DurationFlag{Name: "spread", Usage: "one after another, evenly over so `LONG`"}
}

// someNamed fails unless a verb that takes NAME…|--all was given one of the two.
func someNamed(c *cli.Context) error {
	all, verb := c.Bool("all"), c.Command.Name
	switch {
	case all && c.Args().Present():
		return usage(errors.New("give names or --all, not both"), "rcsupervisor "+verb+" --all")
	case !all && !c.Args().Present():
		return usage(fmt.Errorf("%s takes names of profiles, or --all", verb), "rcsupervisor "+verb+" NAME")
	}
	return nil
}

// chosen are the profiles that arguments mean: names, patterns such as shop-*,
// or all. A name that no profile has is among them; whoever is asked says so.
func chosen(c *cli.Context, client *control.Client) ([]string, error) {
	all, args := c.Bool("all"), c.Args().Slice()
	if !all && !slices.ContainsFunc(args, isPattern) {
		return unique(args), nil
	}
	st, err := client.Status(c.Context)
	if err != nil {
		return nil, remote(err)
	}
	var names []string
	for _, p := range st.Profiles {
		names = append(names, p.Name)
	}
	if all {
		return names, nil
	}
	return expand(args, names)
}

func isPattern(arg string) bool { return strings.ContainsAny(arg, "*?[") }

// expand replaces patterns by the names they mean.
func expand(args, names []string) ([]string, error) {
	var found []string
	for _, arg := range args {
		if !isPattern(arg) {
			found = append(found, arg)
			continue
		}
		before := len(found)
		for _, name := range names {
			ok, err := path.Match(arg, name)
			if err != nil {
				return nil, usage(fmt.Errorf("the pattern %q is not well formed", arg), "rcsupervisor status")
			}
			if ok {
				found = append(found, name)
			}
		}
		if len(found) == before {
			return nil, &failure{fmt.Errorf("no profile's name matches %q", arg), "rcsupervisor status", exitNoProfile}
		}
	}
	return unique(found), nil
}

func unique(names []string) []string {
	var once []string
	for _, n := range names {
		if !slices.Contains(once, n) {
			once = append(once, n)
		}
	}
	return once
}

// An outcome is what came of an order for one profile.
type outcome struct {
	Name  string         `json:"name"`
	OK    bool           `json:"ok"`
	Error *control.Error `json:"error"`
}

// atATime is how many profiles are asked about at the same time.
const atATime = 16

// each carries out do for all names, evenly over spread if it isn't 0, and
// tells what came of each: on s.out as soon as it is known, in the order of the
// names, and as an error.
func each(c *cli.Context, s streams, names []string, spread time.Duration, done string, do func(ctx context.Context, name string) error) error {
	t := &tally{s: s, done: done, quiet: c.Bool("json"), outcomes: make([]outcome, len(names)), known: make([]bool, len(names)), waiting: waiting{out: s.err}}
	defer t.waiting.done()
	step := spread / time.Duration(max(1, len(names)))
	if step > 0 && len(names) > 1 {
		s.word("%d profiles, one every %s; Ctrl-C leaves the rest as they are", len(names), step.Round(time.Millisecond))
	}
	t.waiting.say(t.progress())
	var group sync.WaitGroup
	places := make(chan struct{}, atATime)
	for i, name := range names {
		if i > 0 && step > 0 && !pause(c.Context, step) {
			t.note(i, outcome{Name: name, Error: &control.Error{Code: control.CodeFailed, Message: "given up before it was asked", Try: "rcsupervisor " + c.Command.Name + " " + name}})
			continue
		}
		places <- struct{}{}
		group.Go(func() {
			defer func() { <-places }()
			t.note(i, outcomeOf(name, do(c.Context, name)))
		})
	}
	group.Wait()
	if c.Bool("json") {
		if err := printJSON(s, t.outcomes); err != nil {
			return err
		}
	}
	return sumUp(t.outcomes)
}

// A tally gathers outcomes and prints each once all before it are known.
type tally struct {
	s     streams
	done  string // what is said of one that succeeded
	quiet bool   // no outcome is printed

	waiting waiting

	mu       sync.Mutex
	outcomes []outcome
	known    []bool
	count    int // of those known
	told     int // the first that wasn't printed yet
}

// note keeps the outcome of the name number i.
func (t *tally) note(i int, o outcome) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.outcomes[i], t.known[i] = o, true
	t.count++
	for ; t.told < len(t.known) && t.known[t.told]; t.told++ {
		if o := t.outcomes[t.told]; o.OK && !t.quiet {
			fmt.Fprintf(t.s.out, "%s  %s\n", t.done, o.Name)
		}
	}
	if t.count < len(t.known) {
		t.waiting.say(t.progress())
	} else {
		t.waiting.done()
	}
}

func (t *tally) progress() string { return fmt.Sprintf("%d of %d done", t.count, len(t.known)) }

func outcomeOf(name string, err error) outcome {
	if err == nil {
		return outcome{Name: name, OK: true}
	}
	e, ok := errors.AsType[*control.Error](err)
	if !ok {
		e = &control.Error{Code: control.CodeFailed, Message: err.Error(), Try: "rcsupervisor status"}
	}
	return outcome{Name: name, Error: e}
}

// pause waits, and reports false when ctx ended first.
func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// sumUp makes one error of what failed: its own code if nothing was done, else
// that some failed.
func sumUp(outcomes []outcome) error {
	var texts []string
	var first *control.Error
	for _, o := range outcomes {
		if o.OK {
			continue
		}
		text := o.Error.Message
		if !strings.Contains(text, o.Name) {
			text = o.Name + ": " + text
		}
		texts = append(texts, text)
		if first == nil {
			first = o.Error
		}
	}
	if first == nil {
		return nil
	}
	code := codeOf(first)
	if len(texts) < len(outcomes) || slices.ContainsFunc(outcomes, func(o outcome) bool { return codeOf(o.Error) != code }) {
		code = exitPartly
	}
	return &failure{errors.New(strings.Join(few(texts), "\n")), first.Try, code}
}

// few are the first of many lines, and how many more there are.
func few(lines []string) []string {
	const most = 12
	if len(lines) <= most {
		return lines
	}
	return append(slices.Clone(lines[:most-1]), fmt.Sprintf("and %d more", len(lines)-most+1))
}

// printJSON prints v for programs.
func printJSON(s streams, v any) error {
	e := json.NewEncoder(s.out)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(v)
}
