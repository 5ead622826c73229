package redact

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"io"
	"io/fs"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"
	"pgregory.net/rapid"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	token = "fYq3kW0bE1xT"
	odd   = `p"w<d>&\/+ %é` + "\n" + `=end`
)

func known(values ...string) *Redactor {
	r := New()
	r.Add(values...)
	return r
}

func TestWhatIsKnownIsTakenOut(t *testing.T) {
	r := known(token, odd, "short", "", "1234567")
	for in, want := range map[string]string{
		"":                                 "",
		"nothing in it":                    "nothing in it",
		"short and 1234567 stay":           "short and 1234567 stay",
		token:                              "[sealed]",
		token[:len(token)-1]:               token[:len(token)-1],
		token[1:]:                          token[1:],
		"a " + token + " b " + token + "!": "a [sealed] b [sealed]!",
		token + token:                      "[sealed][sealed]",
		"x" + token + "y":                  "x[sealed]y",
		"wrapped: " + odd + ".":            "wrapped: [sealed].",
		strings.ToLower(token):             strings.ToLower(token),
	} {
		if got := r.String(in); got != want {
			t.Errorf("String(%q) = %q, want %q", in, got, want)
		}
		if got := string(r.Bytes([]byte(in))); got != want {
			t.Errorf("Bytes(%q) = %q, want %q", in, got, want)
		}
	}
	plain := []byte("nothing in it")
	if got := r.Bytes(plain); &got[0] != &plain[0] {
		t.Error("bytes without a secret were copied")
	}
	secret := []byte("has " + token)
	if r.Bytes(secret); string(secret) != "has "+token {
		t.Error("the caller's bytes were changed")
	}
	if got := (&Redactor{}).String(token); got != token {
		t.Errorf("the zero value made %q of it", got)
	}
	if got := r.Sprint(errors.New(token)); got != "[sealed]" {
		t.Errorf("Sprint gave %q", got)
	}
}

func TestFormsAreTakenOut(t *testing.T) {
	for _, secret := range []string{token, odd, "ünï¢ødé-secret", "a/b+c=d&e?f#g h", "12345678"} {
		r := known(secret)
		jsonOf := func(v any) string { b, _ := json.Marshal(v); return string(b) }
		noHTML := func() string {
			var b strings.Builder
			e := json.NewEncoder(&b)
			e.SetEscapeHTML(false)
			e.Encode(secret)
			return b.String()
		}
		for name, form := range map[string]string{
			"JSON": jsonOf(map[string]string{"k": secret}), "JSON plain": noHTML(), "%q": strconv.Quote(secret), "%+q": strconv.QuoteToASCII(secret),
			"query": "?token=" + url.QueryEscape(secret) + "&x=1", "path": "/a/" + url.PathEscape(secret) + "/b", "lower escapes": strings.ToLower(url.QueryEscape(strings.ToLower(secret))),
			"HTML": html.EscapeString(secret), "hex": hex.EncodeToString([]byte(secret)), "HEX": strings.ToUpper(hex.EncodeToString([]byte(secret))), "%x": fmt.Sprintf("%x", secret),
		} {
			if name == "lower escapes" && strings.ToLower(secret) != secret {
				continue
			}
			got := r.String(form)
			if !strings.Contains(got, Mark) {
				t.Errorf("%s of %q was left: %s", name, secret, got)
			}
		}
		for _, enc := range []*base64.Encoding{base64.StdEncoding, base64.URLEncoding, base64.RawStdEncoding, base64.RawURLEncoding} {
			for _, around := range []string{"", "u", "ub", "user", "user:", "user:x"} {
				whole := around + secret + around
				got := r.String(enc.EncodeToString([]byte(whole)))
				rest := strings.ReplaceAll(got, Mark, "")
				if !strings.Contains(got, Mark) || len(rest) > 4*len(around)+8 {
					t.Errorf("base64 of %q left %q", whole, got)
				}
			}
		}
	}
}

func TestALineOfManyIsTakenOut(t *testing.T) {
	pem := "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEF\nAASCBKcwggSjAgEAAoIBAQDxyz01\nshort=\n-----END PRIVATE KEY-----\n"
	r := known(pem)
	if got, want := r.String("line 2 was MIIEvQIBADANBgkqhkiG9w0BAQEF."), "line 2 was [sealed]."; got != want {
		t.Errorf("got %q", got)
	}
	if got := r.String(pem + "x"); got != "[sealed]x" {
		t.Errorf("the whole is %q", got)
	}
	for _, harmless := range []string{"-----BEGIN PRIVATE KEY-----", "-----END PRIVATE KEY-----", "short="} {
		if got := r.String(harmless); got != harmless {
			t.Errorf("%q became %q", harmless, got)
		}
	}
}

