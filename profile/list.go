package profile

import (
	"maps"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"
)

// listOf takes a list of at most limit items; each is read by item, and none
// may stand twice when unique is set.
func listOf(name string, limit int, unique bool, item valueType[string]) valueType[[]string] {
	return valueType[[]string]{
		name:   name,
		bounds: item.bounds,
		parse: func(r *report, path string, n *yaml.Node) ([]string, bool) {
			if isNull(n) {
				return nil, true // a heading whose items are all commented out
			}
			if n.Kind != yaml.SequenceNode {
				r.add(n.Line, path, "must be a list, such as [one, two]")
				return nil, false
			}
			if len(n.Content) > limit {
				r.add(n.Line, path, "has more than %d items", limit)
				return nil, false
			}
			list, ok := make([]string, 0, len(n.Content)), true
			for _, c := range n.Content {
				s, good := item.parse(r, path, c)
				if good && unique && slices.Contains(list, s) {
					r.add(c.Line, path, "an item stands twice")
					good = false
				}
				ok = ok && good
				list = append(list, s)
			}
			return list, ok
		},
		format: func(l []string) string { return "[" + strings.Join(l, ", ") + "]" },
		equal:  func(a, b []string) bool { return slices.Equal(a, b) },
		clone:  slices.Clone[[]string],
	}
}

// EnvName is what the name of an environment variable, and with it a name
// under values in the envelope, looks like.
var EnvName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,127}$`)

// environment takes a map of variables.
func environment(limit int) valueType[map[string]string] {
	return valueType[map[string]string]{
		name: "map of text",
		parse: func(r *report, path string, n *yaml.Node) (map[string]string, bool) {
			if isNull(n) {
				return nil, true
			}
			if n.Kind != yaml.MappingNode {
				r.add(n.Line, path, "must be a map, such as {NAME: value}")
				return nil, false
			}
			if len(n.Content)/2 > limit {
				r.add(n.Line, path, "has more than %d variables", limit)
				return nil, false
			}
			env, ok := make(map[string]string, len(n.Content)/2), true
			for i := 0; i+1 < len(n.Content); i += 2 {
				k, v := n.Content[i], n.Content[i+1]
				if fault := envNameFault(k.Value); fault != "" {
					r.add(k.Line, path, "%s", fault)
					ok = false
					continue
				}
				s, good := text(r, join(path, k.Value), v, "text")
				if good && strings.ContainsRune(s, 0) {
					r.add(v.Line, join(path, k.Value), "must not hold a zero byte")
					good = false
				}
				ok = ok && good
				env[k.Value] = s
			}
			return env, ok
		},
		format: func(m map[string]string) string {
			return "{" + strings.Join(slices.Sorted(maps.Keys(m)), ", ") + "}"
		},
		equal: func(a, b map[string]string) bool { return maps.Equal(a, b) },
		clone: maps.Clone[map[string]string],
	}
}

// envNameFault refuses the names that every agent is given by us: a setting
// could otherwise point an agent at another home.
func envNameFault(name string) string {
	switch {
	case !EnvName.MatchString(name):
		return "a variable's name is made of letters, digits and _, and does not begin with a digit"
	case slices.Contains([]string{"HERMES_HOME", "HOME", "USER", "LOGNAME", "SHELL"}, name),
		strings.HasPrefix(name, "RCSUPERVISOR_"):
		return name + " is given by the supervisor and can't be set here"
	}
	return ""
}
