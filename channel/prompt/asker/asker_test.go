package asker

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
)

// Made with Python's hmac, hashlib and base64 from the format in the package's
// documentation.
var vectors = []struct {
	key        string
	user, room string
	now        int64
	token      string
}{
	{"key", "aaaaaaaaaaaaaaaaa", "GENERAL", 1796055817, "v1.aaaaaaaaaaaaaaaaa.GENERAL.1796057617.YHvto6xH1f_f0eyw5X1JGr"},
	{
		"\x00\x01\x02\x03\x04\x05\x06\x07\x08\t\n\x0b\x0c\r\x0e\x0f\x10\x11\x12\x13\x14\x15\x16\x17\x18\x19\x1a\x1b\x1c\x1d\x1e\x1f",
		"u7dE6gH9jK2mN5pQr", "aB3dE6gH9jK2mN5pQu7dE6gH9jK2mN5pQr", 0,
		"v1.u7dE6gH9jK2mN5pQr.aB3dE6gH9jK2mN5pQu7dE6gH9jK2mN5pQr.1800.v9mU6YaU_e3DbSDriMV8Ej",
	},
	{"schlüssel", "a-b_c", "x", 1700000000, "v1.a-b_c.x.1700001800.tYOFzkWXewl5rtSATyQ5cH"},
	{strings.Repeat("k", 100), "65f1c0a2b3d4e5f601234567", "r", 4102444800, "v1.65f1c0a2b3d4e5f601234567.r.4102446600.5FZJ6WuX-ND1uUCFL4OmGe"},
}

func TestKnownTokens(t *testing.T) {
	for _, v := range vectors {
		now := time.Unix(v.now, 999).UTC()
		if got := Sign([]byte(v.key), v.user, v.room, now); got != v.token {
			t.Errorf("signed %s, want %s", got, v.token)
		}
		got, err := Verify([]byte(v.key), v.token, now)
		want := Claims{User: v.user, Room: v.room, Expires: time.Unix(v.now, 0).UTC().Add(Lifetime)}
		if err != nil || got != want {
			t.Errorf("%s says %+v, %v", v.token, got, err)
		}
		if got := Remove("a " + v.token + " b"); got != "a (token removed) b" {
			t.Errorf("a genuine token is left: %s", got)
		}
	}
}

func TestATokenExpires(t *testing.T) {
	v := vectors[0]
	end := time.Unix(v.now, 0).Add(Lifetime)
	for _, c := range []struct {
		at   time.Time
		want error
	}{
		{time.Unix(0, 0), nil}, // a clock that is behind
		{end.Add(-time.Nanosecond), nil},
		{end, ErrExpired},
		{end.Add(100 * 365 * 24 * time.Hour), ErrExpired},
	} {
		if _, err := Verify([]byte(v.key), v.token, c.at); !errors.Is(err, c.want) {
			t.Errorf("at %v: %v, want %v", c.at, err, c.want)
		}
	}
}

// Whatever is changed in a token, it says nothing any more.
func TestNoOtherTokenHolds(t *testing.T) {
	v := vectors[0]
	now := time.Unix(v.now, 0)
	for i := range v.token {
		for _, c := range []byte{'.', 'A', '0', '-', ' ', 0xff, v.token[i] ^ 0x20} {
			forged := v.token[:i] + string([]byte{c}) + v.token[i+1:]
			if _, err := Verify([]byte(v.key), forged, now); err == nil && forged != v.token {
				t.Errorf("%q holds", forged)
			}
		}
		if _, err := Verify([]byte(v.key), v.token[:i], now); err == nil {
			t.Errorf("cut at %d it holds", i)
		}
	}
	for _, key := range []string{"kez", "key ", "ke"} {
		if _, err := Verify([]byte(key), v.token, now); !errors.Is(err, ErrSignature) {
			t.Errorf("another key: %v", err)
		}
	}
	if _, err := Verify(nil, v.token, now); !errors.Is(err, ErrNoKey) {
		t.Errorf("no key: %v", err)
	}
}