func TestOverlappingSecretsLeaveNoRest(t *testing.T) {
	r := known("abcdefgh1234", "1234wxyz5678", "abcdefgh1234-and-more")
	for in, want := range map[string]string{
		"<abcdefgh1234wxyz5678>":          "<[sealed]>",
		"<abcdefgh1234-and-more>":         "<[sealed]>",
		"<abcdefgh1234-and-mor>":          "<[sealed]-and-mor>",
		"<abcdefgh1234 1234wxyz5678>":     "<[sealed] [sealed]>",
		"<abcdefgabcdefgh1234wxyz567890>": "<abcdefg[sealed]90>",
	} {
		if got := r.String(in); got != want {
			t.Errorf("String(%q) = %q, want %q", in, got, want)
		}
	}
	if got := known("aaaaaaaa").String(strings.Repeat("a", 100)); got != Mark {
		t.Errorf("a hundred a's are %q", got)
	}
}

func TestForget(t *testing.T) {
	r := known(token, token, odd)
	r.Forget(token, "never known", "x")
	if got := r.String(token); got != Mark {
		t.Errorf("known by one more it is shown as %q", got)
	}
	r.Forget(token)
	if got := r.String(token + odd); got != token+Mark {
		t.Errorf("got %q", got)
	}
	r.Forget(token, odd, odd)
	r.Add(token)
	if got := r.String(token + odd); got != Mark+odd {
		t.Errorf("got %q", got)
	}
}

func TestARedactorDoesNotPrintWhatItKnows(t *testing.T) {
	r := known(token, "abcdefgh")
	type holds struct{ R *Redactor }
	for _, v := range []any{r, &holds{r}, holds{r}, []*Redactor{r}, r.Writer(io.Discard), r.Handler(nil), r.p.Load()} {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%x", "%q"} {
			got := fmt.Sprintf(verb, v)
			if strings.Contains(got, token) || strings.Contains(got, token[:9]) || strings.Contains(got, hex.EncodeToString([]byte(token[:9]))) {
				t.Errorf("%T by %s: %s", v, verb, got)
			}
		}
	}
}

func TestError(t *testing.T) {
	r := known(token)
	if r.Error(nil) != nil {
		t.Error("nil became an error")
	}
	plain := errors.New("plain")
	if r.Error(plain) != plain {
		t.Error("an error without a secret was wrapped")
	}
	path := &fs.PathError{Op: "open", Path: "/home/" + token, Err: fs.ErrNotExist}
	err := fmt.Errorf("read: %w", r.Error(fmt.Errorf("secret: %w", path)))
	if got := err.Error(); got != "read: secret: open /home/[sealed]: file does not exist" {
		t.Errorf("got %q", got)
	}
	if !errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrExist) {
		t.Error("errors.Is")
	}
	if got, ok := errors.AsType[*fs.PathError](err); !ok || got != path {
		t.Error("errors.As")
	}
	for _, verb := range []string{"%v", "%+v", "%#v", "%q", "%x"} {
		if got := fmt.Sprintf(verb, r.Error(path)); strings.Contains(got, token) || strings.Contains(got, hex.EncodeToString([]byte(token))) {
			t.Errorf("%s: %s", verb, got)
		}
	}
	joined := r.Error(errors.Join(plain, path))
	if !errors.Is(joined, plain) || strings.Contains(joined.Error(), token) {
		t.Errorf("joined: %v", joined)
	}
}

func TestAPanicAndItsStack(t *testing.T) {
	r := known(token)
	defer func() {
		if got := r.Sprint(recover()); got != "lost [sealed]" {
			t.Errorf("got %q", got)
		}
	}()
	panic(fmt.Errorf("lost %s", token))
}

func TestManySecretsAtOnce(t *testing.T) {
	r := New()
	secret := func(i int) string { return fmt.Sprintf("secret-number-%06d", i) } // eight bytes in common
	for i := range 3000 {
		r.Add(secret(i))
	}
	for i := 0; i < 3000; i += 97 {
		if got := r.String("<" + secret(i) + ">"); got != "<[sealed]>" {
			t.Fatalf("%d: %q", i, got)
		}
	}
	if in := "secret-number-003000 is none"; r.String(in) != in {
		t.Error("what begins like a secret was taken out")
	}
}

