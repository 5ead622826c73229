package sealed

import (
	"bytes"
	"encoding"
	"encoding/gob"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"html/template"
	"log/slog"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	text "text/template"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v4"
)

// shapes are the ways a secret may sit in what somebody prints.
func shapes(s Secret) map[string]any {
	type inner struct {
		Exported   Secret
		unexported Secret
		pointer    *Secret
		list       []Secret
	}
	type outer struct {
		Inner inner
		Ptr   *inner
		Map   map[string]Secret
		Any   any
	}
	in := inner{Exported: s, unexported: s, pointer: &s, list: []Secret{s}}
	return map[string]any{
		"value": s, "pointer": &s, "slice": []Secret{s}, "slice of pointers": []*Secret{&s}, "array": [1]Secret{s},
		"map": map[string]Secret{"k": s}, "struct": in, "pointer to struct": &in, "map of any": map[string]any{"k": s, "p": &s},
		"nested": outer{Inner: in, Ptr: &in, Map: map[string]Secret{"k": s}, Any: s}, "pointer to nested": &outer{Ptr: &in, Any: &s},
		"interface": []any{s, &s}, "error": fmt.Errorf("a: %w", &holder{s}), "stringer": fmt.Stringer(s),
		"credentials": Credentials{Token: s, PostKey: s, Values: map[string]Secret{"k": s}},
		"envelope":    &Envelope{Token: s, Keys: map[string]Secret{"k": s}, Values: map[string]Secret{"k": s}},
		"init":        InitOptions{Passphrase: s}, "key file": keyFile{plain: s, passphrase: s},
	}
}

// holder is an error that carries a secret, as one shouldn't.
type holder struct{ Secret Secret }

func (h *holder) Error() string { return fmt.Sprintf("holds %v", h.Secret) }

var verbs = []string{"%v", "%+v", "%#v", "%s", "%q", "%#q", "%x", "%X", "% x", "%#x", "%d", "%o", "%b", "%c", "%U", "%e", "%g", "%t", "%p", "%T", "%w", "%z", "%10v", "%-10.2s", "%.3q"}

func TestNoVerbPrintsASecret(t *testing.T) {
	for name, v := range shapes(NewSecret(testToken)) {
		for _, verb := range verbs {
			checkClean(t, name+" by "+verb, fmt.Sprintf(verb, v), testToken)
		}
		checkClean(t, name, fmt.Sprint(v, v)+fmt.Sprintln(v)+fmt.Errorf("%w, %v", errors.New("x"), v).Error(), testToken)
	}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
		if got := fmt.Sprintf(verb, NewSecret(testToken)); got != "[sealed]" {
			t.Errorf("%s prints %q", verb, got)
		}
		if got := fmt.Sprintf(verb, Secret{}); got != "[sealed]" {
			t.Errorf("%s prints an empty one as %q", verb, got)
		}
	}
}

// forms are what a secret may look like after an encoding.
func forms(secret string) []string {
	quoted, _ := json.Marshal(secret)
	return []string{
		secret, string(quoted[1 : len(quoted)-1]), fmt.Sprintf("%x", secret), fmt.Sprintf("%X", secret), fmt.Sprintf("% x", secret),
		fmt.Sprint([]byte(secret)), strings.Trim(fmt.Sprintf("%q", secret), `"`), template.HTMLEscapeString(secret),
	}
}

func checkClean(t *testing.T, where, out string, secrets ...string) {
	t.Helper()
	for _, secret := range secrets {
		for _, form := range forms(secret) {
			// Half of it would be too much as well.
			if strings.Contains(out, form) || strings.Contains(out, form[:len(form)/2+1]) {
				t.Errorf("%s shows a secret: %s", where, out)
				return
			}
		}
	}
}

