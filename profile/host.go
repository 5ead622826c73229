package profile

import (
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"
)

// The host file says two things about all profiles: what a key is when their
// channel.yaml leaves it out, and how much of a limit a profile may have at
// most. Both are written as in channel.yaml and checked by the same table.

// ParseDefaults reads the host file's defaults, a map as channel.yaml is, on
// top of the program's own. node may be nil. Errors are [*FileError] with the
// host file's lines.
func ParseDefaults(file string, node *yaml.Node) (Settings, error) {
	r := &report{file: file}
	s, _ := parseNode(r, node)
	return s, r.err()
}

// Ceilings bound the limits of every profile. The zero Ceilings bound nothing.
type Ceilings struct {
	max  Settings
	keys []string
}

// ParseCeilings reads the host file's max: keys under limits, as in
// channel.yaml. node may be nil.
func ParseCeilings(file string, node *yaml.Node) (Ceilings, error) {
	r := &report{file: file}
	s, lines := parseNode(r, node)
	c := Ceilings{max: s}
	for _, k := range settingsKeys {
		switch line := lines[k.path]; {
		case line == 0:
		case !strings.HasPrefix(k.path, "limits."):
			r.add(line, k.path, "has no ceiling; only keys under limits have")
		default:
			c.keys = append(c.keys, k.path)
		}
	}
	return c, r.err()
}

func parseNode(r *report, node *yaml.Node) (Settings, map[string]int) {
	if node != nil && isNull(node) {
		node = nil
	}
	if node != nil {
		before := len(r.problems)
		if plain(r, node, ""); len(r.problems) > before {
			return DefaultSettings(), nil
		}
	}
	return settingsKeys.decode(r, node, DefaultSettings())
}

// Cap cuts what a profile has more than it may, and names the keys that were
// cut, each with both values.
func (c Ceilings) Cap(s Settings) (Settings, []KeyChange) {
	var cut []KeyChange
	before := s
	for _, k := range settingsKeys {
		if slices.Contains(c.keys, k.path) && k.more(&s, &c.max) {
			k.copy(&s, &c.max)
			cut = append(cut, KeyChange{File: SettingsFile, Key: k.path, Class: k.class, Old: k.show(&before), New: k.show(&s)})
		}
	}
	return s, cut
}