func TestMalformedTokens(t *testing.T) {
	key, now := []byte("key"), time.Unix(1796055817, 0)
	signed := func(body string) string { return body + "." + sign(key, body) }
	for _, token := range []string{
		"", ".", "....", "v1", signed("v1"), signed("v2.u.r.1796057617"), signed("V1.u.r.1796057617"), signed("v1..r.1796057617"), signed("v1.u..1796057617"),
		signed("v1.u.r."), signed("v1.u.r.x"), signed("v1.u.r.-1"), signed("v1.u.r.+1796057617"), signed("v1.u.r.01796057617"), signed("v1.u.r.1796057617.0"),
		signed("v1.u.r.99999999999999999999"), signed("v1.u.r.1796057617 "), signed("v1.rocket.cat.r.1796057617"), signed("v1.ü.r.1796057617"), signed("v1.u u.r.1796057617"),
		signed("v1.u.r.1796057617") + "x", signed("v1.u.r.1796057617") + "\n", " " + signed("v1.u.r.1796057617"), signed("v1." + strings.Repeat("u", 129) + ".r.1796057617"),
		strings.Repeat(".", 10000), strings.Repeat("v1.", 10000),
	} {
		if c, err := Verify(key, token, now); !errors.Is(err, ErrMalformed) {
			t.Errorf("%.60q: %+v, %v", token, c, err)
		}
	}
	// Signed with the key, they are good: it is the form alone that was wrong.
	if _, err := Verify(key, signed("v1.u.r.1796057617"), now); err != nil {
		t.Error(err)
	}
	for _, ids := range [][2]string{{"", "r"}, {"u", ""}, {"rocket.cat", "r"}, {"u", "a.b"}, {"u\n", "r"}, {"u", "ü"}, {strings.Repeat("u", 129), "r"}} {
		if got := Sign(key, ids[0], ids[1], now); got != "" {
			t.Errorf("signed for %q: %s", ids, got)
		}
	}
	if got := Sign(nil, "u", "r", now); got != "" {
		t.Errorf("signed without a key: %s", got)
	}
}

func TestRemove(t *testing.T) {
	sig := strings.Repeat("s", 22)
	for _, c := range []struct{ text, want string }{
		{"", ""},
		{"v1.2.3", "v1.2.3"},
		{"release v1.2.3.4.5 is out", "release v1.2.3.4.5 is out"},
		{"v1.u.r.1." + sig[1:], "v1.u.r.1." + sig[1:]},
		{"v1.u.r.1." + sig, removed},
		{"V12.u.r.1." + sig + "more", removed},
		{"(v1.u.r.1." + sig + ").", "(" + removed + ")."},
		{"av1.u.r.1." + sig, "a" + removed},
		{"v1.u.r.1." + sig + "v1.u.r.1." + sig, removed + ".u.r.1." + sig},
		{"v1.u.r.1." + sig + "\nv1.u.r.1." + sig, removed + "\n" + removed},
		{"v1.v1.u.r.1." + sig, "v1." + removed},
		{"v1.u.r.1.v1.u.r.1." + sig, "v1.u.r.1." + removed},
		{"v.u.r.1." + sig, "v.u.r.1." + sig},
		{"v1.u.r.x." + sig, "v1.u.r.x." + sig},
		{"v1.ü.r.1." + sig, "v1.ü.r.1." + sig},
	} {
		if got := Remove(c.text); got != c.want {
			t.Errorf("%q became %q, want %q", c.text, got, c.want)
		}
	}
}

// FuzzVerify: no bytes are a token but those that were signed, and nothing
// that verifies is left in a text.
func FuzzVerify(f *testing.F) {
	for _, v := range vectors {
		f.Add(v.token, "before ", " after")
	}
	f.Add("v1.u.r.1796057617.YHvto6xH1f_f0eyw5X1JGr", "v1.u.r.1.", ".u.r.1.ssssssssssssssssssssss")
	f.Add("....", "v1", "v1.v1.v1")
	key := []byte("key")
	f.Fuzz(func(t *testing.T, token, before, after string) {
		now := time.Unix(1796055817, 0)
		c, err := Verify(key, token, now)
		if err == nil && token != fmt.Sprintf("v1.%s.%s.%d.%s", c.User, c.Room, c.Expires.Unix(), sign(key, token[:len(token)-sigLen-1])) {
			t.Errorf("%q verifies as %+v", token, c)
		}
		genuine := Sign(key, "u7dE6gH9jK2mN5pQr", "GENERAL", now)
		for _, text := range []string{token, before + token + after, before + genuine + after} {
			left := Remove(text)
			if strings.Contains(left, genuine) {
				t.Errorf("a token is left in %q: %q", text, left)
			}
			if again := Remove(left); again != left {
				t.Errorf("taking out of %q made another: %q, then %q", text, left, again)
			}
		}
	})
}

func ExampleVerify() {
	key := []byte("the key that is sealed as keys.asker")
	now := time.Date(2026, 12, 1, 9, 0, 0, 0, time.UTC)
	token := Sign(key, "u7dE6gH9jK2mN5pQr", "GENERAL", now)

	c, err := Verify(key, token, now.Add(5*time.Minute))
	fmt.Println(c.User, c.Room, err)
	_, err = Verify(key, token, now.Add(time.Hour))
	fmt.Println(err)
	// Output:
	// u7dE6gH9jK2mN5pQr GENERAL <nil>
	// asker token has expired
}