func TestNoEncoderWritesASecret(t *testing.T) {
	for name, v := range shapes(NewSecret(testToken)) {
		if out, err := json.Marshal(v); err == nil {
			checkClean(t, name+" as JSON", string(out), testToken)
		}
		if out, err := yaml.Marshal(v); err == nil {
			checkClean(t, name+" as YAML", string(out), testToken)
		}
		if out, err := xml.Marshal(v); err == nil {
			checkClean(t, name+" as XML", string(out), testToken)
		}
		var buf bytes.Buffer
		_ = gob.NewEncoder(&buf).Encode(v) // some shapes are not gob's
		checkClean(t, name+" as gob", buf.String(), testToken)
		for _, newHandler := range []func() slog.Handler{
			func() slog.Handler { return slog.NewTextHandler(&buf, nil) },
			func() slog.Handler { return slog.NewJSONHandler(&buf, nil) },
		} {
			buf.Reset()
			log := slog.New(newHandler())
			log.With("with", v).WithGroup("g").Info("message", "attr", v, slog.Group("deep", slog.Any("x", v)))
			checkClean(t, name+" by slog", buf.String(), testToken)
		}
		buf.Reset()
		_ = text.Must(text.New("").Parse(`{{.}} {{printf "%#v" .}} {{js (print .)}}`)).Execute(&buf, v)
		_ = template.Must(template.New("").Parse(`<a href="{{.}}">{{.}}</a><script>{{.}}</script>`)).Execute(&buf, v)
		checkClean(t, name+" by a template", buf.String(), testToken)
		checkClean(t, name+" by cmp", cmp.Diff(v, nil), testToken)
	}
	type both struct{ S Secret }
	if got, err := json.Marshal(both{NewSecret("x")}); err != nil || string(got) != `{"S":"[sealed]"}` {
		t.Errorf("JSON: %s, %v", got, err)
	}
	if got, err := yaml.Marshal(both{NewSecret("x")}); err != nil || !strings.Contains(string(got), "[sealed]") {
		t.Errorf("YAML: %s, %v", got, err)
	}
	if got, err := xml.Marshal(both{NewSecret("x")}); err != nil || !strings.Contains(string(got), "[sealed]") {
		t.Errorf("XML: %s, %v", got, err)
	}
}

func TestASecretIsNotReadFromItsPrintedForm(t *testing.T) {
	type holding struct{ S Secret }
	was := holding{NewSecret(testToken)}
	printed, err := json.Marshal(was)
	if err != nil {
		t.Fatal(err)
	}
	var back holding
	if err := json.Unmarshal(printed, &back); !errors.Is(err, ErrWriteOnly) {
		t.Errorf("JSON: %v", err)
	}
	if err := yaml.Unmarshal([]byte("s: "+testAsker), &back); err == nil {
		t.Error("YAML was read")
	} else {
		checkClean(t, "the YAML error", err.Error(), testAsker)
	}
	var buf bytes.Buffer
	if err := gob.NewEncoder(&buf).Encode(was); err != nil {
		t.Fatal(err)
	}
	if err := gob.NewDecoder(&buf).Decode(&back); !errors.Is(err, ErrWriteOnly) {
		t.Errorf("gob: %v", err)
	}
	var s Secret
	for _, u := range []error{s.UnmarshalText([]byte("x")), s.UnmarshalBinary([]byte("x"))} {
		if !errors.Is(u, ErrWriteOnly) {
			t.Error(u)
		}
	}
	if !back.S.Empty() || !s.Empty() {
		t.Error("a secret was read")
	}
}

func TestSecretBasics(t *testing.T) {
	a, b := NewSecret("abc"), NewSecret("abc")
	if !a.Equal(b) || a.Equal(NewSecret("abd")) || a.Equal(NewSecret("ab")) || a.Equal(Secret{}) || !(Secret{}).Equal(NewSecret("")) {
		t.Error("Equal")
	}
	if a.Empty() || !(Secret{}).Empty() || !NewSecret("").Empty() || (Secret{}).Reveal() != "" || a.Reveal() != "abc" {
		t.Error("Empty, Reveal")
	}
	var _ interface {
		encoding.TextMarshaler
		encoding.BinaryMarshaler
		json.Marshaler
		yaml.Marshaler
		gob.GobEncoder
		fmt.Formatter
		fmt.GoStringer
		slog.LogValuer
	} = a
}

// TestPanicsShowNoSecret crashes children with secrets in the panic's value,
// on the stack, and in what their goroutines hold.
func TestPanicsShowNoSecret(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for i := range panics {
		cmd := exec.Command(exe)
		cmd.Env = append(os.Environ(), childDir+"="+t.TempDir(), childVerb+"=panic", childArg+"="+fmt.Sprint(i), "GOTRACEBACK=all")
		out, err := cmd.CombinedOutput()
		if err == nil || !bytes.Contains(out, []byte("panic:")) && !bytes.Contains(out, []byte("fatal error:")) {
			t.Errorf("panic %d: %v: %s", i, err, out)
		}
		checkClean(t, fmt.Sprintf("panic %d", i), string(out), testToken, testAsker, testValue)
	}
}

