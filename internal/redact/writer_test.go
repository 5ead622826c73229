package redact

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"testing"
)

func TestASecretInTwoWritesIsTakenOut(t *testing.T) {
	r := known(token, odd)
	for _, secret := range []string{token, odd} {
		text := "before " + secret + " after\n"
		for i := range len(text) {
			for j := i; j < len(text); j++ {
				var out bytes.Buffer
				w := r.Writer(&out)
				for _, piece := range []string{text[:i], text[i:j], text[j:]} {
					if n, err := io.WriteString(w, piece); n != len(piece) || err != nil {
						t.Fatal(n, err)
					}
				}
				if got := out.String(); got != "before [sealed] after\n" {
					t.Fatalf("split at %d and %d: %q", i, j, got)
				}
			}
		}
	}
}

func TestLinesArePassedOnAtOnce(t *testing.T) {
	r := known(token, odd)
	for i := range 200 {
		r.Add(fmt.Sprintf("another-secret-%d", i*i*7919))
	}
	var out bytes.Buffer
	w := r.Writer(&out)
	for i := range 500 {
		line := fmt.Sprintf("line %d of a log, as they all are, with no secret\n", i)
		out.Reset()
		io.WriteString(w, line)
		if out.String() != line {
			t.Fatalf("line %d: %q was passed on", i, out.String())
		}
	}
}

func TestWhatMayBeASecretIsHeldBackUntilItIsKnown(t *testing.T) {
	r := known(token)
	var out bytes.Buffer
	w := r.Writer(&out)
	io.WriteString(w, "x"+token[:5])
	if got := out.String(); got != "x" {
		t.Errorf("passed on %q", got)
	}
	io.WriteString(w, "!")
	if got := out.String(); got != "x"+token[:5]+"!" {
		t.Errorf("passed on %q", got)
	}
	io.WriteString(w, token[:5])
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	if got := out.String(); got != "x"+token[:5]+"!"+token[:5] {
		t.Errorf("after the end: %q", got)
	}
	// After a flush a new text begins.
	io.WriteString(w, token[5:])
	w.Flush()
	if got := out.String(); strings.Contains(got, Mark) {
		t.Errorf("two texts were joined: %q", got)
	}
}

func TestAnEndlessRunOfOverlapsIsBounded(t *testing.T) {
	r := known("aaaaaaaa", "aaaaaaaaaaaaaaaa")
	var out bytes.Buffer
	w := r.Writer(&out)
	for range 10_000 {
		io.WriteString(w, "aaaaa")
		if len(w.held) > 64 {
			t.Fatalf("%d bytes are held back", len(w.held))
		}
	}
	io.WriteString(w, "b")
	if got := out.String(); got != Mark+"b" {
		t.Errorf("got %d bytes", len(got))
	}
}

type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }

func TestAnErrorOfTheWriterBehindIsPassedOn(t *testing.T) {
	full := errors.New("no space left on device")
	w := known(token).Writer(failing{full})
	if n, err := io.WriteString(w, "hello\n"); n != 0 || !errors.Is(err, full) {
		t.Errorf("%d, %v", n, err)
	}
}

// names prints itself in three ways, of which each shows another secret.
type names struct{ plain, asJSON, asText string }

func (n names) String() string               { return n.plain }
func (n names) MarshalJSON() ([]byte, error) { return []byte(`"` + n.asJSON + `"`), nil }
func (n names) MarshalText() ([]byte, error) { return []byte(n.asText), nil }

type jsonError struct{ text, asJSON string }

func (e jsonError) Error() string                { return e.text }
func (e jsonError) MarshalJSON() ([]byte, error) { return []byte(`"` + e.asJSON + `"`), nil }

type late struct{ s string }

func (l late) LogValue() slog.Value { return slog.GroupValue(slog.String("inner", l.s)) }

type wild struct{}

func (wild) MarshalJSON() ([]byte, error) { panic("wild") }
func (wild) MarshalText() ([]byte, error) { panic("wild") }