func TestAddWhileOthersLook(t *testing.T) {
	r := New()
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Go(func() {
			for i := range 200 {
				s := fmt.Sprintf("%d-secret-%d-%d", g, i, i*i)
				r.Add(s)
				if got := r.String("a " + s); got != "a [sealed]" {
					t.Errorf("added and not found: %q", got)
				}
				if i%3 == 0 {
					r.Forget(s)
				}
			}
		})
		wg.Go(func() {
			w := r.Writer(io.Discard)
			for range 200 {
				io.WriteString(w, "a line of a log with 1-secret-7-49 in it\n")
			}
		})
	}
	wg.Wait()
}

// oracle finds what a Redactor of plain values should, the slow way.
func oracle(text string, secrets []string) string {
	hide := make([]bool, len(text))
	starts := make([]bool, len(text)+1)
	end := 0
	for i := range text {
		longest := 0
		for _, s := range secrets {
			if strings.HasPrefix(text[i:], s) {
				longest = max(longest, len(s))
			}
		}
		if longest == 0 {
			continue
		}
		starts[i] = i >= end
		end = max(end, i+longest)
		for j := i; j < i+longest; j++ {
			hide[j] = true
		}
	}
	var out strings.Builder
	for i := range len(text) {
		if starts[i] {
			out.WriteString(Mark)
		}
		if !hide[i] {
			out.WriteByte(text[i])
		}
	}
	return out.String()
}

func TestItFindsWhatTheSlowWayFinds(t *testing.T) {
	letters := rapid.StringMatching(`[ab]{8,12}`) // few letters: overlaps galore
	rapid.Check(t, func(t *rapid.T) {
		secrets := rapid.SliceOfN(letters, 1, 4).Draw(t, "secrets")
		text := rapid.StringMatching(`[abc]{0,80}`).Draw(t, "text")
		r := known(secrets...)
		want := oracle(text, secrets)
		if got := r.String(text); got != want {
			t.Fatalf("String(%q) = %q, want %q", text, got, want)
		}
		// In pieces it comes out the same.
		var out bytes.Buffer
		w := r.Writer(&out)
		for rest := text; rest != ""; {
			n := rapid.IntRange(1, len(rest)).Draw(t, "piece")
			if _, err := io.WriteString(w, rest[:n]); err != nil {
				t.Fatal(err)
			}
			rest = rest[n:]
			if strings.ContainsAny(strings.ReplaceAll(out.String(), Mark, ""), "ab") && !strings.HasPrefix(want, out.String()) {
				t.Fatalf("after a piece it shows %q of %q", out.String(), want)
			}
		}
		if err := w.Flush(); err != nil || out.String() != want {
			t.Fatalf("written in pieces: %q, want %q (%v)", out.String(), want, err)
		}
	})
}

func TestFormsAreDistinctAndLongEnough(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := rapid.String().Draw(t, "value")
		fs := forms(v)
		if len(v) >= MinLen && fs[0] != v {
			t.Fatal("the value itself is missing")
		}
		for _, f := range fs {
			if len(f) < MinLen {
				t.Fatalf("%q is too short", f)
			}
		}
		if sorted := slices.Compact(slices.Sorted(slices.Values(fs))); len(sorted) != len(fs) {
			t.Fatalf("one twice: %q", fs)
		}
	})
}

func FuzzWriter(f *testing.F) {
	f.Add("secret-1", "a secret-1 b", uint8(4))
	f.Add("abababab", "ababababababab", uint8(3))
	f.Add("line one\nline two is longer than that", "line one\nline two is longer than that", uint8(9))
	f.Fuzz(func(t *testing.T, secret, text string, size uint8) {
		r := known(secret)
		want := r.String(text)
		if len(secret) >= MinLen && !strings.Contains(secret, Mark) && !strings.Contains(Mark, secret) && strings.Contains(strings.ReplaceAll(want, Mark, "\x00\x01\x00"), secret) {
			t.Fatalf("%q shows in %q", secret, want)
		}
		var out bytes.Buffer
		w := r.Writer(&out)
		for rest := text; rest != ""; {
			n := min(len(rest), int(size)+1)
			io.WriteString(w, rest[:n])
			rest = rest[n:]
		}
		w.Flush()
		if out.String() != want {
			t.Fatalf("in pieces of %d: %q, whole: %q", int(size)+1, out.String(), want)
		}
	})
}
