package profile

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"go.yaml.in/yaml/v4"
)

// A valueType is one way a key's value is written: how it is read from a node,
// shown to people, and compared.
type valueType[V any] struct {
	name   string // as in the reference: "duration"
	bounds string // as in the reference: "1m–24h"; "" for none
	// parse reports what is wrong with n and then returns false.
	parse  func(r *report, path string, n *yaml.Node) (V, bool)
	format func(V) string
	equal  func(a, b V) bool
	clone  func(V) V         // nil when a plain copy will do
	more   func(a, b V) bool // whether a is more than b; nil without an order
}

func scalar(r *report, path string, n *yaml.Node, want string) bool {
	switch {
	case isNull(n):
		r.add(n.Line, path, "has no value; it takes %s", want)
	case n.Kind != yaml.ScalarNode:
		r.add(n.Line, path, "must be %s", want)
	default:
		return true
	}
	return false
}

// text reads a string. A number, a date or true must be quoted to be one.
func text(r *report, path string, n *yaml.Node, want string) (string, bool) {
	if !scalar(r, path, n, want) {
		return "", false
	}
	if n.Tag != "!!str" {
		r.add(n.Line, path, "must be %s: put quotes around it", want)
		return "", false
	}
	return n.Value, true
}

func same[V comparable](a, b V) bool { return a == b }

// boolean takes true and false alone. YAML 1.1 also read yes, no, on and off
// as such; in the YAML of today they are text, and saying so is kinder than a
// profile that runs because it was set to off.
var boolean = valueType[bool]{
	name: "true or false",
	parse: func(r *report, path string, n *yaml.Node) (bool, bool) {
		if !scalar(r, path, n, "true or false") {
			return false, false
		}
		switch strings.ToLower(n.Value) {
		case "true", "false":
			if n.Tag == "!!bool" {
				return strings.EqualFold(n.Value, "true"), true
			}
			r.add(n.Line, path, "must be true or false, without quotes")
		case "yes", "no", "on", "off", "y", "n":
			r.add(n.Line, path, "must be true or false: yes, no, on and off are only text in YAML")
		default:
			r.add(n.Line, path, "must be true or false")
		}
		return false, false
	},
	format: strconv.FormatBool,
	equal:  same[bool],
}

// word takes one of a few.
func word(allowed ...string) valueType[string] {
	return valueType[string]{
		name:   "word",
		bounds: strings.Join(allowed, ", "),
		parse: func(r *report, path string, n *yaml.Node) (string, bool) {
			want := orList(allowed)
			if !scalar(r, path, n, want) {
				return "", false
			}
			if !slices.Contains(allowed, n.Value) {
				r.add(n.Line, path, "must be %s", want)
				return "", false
			}
			return n.Value, true
		},
		format: func(s string) string { return s },
		equal:  same[string],
	}
}

func orList(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:len(words)-1], ", ") + " or " + words[len(words)-1]
}

// count takes a whole number.
func count(lo, hi int) valueType[int] {
	want := fmt.Sprintf("a whole number from %d to %d", lo, hi)
	return valueType[int]{
		name:   "number",
		bounds: fmt.Sprintf("%d–%d", lo, hi),
		parse: func(r *report, path string, n *yaml.Node) (int, bool) {
			if !scalar(r, path, n, want) {
				return 0, false
			}
			v, err := strconv.Atoi(n.Value)
			if err != nil || n.Tag != "!!int" || strconv.Itoa(v) != n.Value || v < lo || v > hi { // 010 is 8 to some
				r.add(n.Line, path, "must be %s", want)
				return 0, false
			}
			return v, true
		},
		format: strconv.Itoa,
		equal:  same[int],
		more:   func(a, b int) bool { return a > b },
	}
}

// duration takes Go's durations, and whole days before them: 90s, 1h30m, 1d.
// zero is what 0 means; "" where 0 is just the least.
func duration(lo, hi time.Duration, zero string) valueType[time.Duration] {
	bounds := showDuration(lo) + "–" + showDuration(hi)
	if zero != "" {
		bounds = "0 (" + zero + ")–" + showDuration(hi)
	}
	return valueType[time.Duration]{
		name:   "duration",
		bounds: bounds,
		parse: func(r *report, path string, n *yaml.Node) (time.Duration, bool) {
			if !scalar(r, path, n, "a duration such as 90s, 15m or 1h30m") {
				return 0, false
			}
			v, err := ParseDuration(n.Value)
			switch {
			case err != nil:
				r.add(n.Line, path, "must be a duration with its unit, such as 90s, 15m or 1h30m")
			case v < lo || v > hi:
				r.add(n.Line, path, "must be within %s", bounds)
			default:
				return v, true
			}
			return 0, false
		},
		format: showDuration,
		equal:  same[time.Duration],
		more:   func(a, b time.Duration) bool { return a > b },
	}
}