func TestHandler(t *testing.T) {
	r := known(token)
	type deep struct {
		Name  string
		Inner *struct{ Token string }
	}
	d := deep{"n", &struct{ Token string }{token}}
	for name, newHandler := range map[string]func(io.Writer) slog.Handler{
		"text": func(w io.Writer) slog.Handler { return slog.NewTextHandler(w, nil) },
		"json": func(w io.Writer) slog.Handler { return slog.NewJSONHandler(w, nil) },
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			log := slog.New(r.Handler(newHandler(&out)))
			for what, act := range map[string]func(){
				"message":         func() { log.Info("a " + token) },
				"attribute":       func() { log.Info("m", "k", token) },
				"key":             func() { log.Info("m", token, 1) },
				"error":           func() { log.Info("m", "err", fmt.Errorf("a %s: %w", token, io.EOF)) },
				"error in JSON":   func() { log.Info("m", "err", jsonError{"x", token}, "k", token) },
				"group":           func() { log.Info("m", slog.Group("g", slog.Group("h", "k", token))) },
				"bytes":           func() { log.Info("m", "k", []byte(token)) },
				"list":            func() { log.Info("m", "k", []string{"a", token}) },
				"map":             func() { log.Info("m", "k", map[string]any{token: 1}) },
				"struct":          func() { log.Info("m", "k", deep{Name: token}) },
				"pointer":         func() { log.Info("m", "k", &deep{Name: token}) },
				"behind pointers": func() { log.Info("m", "k", d, "x", token) },
				"stringer":        func() { log.Info("m", "k", names{token, "a", "b"}) },
				"marshaler":       func() { log.Info("m", "k", names{"a", token, "b"}) },
				"text marshaler":  func() { log.Info("m", "k", names{"a", "b", token}) },
				"log valuer":      func() { log.Info("m", "k", late{token}) },
				"list of errors":  func() { log.Info("m", "k", []error{errors.New(token)}, "x", token) },
				"with":            func() { log.With("k", token).Info("m") },
				"with group":      func() { log.WithGroup(token).With("k", token).Info("m", "k", token) },
				"with in a group": func() { log.WithGroup("g").With(slog.Group("h", "k", late{token})).Info("m") },
			} {
				out.Reset()
				act()
				got := out.String()
				if strings.Contains(got, token) {
					t.Errorf("%s: %s", what, got)
				}
				// Two of them are written as text instead, and bytes in base64.
				if !strings.Contains(got, Mark) && !strings.Contains(what, "marshaler") && !strings.Contains(got, "W3NlYWxlZF0=") {
					t.Errorf("%s: no mark in %s", what, got)
				}
			}
			out.Reset()
			log.With("a", 1).WithGroup("g").Info("m", "s", "text", "e", io.EOF, "l", []string{"x"}, "n", nil, "w", wild{}, slog.Attr{})
			for _, want := range []string{"text", "EOF", "x", "g"} {
				if !strings.Contains(out.String(), want) {
					t.Errorf("%q is missing in %s", want, out.String())
				}
			}
			if strings.Contains(out.String(), Mark) {
				t.Errorf("a mark without a secret: %s", out.String())
			}
		})
	}
}

func TestHandlerLooksAgainAtWhatWasGivenBefore(t *testing.T) {
	r := New()
	var out bytes.Buffer
	log := slog.New(r.Handler(slog.NewTextHandler(&out, nil))).With("early", token).WithGroup("g").With("late", "x")
	log.Info("one")
	if !strings.Contains(out.String(), token) {
		t.Fatal("not yet a secret, and yet taken out")
	}
	r.Add(token)
	out.Reset()
	log.Info("two", "k", "v")
	if got := out.String(); strings.Contains(got, token) || !strings.Contains(got, "early=[sealed]") || !strings.Contains(got, "g.late=x g.k=v") {
		t.Errorf("got %s", got)
	}
}

func TestHandlerPassesRecordsOnUnchanged(t *testing.T) {
	r := known(token)
	var plain, through bytes.Buffer
	options := &slog.HandlerOptions{Level: slog.LevelWarn, AddSource: true, ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}}
	for _, log := range []*slog.Logger{slog.New(slog.NewJSONHandler(&plain, options)), slog.New(r.Handler(slog.NewJSONHandler(&through, options)))} {
		log.Info("below the level")
		log.With("a", 1, "b", []int{1}).WithGroup("g").Error("m", "f", 1.5, "s", struct{ X, Y int }{1, 2}, slog.Group("", slog.Int("inline", 1)))
	}
	if plain.String() != through.String() || plain.Len() == 0 {
		t.Errorf("plain   %s\nthrough %s", plain.String(), through.String())
	}
}

func benchmarkText() string {
	return strings.Repeat(`time=2026-01-02T03:04:05Z level=INFO msg="connection ended" profile=alice reason=silent age=70.2s run=17 `, 3)
}

func BenchmarkString(b *testing.B) {
	text := benchmarkText()
	for _, n := range []int{1, 100, 10_000} {
		r := New()
		var all []string
		for i := range n {
			s := fmt.Sprintf("tok%d-%x-secret", i*7919, i*104729)
			r.Add(s)
			all = append(all, s, Mark)
		}
		b.Run(fmt.Sprintf("%d secrets in all forms", n), func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				r.String(text)
			}
		})
		if n <= 100 {
			replacer := strings.NewReplacer(all...)
			b.Run(fmt.Sprintf("baseline strings.Replacer, %d in one form", n), func(b *testing.B) {
				b.SetBytes(int64(len(text)))
				for b.Loop() {
					replacer.Replace(text)
				}
			})
		}
	}
}

func BenchmarkHandler(b *testing.B) {
	r := known(token)
	for name, h := range map[string]slog.Handler{
		"baseline": slog.NewJSONHandler(io.Discard, nil), "redacting": r.Handler(slog.NewJSONHandler(io.Discard, nil)),
	} {
		log := slog.New(h).With("profile", "alice")
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				log.Info("connection ended", "reason", "silent", "run", 17, "err", io.EOF)
			}
		})
	}
}

func BenchmarkAdd(b *testing.B) {
	r := New()
	i := 0
	for b.Loop() {
		r.Add(fmt.Sprintf("fYq3kW0bE1xTfYq3kW0bE1xT-%d", i))
		i++
	}
}
