package dotenv

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

type goldenCase struct {
	Name   string
	In     string
	Hermes map[string]string // where Hermes differs from python-dotenv
	Why    string
}

func readJSON(t testing.TB, file string, v any) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, v); err != nil {
		t.Fatal(err)
	}
}

func values(f *File) map[string]string {
	m := map[string]string{}
	for _, k := range f.Keys() {
		m[k], _ = f.Get(k)
	}
	return m
}

// What python-dotenv says holds, but for the cases in which Hermes' own reader
// is known to differ; those are written by hand and have their reason.
func TestGolden(t *testing.T) {
	var cases []goldenCase
	var python map[string]map[string]*string
	readJSON(t, "testdata/cases.json", &cases)
	readJSON(t, "testdata/golden.json", &python)
	if len(cases) != len(python) {
		t.Fatalf("%d cases and %d golden answers: run testdata/make_golden.py", len(cases), len(python))
	}
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) {
			want := c.Hermes
			theirs := map[string]string{}
			for k, v := range python[c.Name] {
				if v != nil {
					theirs[k] = *v
				}
			}
			switch {
			case want == nil:
				want = theirs
			case c.Why == "":
				t.Error("a difference without a reason")
			case cmp.Equal(want, theirs) && len(theirs) == len(python[c.Name]):
				t.Error("it doesn't differ")
			}
			f, err := Parse([]byte(c.In))
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(want, values(f)); d != "" {
				t.Error(d)
			}
		})
	}
}

