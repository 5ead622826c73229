package profile

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"
)

// Bounds of access.yaml.
const (
	maxPeople  = 10_000
	maxRooms   = 10_000
	maxIgnored = 10_000
	maxID      = 255 // bytes of an id
	maxName    = 64  // characters of a name
)

// Commands are those of the bot itself, which members may be allowed.
var commands = []string{"help", "status", "stop", "new"}

var roles = []string{string(Owner), string(Member), string(Blocked)}

// accessKeys is access.yaml, whole.
var accessKeys = table[Access]{
	row("people", people, nil, Live,
		func(a *Access) *[]Person { return &a.People },
		"Who is let in, and who is kept out: owner, member or blocked. The id decides; the name is for people to read. Whoever is not here is a stranger.").
		shown("[], nobody").widening(),
	row("rooms", rooms, nil, Live,
		func(a *Access) *[]Room { return &a.Rooms },
		"The rooms that are on. Under mention: false the bot answers there without being named. One-to-one rooms need no entry.").
		shown("[], none").widening(),
	row("ignore_senders", listOf("list of ids", maxIgnored, true, identifier), nil, Live,
		func(a *Access) *[]string { return &a.IgnoreSenders },
		"Senders that are never heard, such as other bots.").
		shown("[]").widening(),
	row("commands.members", listOf("list of words", len(commands), true, word(commands...)), commands, Live,
		func(a *Access) *[]string { return &a.MemberCommands },
		"The bot's own commands that members may give.").widening(),
	row("approvals", word("owner", "asker"), "owner", Live,
		func(a *Access) *string { return &a.Approvals },
		"Who may decide what the agent asks to do: owners alone, or also the one who asked the question.").widening(),
	row("allow_context_references", boolean, false, Live,
		func(a *Access) *bool { return &a.AllowContextReferences },
		"Whether references such as @file: are live in an owner's own text.").widening(),
	row("shared_memory_warning", boolean, true, Live,
		func(a *Access) *bool { return &a.SharedMemoryWarning },
		"Whether to warn when the agent keeps one memory of several people."),
}

// idFault says what is wrong with a person's or room's id.
func idFault(s string) string {
	switch {
	case s == "":
		return "an id is empty"
	case len(s) > maxID:
		return fmt.Sprintf("an id is longer than %d bytes", maxID)
	}
	for _, c := range s {
		if c <= ' ' || unicode.IsControl(c) || unicode.IsSpace(c) || unicode.In(c, unicode.Cf, unicode.Cs) {
			return "an id holds a space or a control character"
		}
	}
	return ""
}

// ShownName makes a name that came from outside fit to be kept and shown: one
// line without control and format characters, of at most 64 characters.
func ShownName(s string) string {
	s = strings.Map(func(c rune) rune {
		if c == utf8.RuneError || unicode.IsControl(c) || unicode.In(c, unicode.Cf, unicode.Cs, unicode.Zl, unicode.Zp) {
			return -1
		}
		return c
	}, s)
	if r := []rune(s); len(r) > maxName {
		s = string(r[:maxName])
	}
	return s
}

// nameFault says what is wrong with a name that is to be shown.
func nameFault(s string) string {
	if utf8.RuneCountInString(s) > maxName {
		return fmt.Sprintf("a name is longer than %d characters", maxName)
	}
	for _, c := range s {
		if unicode.IsControl(c) || unicode.In(c, unicode.Cf, unicode.Cs, unicode.Zl, unicode.Zp) {
			return "a name holds a control or format character"
		}
	}
	return ""
}

var (
	identifier = checkedText("id", "", idFault)
	shownName  = checkedText("name", "", nameFault)
)

// An entry's own keys, in tables like any other's.
var (
	personKeys = table[Person]{
		row("id", identifier, "", Live, func(p *Person) *string { return &p.ID }, ""),
		row("name", shownName, "", Live, func(p *Person) *string { return &p.Name }, ""),
		row("role", word(roles...), "", Live, func(p *Person) *string { return (*string)(&p.Role) }, ""),
	}
	roomKeys = table[Room]{
		row("id", identifier, "", Live, func(p *Room) *string { return &p.ID }, ""),
		row("name", shownName, "", Live, func(p *Room) *string { return &p.Name }, ""),
		row("mention", boolean, true, Live, func(p *Room) *bool { return &p.Mention }, ""),
	}
)

// entries reads a list of maps; needed keys must be there, ids only once.
func entries[E comparable](form string, limit int, keys table[E], id func(E) string, needed ...string) valueType[[]E] {
	return valueType[[]E]{
		name:   "list of " + form,
		bounds: fmt.Sprintf("at most %d", limit),
		parse: func(r *report, path string, n *yaml.Node) ([]E, bool) {
			if isNull(n) {
				return nil, true
			}
			if n.Kind != yaml.SequenceNode {
				r.add(n.Line, path, "must be a list of %s", form)
				return nil, false
			}
			if len(n.Content) > limit {
				r.add(n.Line, path, "has more than %d entries", limit)
				return nil, false
			}
			before := len(r.problems) + r.more
			list := make([]E, 0, len(n.Content))
			first := make(map[string]int, len(n.Content))
			for _, c := range n.Content {
				if c.Kind != yaml.MappingNode {
					r.add(c.Line, path, "an entry must be %s", form)
					continue
				}
				own := &report{}
				e, lines := keys.decode(own, c, keys.defaults())
				for _, p := range own.problems {
					r.add(p.Line, join(path, p.Key), "%s", p.Text)
				}
				for _, k := range needed {
					if lines[k] == 0 {
						r.add(c.Line, path, "an entry has no %s", k)
					}
				}
				if line, twice := first[id(e)]; twice && id(e) != "" {
					r.add(c.Line, path, "an id stands twice, first on line %d", line)
				}
				first[id(e)] = c.Line
				list = append(list, e)
			}
			return list, len(r.problems)+r.more == before
		},
		format: func(l []E) string { return strconv.Itoa(len(l)) + " entries" },
		equal: func(a, b []E) bool {
			if len(a) != len(b) {
				return false
			}
			for i := range a {
				if a[i] != b[i] {
					return false
				}
			}
			return true
		},
		clone: func(l []E) []E { return append([]E(nil), l...) },
	}
}

var (
	people = entries("{id, name, role}", maxPeople, personKeys, func(p Person) string { return p.ID }, "id", "role")
	rooms  = entries("{id, name, mention}", maxRooms, roomKeys, func(p Room) string { return p.ID }, "id")
)

// DefaultAccess is what holds without an access.yaml: nobody is let in and no
// room is on.
func DefaultAccess() Access { return accessKeys.defaults() }

// ParseAccess reads an access.yaml; an empty one is like none. Errors are
// [*FileError] and call the file what file says.
func ParseAccess(file string, data []byte) (Access, error) {
	r := &report{file: file}
	root := parseDocument(r, data)
	if err := r.err(); err != nil {
		return Access{}, err
	}
	a, _ := accessKeys.decode(r, root, DefaultAccess())
	if err := r.err(); err != nil {
		return Access{}, err
	}
	return a, nil
}
