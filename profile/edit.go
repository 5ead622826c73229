package profile

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"
)

// ErrUnknown is returned by an edit that takes away what isn't there.
var ErrUnknown = errors.New("is not in access.yaml")

// An Edit is one change to access.yaml that a person asked for.
type Edit struct {
	list   string // people or rooms
	id     string
	fields [][2]string // to set, in the order of a new entry; nil removes the entry
	fault  string      // what is wrong with the edit itself
}

// LetIn lets a person in, or gives one who is there the role and name of p. An
// empty name leaves the one that is there.
func LetIn(p Person) Edit {
	e := Edit{list: "people", id: p.ID, fault: firstFault(idFault(p.ID), nameFault(p.Name))}
	if _, ok := rank[p.Role]; !ok || p.Role == "" {
		e.fault = "a role is owner, member or blocked"
	}
	e.fields = [][2]string{{"id", p.ID}}
	if p.Name != "" {
		e.fields = append(e.fields, [2]string{"name", p.Name})
	}
	e.fields = append(e.fields, [2]string{"role", string(p.Role)})
	return e
}

// SetRole gives a person a role, whether he is there yet or not.
func SetRole(id string, role Role) Edit { return LetIn(Person{ID: id, Role: role}) }

// Forget takes a person out, who is a stranger again.
func Forget(id string) Edit { return Edit{list: "people", id: id} }

// RoomOn turns a room on. An empty name leaves the one that is there.
func RoomOn(r Room) Edit {
	e := Edit{list: "rooms", id: r.ID, fault: firstFault(idFault(r.ID), nameFault(r.Name))}
	e.fields = [][2]string{{"id", r.ID}}
	if r.Name != "" {
		e.fields = append(e.fields, [2]string{"name", r.Name})
	}
	e.fields = append(e.fields, [2]string{"mention", fmt.Sprint(r.Mention)})
	return e
}

// RoomOff turns a room off.
func RoomOff(id string) Edit { return Edit{list: "rooms", id: id} }

func firstFault(faults ...string) string {
	for _, f := range faults {
		if f != "" {
			return f
		}
	}
	return ""
}

// EditAccess applies edits to the text of an access.yaml and returns the new
// text and what it says. Comments, blank lines, order and the form of what is
// there stay. A file that has errors is not edited, nor is one that would.
func EditAccess(file string, data []byte, edits ...Edit) ([]byte, Access, error) {
	if _, err := ParseAccess(file, data); err != nil {
		return nil, Access{}, err
	}
	want, err := edited(data, edits)
	if err != nil {
		return nil, Access{}, err
	}
	// Blank lines go through the editor as comments. Where that gets in the way
	// of the text, they are lost rather than the text.
	for _, keepBlank := range []bool{true, false} {
		out, err := editText(data, edits, keepBlank)
		if err != nil {
			return nil, Access{}, err
		}
		got, err := ParseAccess(file, out)
		if err == nil && accessKeys.equal(&got, &want) {
			return out, got, nil
		}
		if !keepBlank && err != nil {
			return nil, Access{}, err
		}
	}
	return nil, Access{}, fmt.Errorf("%s: can't be edited without changing what it says; edit it by hand", file)
}

func (t table[T]) equal(a, b *T) bool {
	return !slices.ContainsFunc(t, func(k key[T]) bool { return !k.same(a, b) })
}

// edited is what the file must say in the end, found without its text.
func edited(data []byte, edits []Edit) (Access, error) {
	a, err := ParseAccess("", data)
	if err != nil {
		return a, err
	}
	return a.With(edits...)
}

// With returns what a says after the edits. It is for the access in use, which
// may give less than the file: what a person edits in the file holds there
// too, and nothing else of the file does.
func (a Access) With(edits ...Edit) (Access, error) {
	a = cloneAccess(a)
	for _, e := range edits {
		if e.fault != "" {
			return a, errors.New(e.fault)
		}
		var err error
		if e.list == "people" {
			a.People, err = editList(a.People, e, func(p Person) string { return p.ID }, func(p *Person, k, v string) {
				switch k {
				case "id":
					p.ID = v
				case "name":
					p.Name = v
				case "role":
					p.Role = Role(v)
				}
			})
		} else {
			a.Rooms, err = editList(a.Rooms, e, func(r Room) string { return r.ID }, func(r *Room, k, v string) {
				switch k {
				case "id":
					r.ID = v
				case "name":
					r.Name = v
				case "mention":
					r.Mention = v == "true"
				}
			})
		}
		if err != nil {
			return a, err
		}
	}
	return a, nil
}

func editList[E any](list []E, e Edit, id func(E) string, set func(*E, string, string)) ([]E, error) {
	i := slices.IndexFunc(list, func(x E) bool { return id(x) == e.id })
	switch {
	case i < 0 && e.fields == nil:
		return list, fmt.Errorf("%s %w", show(e.id), ErrUnknown)
	case e.fields == nil:
		return slices.Delete(list, i, i+1), nil
	case i < 0:
		var x E
		list, i = append(list, x), len(list)
	}
	for _, f := range e.fields {
		set(&list[i], f[0], f[1])
	}
	return list, nil
}

