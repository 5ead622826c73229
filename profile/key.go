package profile

import (
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"

	"rcsupervisor/internal/slips"
)

// A key is one row of a file's table. Validation, defaults, what a change of
// it means and the reference for people are all made from it.
type key[T any] struct {
	path   string // dotted: agent.kind
	kind   string // of value, for the reference
	bounds string
	def    string // as shown; "" for none
	class  Class
	widens bool // a change may give more, and is then a person's to accept
	secret bool // the value is never shown
	doc    string

	reset func(*T)
	read  func(r *report, n *yaml.Node, t *T)
	same  func(a, b *T) bool
	copy  func(dst, src *T)
	more  func(a, b *T) bool // whether a has more than b; nil for what has no order
	show  func(*T) string
}

// row makes a key of a value type and the place in T where its value lives.
func row[T, V any](path string, typ valueType[V], def V, class Class, at func(*T) *V, doc string) key[T] {
	clone := typ.clone
	if clone == nil {
		clone = func(v V) V { return v }
	}
	k := key[T]{
		path: path, kind: typ.name, bounds: typ.bounds, def: typ.format(def), class: class, doc: doc,
		reset: func(t *T) { *at(t) = clone(def) },
		read: func(r *report, n *yaml.Node, t *T) {
			if v, ok := typ.parse(r, path, n); ok {
				*at(t) = v
			}
		},
		copy: func(dst, src *T) { *at(dst) = clone(*at(src)) },
		same: func(a, b *T) bool { return typ.equal(*at(a), *at(b)) },
		show: func(t *T) string { return typ.format(*at(t)) },
	}
	if typ.more != nil {
		k.more = func(a, b *T) bool { return typ.more(*at(a), *at(b)) }
	}
	return k
}

// shown replaces what the reference says of a default.
func (k key[T]) shown(def string) key[T] { k.def = def; return k }

// widening marks a key under which more may be given.
func (k key[T]) widening() key[T] { k.widens = true; return k }

// hidden marks a key whose value may hold what nobody else should read.
func (k key[T]) hidden() key[T] { k.secret = true; return k }

// A table is all keys of one file, in the order of the reference.
type table[T any] []key[T]

func (t table[T]) defaults() T {
	var v T
	for _, k := range t {
		k.reset(&v)
	}
	return v
}

// decode reads root on top of v. set holds the line of each key that was
// there.
func (t table[T]) decode(r *report, root *yaml.Node, v T) (_ T, set map[string]int) {
	set = map[string]int{}
	if root == nil {
		return v, set
	}
	if root.Kind != yaml.MappingNode {
		r.add(root.Line, "", "must be a map of keys and values")
		return v, set
	}
	t.section(r, root, "", &v, set)
	return v, set
}

func (t table[T]) section(r *report, n *yaml.Node, prefix string, v *T, set map[string]int) {
	for i := 0; i+1 < len(n.Content); i += 2 {
		name, value := n.Content[i], n.Content[i+1]
		path := join(prefix, name.Value)
		if k := slices.IndexFunc(t, func(k key[T]) bool { return k.path == path }); k >= 0 && !strings.Contains(name.Value, ".") {
			set[path] = name.Line
			t[k].read(r, value, v)
			continue
		}
		if !t.isSection(path) || strings.Contains(name.Value, ".") {
			r.add(name.Line, join(prefix, printable(name.Value)), "%s", t.unknown(prefix, name.Value))
			continue
		}
		switch {
		case isNull(value): // a heading whose keys are all commented out
		case value.Kind != yaml.MappingNode:
			r.add(value.Line, path, "must be a map with %s", orList(t.below(path)))
		default:
			t.section(r, value, path, v, set)
		}
	}
}

func (t table[T]) isSection(path string) bool {
	return slices.ContainsFunc(t, func(k key[T]) bool { return strings.HasPrefix(k.path, path+".") })
}

// below names what may stand in a section.
func (t table[T]) below(prefix string) []string {
	var names []string
	for _, k := range t {
		rest := k.path
		if prefix != "" {
			var ok bool
			if rest, ok = strings.CutPrefix(k.path, prefix+"."); !ok {
				continue
			}
		}
		name, _, _ := strings.Cut(rest, ".")
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// unknown says what was probably meant by a key that there is none of.
func (t table[T]) unknown(prefix, name string) string {
	if near := slips.Nearest(name, t.below(prefix)); near != "" {
		return "unknown key; did you mean " + join(prefix, near) + "?"
	}
	full, best := join(prefix, name), ""
	for _, k := range t {
		leaf := k.path[strings.LastIndexByte(k.path, '.')+1:]
		switch {
		case k.path == full: // written with its dots
			section, leaf, _ := strings.Cut(k.path, ".")
			return "unknown key; write " + leaf + ": below " + section + ":"
		case leaf == name || best == "" && slips.Nearest(name, []string{leaf}) != "" && len(name) > 3:
			best = k.path
		}
	}
	if best != "" {
		return "unknown key; did you mean " + best + "?"
	}
	return "unknown key; here may stand " + orList(t.below(prefix))
}