var panics = []func(Secret, Envelope){
	func(s Secret, _ Envelope) { panic(s) },
	func(s Secret, _ Envelope) { panic(&s) },
	func(_ Secret, e Envelope) { panic(e) },
	func(_ Secret, e Envelope) { panic(fmt.Sprintf("%#v", e)) },
	func(s Secret, _ Envelope) { panic(fmt.Errorf("a: %w", &holder{s})) },
	func(_ Secret, e Envelope) { onStack(e, e.Credentials([]string{"OPENAI_API_KEY"}), 0) },
	func(s Secret, _ Envelope) { noMap()["x"] = s },
	func(s Secret, _ Envelope) { m := map[any]int{}; m[s]++ },
}

func noMap() map[string]Secret { return nil }

//go:noinline
func onStack(e Envelope, c Credentials, i int) {
	fmt.Fprintln(os.Stderr, []Secret{e.Token, c.Token}[i+2])
}

// TestAWholeRunShowsNoSecret does all the package does, prints all it gives
// back in every way, and looks for the secrets in it and on the disk.
func TestAWholeRunShowsNoSecret(t *testing.T) {
	var out strings.Builder
	show := func(vs ...any) {
		for _, v := range vs {
			for _, verb := range verbs {
				fmt.Fprintf(&out, verb+"\n", v)
			}
			if j, err := json.Marshal(v); err == nil {
				out.Write(j)
			}
			slog.New(slog.NewTextHandler(&out, nil)).Error("x", "v", v)
		}
	}
	dir := privateDir(t)
	recoveryText, recovery, err := GenerateKey()
	show(recoveryText, err)
	res, err := Init(InitOptions{Path: dir + "/identity.txt", Recovery: []string{recovery}})
	show(res, &res, err)
	identity, err := os.ReadFile(res.Path)
	if err != nil {
		t.Fatal(err)
	}
	key := string(identity[bytes.Index(identity, []byte("AGE-SECRET-KEY-PQ-1")):])
	secrets := []string{testToken, testAsker, testValue, strings.TrimSpace(key), recoveryText.Reveal()}

	store := Store{Folder: DirFolder(openDir(t, dir+"/alice")), Profile: "alice"}
	written, err := store.Write(envelope(""), res.Keyring, WriteOptions{})
	show(store, written, &written, err)
	secrets = append(secrets, written.Keys[PostKey].Reveal())
	read, err := store.Read(res.Identity)
	show(read, err, read.Secrets(), read.Credentials([]string{"OPENAI_API_KEY"}))
	handed, err := UnmarshalHandover([]byte(`{"v":1,"token":"` + testAsker + `"}`))
	show(handed, err)
	other := envelope("")
	other.UserID = "another"
	_, err = store.Write(other, res.Keyring, WriteOptions{})
	show(err)
	for _, bad := range []string{`{"v":1,"token":"` + testAsker, strings.Replace(plainEnvelope, "tok", testAsker+`\n`, 1), strings.Replace(plainEnvelope, `"v":1`, `"v":1,"`+testAsker+`":1`, 1)} {
		_, err = Unseal(sealText(t, bad, res.Keyring.Recipients()), res.Identity, "alice")
		show(err)
	}
	for _, text := range []string{key[:40], strings.ToLower(key), "x" + key, key + key} {
		_, err := ParseIdentity([]byte(text), "identity")
		show(err)
		_, err = ParseRecipients([]byte(text), "recipients")
		show(err)
	}
	_, err = FindIdentity(Options{File: strings.TrimSpace(key)})
	show(err)
	done, err := Rekey(t.Context(), openDir(t, dir), []Home{{"a", "alice", store.Folder}}, res.Identity, res.Keyring)
	show(done, err)
	k, err := StartRotation(Options{File: res.Path})
	show(k, err)
	checkClean(t, "the run", out.String(), secrets...)
	if n := strings.Count(out.String(), redacted); n < 50 {
		t.Errorf("only %d times %s in %d bytes: was anything printed?", n, redacted, out.Len())
	}

	raw, err := store.Raw()
	if err != nil {
		t.Fatal(err)
	}
	checkClean(t, "secrets.age", string(raw), secrets...)
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	names := []string{}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	if !slices.Equal(names, []string{"alice", "identity.txt", "recipients.txt"}) {
		t.Errorf("the folder holds %q", names)
	}
}

func BenchmarkSecretPrint(b *testing.B) {
	s := NewSecret(testToken)
	for b.Loop() {
		_ = fmt.Sprint(s)
	}
}