// blank stands for an empty line while the text is a tree.
const blank = "#\u2400blank\u2400"

func editText(data []byte, edits []Edit, keepBlank bool) ([]byte, error) {
	text := strings.ReplaceAll(string(bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))), "\r\n", "\n")
	if keepBlank {
		lines := strings.SplitAfter(text, "\n")
		for i, l := range lines {
			if strings.TrimSpace(l) == "" && l != "" {
				lines[i] = blank + "\n"
			}
		}
		text = strings.Join(lines, "")
	}
	doc, compact, err := editTree(text, edits)
	if err != nil {
		return nil, err
	}
	out, err := yaml.Dump(doc, yaml.WithLineWidth(-1), yaml.WithCompactSeqIndent(compact))
	if err != nil {
		return nil, err
	}
	if keepBlank {
		lines := strings.SplitAfter(string(out), "\n")
		for i, l := range lines {
			if strings.TrimSpace(l) == blank {
				lines[i] = "\n"
			}
		}
		out = []byte(strings.Join(lines, ""))
	}
	return out, nil
}

func editTree(text string, edits []Edit) (doc *yaml.Node, compact bool, err error) {
	doc = &yaml.Node{}
	if err := yaml.Load([]byte(text), doc); err != nil && !strings.HasSuffix(err.Error(), "no documents in stream") {
		// ParseAccess took the same text, so this is the blank lines' doing.
		return nil, false, errors.New("not valid YAML")
	}
	if doc.Kind == 0 || isNull(doc.Content[0]) {
		// A file of comments alone has nothing for them to hang on.
		*doc = yaml.Node{
			Kind: yaml.DocumentNode, HeadComment: strings.TrimRight(text, "\n"),
			Content: []*yaml.Node{{Kind: yaml.MappingNode, Tag: "!!map"}},
		}
	}
	compact = compactLists(doc.Content[0])
	for _, e := range edits {
		e.apply(doc.Content[0])
	}
	return doc, compact, nil
}

// apply changes the tree. That the entry to remove is there was checked.
func (e Edit) apply(root *yaml.Node) {
	list := value(root, e.list)
	if list == nil {
		list = &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq"}
		root.Content = append(root.Content, scalarNode(e.list, 0), list)
	}
	if isNull(list) {
		*list = yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq", HeadComment: list.HeadComment, FootComment: list.FootComment}
	}
	i := slices.IndexFunc(list.Content, func(n *yaml.Node) bool { v := value(n, "id"); return v != nil && v.Value == e.id })
	switch {
	case e.fields == nil && i >= 0:
		list.Content = slices.Delete(list.Content, i, i+1)
		if len(list.Content) == 0 {
			list.Style = yaml.FlowStyle
		}
	case i >= 0:
		for _, f := range e.fields[1:] {
			set(list.Content[i], f[0], f[1])
		}
	case e.fields != nil:
		if len(list.Content) == 0 {
			list.Style = 0
		}
		entry := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map", Style: yaml.FlowStyle}
		for _, f := range e.fields {
			set(entry, f[0], f[1])
		}
		list.Content = append(list.Content, entry)
	}
}

// set gives a key of an entry a value; names and ids are always quoted.
func set(entry *yaml.Node, key, val string) {
	style := yaml.Style(0)
	if key == "id" || key == "name" {
		style = yaml.DoubleQuotedStyle
	}
	v := scalarNode(val, style)
	if key == "mention" {
		v.Tag = "!!bool"
	}
	if old := value(entry, key); old != nil {
		v.LineComment, v.HeadComment, v.FootComment = old.LineComment, old.HeadComment, old.FootComment
		*old = *v
		return
	}
	entry.Content = append(entry.Content, scalarNode(key, 0), v)
}

func scalarNode(s string, style yaml.Style) *yaml.Node {
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: s, Style: style}
}

func value(m *yaml.Node, key string) *yaml.Node {
	if m.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i+1 < len(m.Content); i += 2 {
		if m.Content[i].Value == key {
			return m.Content[i+1]
		}
	}
	return nil
}

// compactLists reports whether the file's first list in lines stands no
// further to the right than its key.
func compactLists(root *yaml.Node) bool {
	for _, n := range root.Content {
		if n.Kind == yaml.SequenceNode && n.Style&yaml.FlowStyle == 0 && len(n.Content) > 0 {
			return n.Column <= 1
		}
	}
	return false
}

// show is an id for a message: it came from outside.
func show(id string) string {
	if idFault(id) != "" || len(id) > 64 {
		return fmt.Sprintf("%.64q", id)
	}
	return id
}