// quote is Hermes' writer; what it writes must be read back.
func quote(v string) string {
	if v == "" || !strings.ContainsAny(v, `#"'`) && !strings.ContainsFunc(v, isSpace) {
		return v
	}
	return `"` + strings.ReplaceAll(strings.ReplaceAll(v, `\`, `\\`), `"`, `\"`) + `"`
}

func TestWhatHermesWritesIsReadBack(t *testing.T) {
	for _, v := range []string{
		"", "a", `a\b`, `a"b`, `a'b`, "a#b", "a b", " a ", `"`, `\`, `"\`, `\"`, "#", "a # b", "$x", "=", "ü",
		`C:\dir name\`, `'a'`, `"a"`, `a \\ b`, "  ", `\n`, `" # "`,
	} {
		f, err := Parse([]byte("OTHER=1\nA=" + quote(v) + "\n"))
		if err != nil {
			t.Fatal(err)
		}
		if got, ok := f.Get("A"); !ok || got != v {
			t.Errorf("%q is written %q and read %q", v, quote(v), got)
		}
	}
}

func TestEncodings(t *testing.T) {
	const text = "# ü\nA=1\r\nB=\"ü\"\n"
	for name, e := range map[string]encoding{"utf-8": plainUTF8, "bom": bomUTF8, "utf-16 le": utf16LE, "utf-16 be": utf16BE} {
		data := e.encode(text)
		f, err := Parse(data)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if d := cmp.Diff(map[string]string{"A": "1", "B": "ü"}, values(f)); d != "" {
			t.Errorf("%s: %s", name, d)
		}
		if got, _ := f.Without("C"); !bytes.Equal(got, data) {
			t.Errorf("%s: not written as it was", name)
		}
		if got, found := f.Without("A"); !bytes.Equal(got, e.encode("# ü\nB=\"ü\"\n")) || !slices.Equal(found, []string{"A"}) {
			t.Errorf("%s: %q", name, got)
		}
	}
	for name, data := range map[string]string{
		"utf-32 le": "\xff\xfe\x00\x00A\x00\x00\x00", "utf-32 be": "\x00\x00\xfe\xff\x00\x00\x00A",
		"odd utf-16": "\xff\xfeA", "half a pair": "\xff\xfe\x00\xd8", "wrong pair": "\xff\xfe\x00\xd8A\x00",
		"latin-1": "A=\xfc\n",
	} {
		f, err := Parse([]byte(data))
		if !errors.Is(err, ErrEncoding) || len(f.Keys()) != 0 {
			t.Errorf("%s: %v, %v", name, err, f.Keys())
		}
	}
	// UTF-16 without a mark is ASCII with zero bytes, which the loader drops.
	f, err := Parse([]byte("A\x00=\x001\x00\n\x00"))
	if v, _ := f.Get("A"); err != nil || v != "1" {
		t.Error(v, err)
	}
}

func TestCredential(t *testing.T) {
	f, _ := Parse([]byte("X_TOKEN=a\u200bb\nX_NAME=ü\nX_KEY=ok\n"))
	for _, c := range []struct {
		key, value string
		altered    bool
		ok         bool
	}{{"X_TOKEN", "ab", true, true}, {"X_NAME", "ü", false, true}, {"X_KEY", "ok", false, true}, {"Y_KEY", "", false, false}} {
		if v, altered, ok := f.Credential(c.key); v != c.value || altered != c.altered || ok != c.ok {
			t.Errorf("%s: %q, %v, %v", c.key, v, altered, ok)
		}
	}
}

func TestWithout(t *testing.T) {
	const file = "# Rocket.Chat\nROCKETCHAT_URL=https://x\nexport ROCKETCHAT_TOKEN = \"a b\" # mine\r\n\n  OTHER=1\nROCKETCHAT_TOKEN=old\n#ROCKETCHAT_TOKEN=no\nLAST=2"
	f, _ := Parse([]byte(file))
	got, found := f.Without("ROCKETCHAT_TOKEN", "ROCKETCHAT_URL", "ABSENT", "")
	want := "# Rocket.Chat\n\n  OTHER=1\n#ROCKETCHAT_TOKEN=no\nLAST=2"
	if d := cmp.Diff(want, string(got)); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]string{"ROCKETCHAT_URL", "ROCKETCHAT_TOKEN"}, found); d != "" {
		t.Error(d)
	}
	if got, found := f.Without(); string(got) != file || found != nil {
		t.Error("something was removed")
	}
}

// The rest of a value that goes on must not stay; what is another's must.
func TestWithoutTakesTheRestOfAValue(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"A=\"x\nsecret\"\nB=1\n", "B=1\n"},
		{"A='x\n\nsecret'\nB=1\n", "B=1\n"},
		{"A=\"x\nB=1\n\"\n", "B=1\n\"\n"},                // B is an assignment for Hermes
		{"A=\"x\n# c\n\"\n", "# c\n\"\n"},                // a comment is one
		{"A=\"x\nsecret\n", "secret\n"},                  // it never closes: nothing says that it goes on
		{"A=\"x\" y\nz\"\n", "z\""},                      // closed on its own line
		{"A='\"x'\ny\"\nB=1\n", "y\"\nB=1\n"},            // a quote in quotes opens nothing
		{"A=\"x\\\"\nsecret\\\" more\"\nB=1\n", "B=1\n"}, // escapes are minded
		{"A=x\nB=\"\nC=\"\n", "B=\"\nC=\"\n"},            //
		{"A=\"\nA=\"\n", ""},                             // both go
	} {
		f, _ := Parse([]byte(c.in))
		got, _ := f.Without("A")
		if strings.TrimRight(string(got), "\n") != strings.TrimRight(c.want, "\n") {
			t.Errorf("%q: %q, want %q", c.in, got, c.want)
		}
	}
}

func TestNames(t *testing.T) {
	got := Names([]byte("export\tA=1\n'B'=2\nexport C=3\n# D=4\nE\nF=\xfc\nA=2\n"))
	if d := cmp.Diff([]string{"A", "B", "C", "F"}, got); d != "" {
		t.Error(d)
	}
	if got := Names(utf16LE.encode("A=1\n")); !slices.Equal(got, []string{"A"}) {
		t.Error(got)
	}
}

func TestTheZeroFile(t *testing.T) {
	var f File
	if _, ok := f.Get(""); ok || len(f.Keys()) != 0 {
		t.Error("not empty")
	}
	if data, found := f.Without("A"); len(data) != 0 || found != nil {
		t.Error(data, found)
	}
}

func FuzzParse(f *testing.F) {
	var cases []goldenCase
	readJSON(f, "testdata/cases.json", &cases)
	for _, c := range cases {
		f.Add([]byte(c.In))
	}
	f.Add([]byte("\xff\xfeA\x00=\x001\x00"))
	f.Fuzz(func(t *testing.T, data []byte) {
		Names(data)
		file, err := Parse(data)
		if err != nil {
			return
		}
		if got, found := file.Without(); !bytes.Equal(got, data) || found != nil {
			t.Fatalf("%q is written back as %q", data, got)
		}
		keys := file.Keys()
		for _, key := range keys[:min(len(keys), 10)] {
			if name := strings.Trim(key, "'"); name != "" && !strings.HasPrefix(name, "export") && !slices.Contains(Names(data), name) {
				t.Fatalf("%q is no name of %q", key, data)
			}
			rest, found := file.Without(key)
			again, err := Parse(rest)
			if err != nil || !slices.Equal(found, []string{key}) {
				t.Fatal(err, found)
			}
			if _, ok := again.Get(key); ok {
				t.Fatalf("%q is still in %q", key, rest)
			}
			for _, other := range keys {
				was, _ := file.Get(other)
				if is, ok := again.Get(other); other != key && (!ok || is != was) {
					t.Fatalf("removing %q from %q changed %q", key, data, other)
				}
			}
		}
	})
}

// A file of a million bytes takes a moment, not minutes.
func TestManyKeys(t *testing.T) {
	var b strings.Builder
	for i := range 100_000 {
		fmt.Fprintf(&b, "A%d=1\n", i)
	}
	f, err := Parse([]byte(b.String()))
	if err != nil || len(f.Keys()) != 100_000 || len(Names([]byte(b.String()))) != 100_000 {
		t.Fatal(err, len(f.Keys()))
	}
}

func BenchmarkParse(b *testing.B) {
	data := []byte(strings.Repeat("# comment\nSOME_API_KEY=\"sk-0123456789 abc\" # x\n", 50))
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		if _, err := Parse(data); err != nil {
			b.Fatal(err)
		}
	}
}

func TestCommented(t *testing.T) {
	const text = "A=1\n#B=2\n  ## export C = x\n# D=\n# just words\nE=1 # F=2\n#B=3\n#"
	if got := Commented([]byte(text)); !slices.Equal(got, []string{"B", "C"}) {
		t.Errorf("%q", got)
	}
	if got := Commented([]byte("#X=\xff\n")); !slices.Equal(got, []string{"X"}) {
		t.Errorf("of what is no UTF-8: %q", got)
	}
}
