package hostfile

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"

	"rcsupervisor/internal/slips"
	"rcsupervisor/profile"
	"rcsupervisor/sealed"
)

// Bounds of what a host file may ask for.
const (
	maxAgents = 100_000
	maxList   = 10_000
)

// Parse reads the text of a host file and calls it file in errors, which are
// [*profile.FileError] and tell everything that is wrong at once.
func Parse(file string, data []byte) (File, error) {
	root, err := profile.ParseDocument(file, data)
	if err != nil || root == nil {
		return File{}, err
	}
	p := &parser{file: file}
	var f File
	p.section(root, "", map[string]func(string, *yaml.Node){
		"roots":      func(key string, n *yaml.Node) { f.Roots = list(p, key, n, p.root) },
		"isolation":  func(key string, n *yaml.Node) { f.Isolation = p.word(key, n, "process", "shared") },
		"defaults":   func(_ string, n *yaml.Node) { f.Defaults = p.defaults(n) },
		"servers":    func(key string, n *yaml.Node) { f.Servers = list(p, key, n, p.server) },
		"allow_root": func(key string, n *yaml.Node) { f.AllowRoot = list(p, key, n, p.folder) },
		"max":        func(_ string, n *yaml.Node) { f.Ceilings = p.ceilings(n) },
		"agents": func(key string, n *yaml.Node) {
			p.section(n, key, map[string]func(string, *yaml.Node){
				"max":      func(key string, n *yaml.Node) { f.Agents.Max = p.count(key, n) },
				"starting": func(key string, n *yaml.Node) { f.Agents.Starting = p.count(key, n) },
				"kinds":    func(key string, n *yaml.Node) { f.Agents.Kinds = list(p, key, n, p.kind) },
			})
		},
	})
	if len(p.problems) > 0 {
		slices.SortStableFunc(p.problems, func(a, b profile.Problem) int { return a.Line - b.Line })
		return File{}, &profile.FileError{File: file, Problems: p.problems}
	}
	return f, nil
}

// A parser collects what is wrong. No problem quotes a value.
type parser struct {
	file     string
	problems []profile.Problem
}

func (p *parser) add(line int, key, format string, args ...any) {
	p.problems = append(p.problems, profile.Problem{Line: line, Key: key, Text: fmt.Sprintf(format, args...)})
}

// section reads a map, each of its keys by a function of that name.
func (p *parser) section(n *yaml.Node, at string, keys map[string]func(key string, n *yaml.Node)) {
	if isNull(n) {
		return // a heading whose keys are all commented out
	}
	if n.Kind != yaml.MappingNode {
		p.add(n.Line, at, "must be a map of keys and values")
		return
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		name := n.Content[i].Value
		if read := keys[name]; read != nil {
			read(join(at, name), n.Content[i+1])
			continue
		}
		p.unknown(n.Content[i], at, keys)
	}
}

func (p *parser) unknown(n *yaml.Node, at string, keys map[string]func(string, *yaml.Node)) {
	var names []string
	for name := range keys {
		names = append(names, name)
	}
	slices.Sort(names)
	if near := slips.Nearest(n.Value, names); near != "" {
		p.add(n.Line, at, "unknown key; did you mean %s?", join(at, near))
		return
	}
	p.add(n.Line, at, "unknown key; here may stand %s", strings.Join(names, ", "))
}

func join(at, key string) string {
	if at == "" {
		return key
	}
	return at + "." + key
}

func isNull(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.Tag == "!!null" }

// list reads a list, each entry by one. An empty list is not nil: it permits
// nothing, where a missing one says nothing.
func list[V any](p *parser, key string, n *yaml.Node, one func(key string, n *yaml.Node) (V, bool)) []V {
	switch {
	case n.Kind != yaml.SequenceNode:
		p.add(n.Line, key, "must be a list")
		return nil
	case len(n.Content) > maxList:
		p.add(n.Line, key, "has more than %d entries", maxList)
		return nil
	}
	all := []V{}
	for _, c := range n.Content {
		if v, ok := one(key, c); ok {
			all = append(all, v)
		}
	}
	return all
}

func (p *parser) text(key string, n *yaml.Node) (string, bool) {
	if n.Kind != yaml.ScalarNode || n.Tag != "!!str" || n.Value == "" {
		p.add(n.Line, key, "must be text")
		return "", false
	}
	return n.Value, true
}

func (p *parser) word(key string, n *yaml.Node, allowed ...string) string {
	if n.Kind == yaml.ScalarNode && slices.Contains(allowed, n.Value) {
		return n.Value
	}
	p.add(n.Line, key, "must be %s", strings.Join(allowed, " or "))
	return ""
}

func (p *parser) kind(key string, n *yaml.Node) (string, bool) {
	word := p.word(key, n, "acp", "exec", "echo")
	return word, word != ""
}

func (p *parser) count(key string, n *yaml.Node) int {
	v, err := strconv.Atoi(n.Value)
	if err != nil || n.Kind != yaml.ScalarNode || n.Tag != "!!int" || v < 1 || v > maxAgents {
		p.add(n.Line, key, "must be a whole number from 1 to %d", maxAgents)
		return 0
	}
	return v
}

func (p *parser) server(key string, n *yaml.Node) (string, bool) {
	s, ok := p.text(key, n)
	if !ok {
		return "", false
	}
	canonical, err := sealed.Server(s)
	if e, bad := errors.AsType[*sealed.ServerError](err); bad {
		p.add(n.Line, key, "%s", e.Reason)
		return "", false
	}
	return canonical, err == nil
}

// folder reads an absolute path, which may be a pattern.
func (p *parser) folder(key string, n *yaml.Node) (string, bool) {
	s, ok := p.text(key, n)
	if !ok {
		return "", false
	}
	if _, err := filepath.Match(s, ""); err != nil || !filepath.IsAbs(s) {
		p.add(n.Line, key, "must be an absolute path, or a pattern of one")
		return "", false
	}
	return filepath.Clean(s), true
}

// root reads {dir, prefix}, or a folder alone.
func (p *parser) root(key string, n *yaml.Node) (profile.Root, bool) {
	before := len(p.problems)
	var r profile.Root
	if n.Kind == yaml.ScalarNode {
		r.Dir, _ = p.folder(key, n)
		return r, len(p.problems) == before
	}
	p.section(n, key, map[string]func(string, *yaml.Node){
		"dir": func(key string, n *yaml.Node) { r.Dir, _ = p.folder(key, n) },
		"prefix": func(key string, n *yaml.Node) {
			r.Prefix, _ = p.text(key, n)
			if r.Prefix != "" && !profile.ValidName(r.Prefix) {
				p.add(n.Line, key, "can't begin a profile's name: a-z, 0-9, _ and -, beginning with a letter or digit")
			}
		},
	})
	if len(p.problems) == before && r.Dir == "" {
		p.add(n.Line, key, "an entry has no dir")
	}
	return r, len(p.problems) == before
}

func (p *parser) defaults(n *yaml.Node) *profile.Settings {
	s, err := profile.ParseDefaults(p.file, n)
	p.take("defaults", err)
	return &s
}

func (p *parser) ceilings(n *yaml.Node) profile.Ceilings {
	c, err := profile.ParseCeilings(p.file, n)
	p.take("max", err)
	return c
}

// take adds the problems of a part that profile reads.
func (p *parser) take(at string, err error) {
	e, ok := errors.AsType[*profile.FileError](err)
	if !ok {
		return
	}
	for _, problem := range e.Problems {
		problem.Key = join(at, problem.Key)
		p.problems = append(p.problems, problem)
	}
}