// ParseDuration reads a Go duration with whole days allowed before it: 1d,
// 1d12h, 90s. Only 0 may stand without a unit. It is never negative.
func ParseDuration(s string) (time.Duration, error) {
	bad := fmt.Errorf("not a duration: want for example 90s, 15m or 1h30m")
	var days time.Duration
	if head, rest, ok := strings.Cut(s, "d"); ok {
		n, err := strconv.ParseUint(head, 10, 16)
		if err != nil || strings.HasPrefix(head, "+") {
			return 0, bad
		}
		days, s = time.Duration(n)*24*time.Hour, rest
		if s == "" {
			return days, nil
		}
	}
	d, err := time.ParseDuration(s)
	if err != nil || d < 0 || d > 1<<62 || strings.HasPrefix(s, "-") || strings.HasPrefix(s, "+") {
		return 0, bad
	}
	return days + d, nil
}

// showDuration is time.Duration's own form without the zero units, and
// seconds as people say them: 70s, 15m, 1h.
func showDuration(d time.Duration) string {
	switch {
	case d == 0:
		return "0"
	case d < 2*time.Minute && d%time.Minute != 0 && d%time.Second == 0:
		return strconv.Itoa(int(d/time.Second)) + "s"
	}
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// units of sizes; the first that divides a size shows it.
var units = []struct {
	name  string
	bytes int64
}{{"TiB", 1 << 40}, {"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}, {"B", 1}}

// size takes bytes: 25 MiB, 25MiB, 26214400.
func size(lo, hi int64, zero string) valueType[int64] {
	bounds := showSize(lo) + "–" + showSize(hi)
	if zero != "" {
		bounds = "0 (" + zero + "), " + bounds
	}
	return valueType[int64]{
		name:   "size",
		bounds: bounds,
		parse: func(r *report, path string, n *yaml.Node) (int64, bool) {
			if !scalar(r, path, n, "a size such as 25 MiB") {
				return 0, false
			}
			v, err := ParseSize(n.Value)
			switch {
			case err != nil:
				r.add(n.Line, path, "must be a size such as 25 MiB (KiB, MiB, GiB, TiB, or bytes without a unit)")
			case (v < lo || v > hi) && (v != 0 || zero == ""):
				r.add(n.Line, path, "must be within %s", bounds)
			default:
				return v, true
			}
			return 0, false
		},
		format: showSize,
		equal:  same[int64],
		// Where 0 stands for no bound at all it is the most.
		more: func(a, b int64) bool { return b != 0 && (a > b || a == 0 && zero != "") },
	}
}

// ParseSize reads bytes with a binary unit, one space before it allowed, or
// bytes alone. Decimal units are refused: MB means one thing to one reader and
// another to the next.
func ParseSize(s string) (int64, error) {
	bad := fmt.Errorf("not a size: want for example 25 MiB")
	digits := strings.TrimRightFunc(s, func(c rune) bool { return !unicode.IsDigit(c) })
	unit := int64(1)
	if name := strings.TrimPrefix(s[len(digits):], " "); name != "" {
		i := slices.IndexFunc(units, func(u struct {
			name  string
			bytes int64
		},
		) bool {
			return u.name == name
		})
		if i < 0 {
			return 0, bad
		}
		unit = units[i].bytes
	} else if len(digits) != len(s) {
		return 0, bad
	}
	n, err := strconv.ParseUint(digits, 10, 63)
	if err != nil || int64(n) > (1<<63-1)/unit {
		return 0, bad
	}
	return int64(n) * unit, nil
}

func showSize(n int64) string {
	for _, u := range units {
		if n != 0 && n%u.bytes == 0 {
			return fmt.Sprintf("%d %s", n/u.bytes, u.name)
		}
	}
	return "0"
}

// checkedText takes a string for which check finds no fault; check returns
// what is wrong, without quoting it.
func checkedText(name, bounds string, check func(string) string) valueType[string] {
	return valueType[string]{
		name:   name,
		bounds: bounds,
		parse: func(r *report, path string, n *yaml.Node) (string, bool) {
			s, ok := text(r, path, n, "text")
			if !ok {
				return "", false
			}
			if fault := check(s); fault != "" {
				r.add(n.Line, path, "%s", fault)
				return "", false
			}
			return s, true
		},
		format: func(s string) string { return s },
		equal:  same[string],
	}
}
