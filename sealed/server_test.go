package sealed

import (
	"errors"
	"net/netip"
	"net/url"
	"strings"
	"testing"
	"unicode"

	"pgregory.net/rapid"
)

func TestServerCanonicalForm(t *testing.T) {
	for in, want := range map[string]string{
		"https://chat.example.org":                  "https://chat.example.org",
		"https://chat.example.org/":                 "https://chat.example.org",
		"HTTPS://Chat.EXAMPLE.org":                  "https://chat.example.org",
		"https://chat.example.org:443":              "https://chat.example.org",
		"https://chat.example.org:443/":             "https://chat.example.org",
		"https://chat.example.org:80":               "https://chat.example.org:80",
		"https://chat.example.org:8443/":            "https://chat.example.org:8443",
		"https://example.org/chat/":                 "https://example.org/chat",
		"https://example.org/Chat/Team":             "https://example.org/Chat/Team",
		"https://example.org/%63hat%2d1":            "https://example.org/chat-1",
		"https://example.org/a%20b%c3%a9":           "https://example.org/a%20b%C3%A9",
		"https://example.org/a:b@c;d=e,f":           "https://example.org/a:b@c;d=e,f",
		"https://xn--bcher-kva.example":             "https://xn--bcher-kva.example",
		"https://rocket_chat:3000":                  "https://rocket_chat:3000",
		"https://203.0.113.7":                       "https://203.0.113.7",
		"https://[2001:DB8:0:0::1]:443":             "https://[2001:db8::1]",
		"https://[2001:db8::1]:3000/x":              "https://[2001:db8::1]:3000/x",
		"http://localhost":                          "http://localhost",
		"http://LocalHost:80":                       "http://localhost",
		"http://localhost:443":                      "http://localhost:443",
		"http://localhost:3000/":                    "http://localhost:3000",
		"http://127.0.0.1:3000":                     "http://127.0.0.1:3000",
		"http://127.9.9.9":                          "http://127.9.9.9",
		"http://10.0.0.1":                           "http://10.0.0.1",
		"http://172.16.0.1":                         "http://172.16.0.1",
		"http://172.31.255.255":                     "http://172.31.255.255",
		"http://192.168.1.1":                        "http://192.168.1.1",
		"http://[::1]:3000":                         "http://[::1]:3000",
		"http://[fd12:3456::1]":                     "http://[fd12:3456::1]",
		"http://[::ffff:10.1.2.3]":                  "http://10.1.2.3",
		"https://" + strings.Repeat("a", 63) + ".x": "https://" + strings.Repeat("a", 63) + ".x",
	} {
		got, err := Server(in)
		if err != nil || got != want {
			t.Errorf("Server(%q) = %q, %v; want %q", in, got, err, want)
		}
	}
}

// refusedServers are addresses, and a word of why each is none.
var refusedServers = map[string]string{
	"":                                     "empty",
	"chat.example.org":                     "no scheme",
	"chat.example.org:3000":                "no scheme",
	"//chat.example.org":                   "no scheme",
	"https:/chat.example.org":              "no scheme",
	"ftp://chat.example.org":               "another scheme",
	"javascript://chat.example.org":        "another scheme",
	" https://chat.example.org":            "white space",
	"https://chat.example.org\n":           "white space",
	"https://chat.exa\u00admple.org":       "control character", // soft hyphen
	"https://chat.example.org/\u202egro":   "control character", // right-to-left override
	"https://chat.example.org\x00":         "control character",
	"https://chat\u2028.example.org":       "control character",
	"https://\xff.example.org":             "UTF-8",
	"wss://chat.example.org/websocket":     "socket",
	"https://":                             "no host",
	"https:///chat":                        "no host",
	"https://:3000":                        "no host",
	"https://user@chat.example.org":        "user name",
	"https://user:pw@chat.example.org":     "user name",
	"https://chat.example.org@evil.test":   "user name",
	"https://chat.example.org?x=1":         "query",
	"https://chat.example.org/?":           "query",
	"https://chat.example.org#":            "fragment",
	"https://chat.example.org/#/home":      "fragment",
	`https://chat.example.org\evil.test`:   "backslash",
	`https:\\chat.example.org`:             "backslash",
	"https://chat.example.org.":            "dot",
	"https://chat..example.org":            "no name",
	"https://-chat.example.org":            "no name",
	"https://chat-.example.org":            "no name",
	"https://chat%2eexample.org":           "no name",
	"https://ch*t.example.org":             "no name",
	"https://" + strings.Repeat("a", 64):   "no name",
	"https://bücher.example":               "punycode",
	"https://раураӏ.example":               "punycode", // Cyrillic that looks like paypal
	"https://chat.example\uff0eorg":        "punycode", // a full-width dot
	"https://\u212aelvin.example":          "punycode", // the Kelvin sign, k in lower case
	"https://chat.example.org:":            "port",
	"https://chat.example.org:0":           "port",
	"https://chat.example.org:65536":       "port",
	"https://chat.example.org:0443":        "port",
	"https://chat.example.org:+443":        "port",
	"https://chat.example.org:443:443":     "port",
	"https://2001:db8::1":                  "port",
	"https://[2001:db8::1]3000":            "port",
	"https://[fe80::1%25eth0]":             "brackets",
	"https://[fe80::1%eth0]":               "brackets",
	"https://[127.0.0.1]":                  "brackets",
	"https://[::1":                         "brackets",
	"https://[evil.test]":                  "brackets",
	"https://127.1":                        "no IPv4",
	"https://2130706433":                   "no IPv4",
	"https://0x7f000001":                   "no IPv4",
	"https://0x7f.0.0.0x1":                 "no IPv4",
	"https://010.0.0.1":                    "no IPv4",
	"https://1.2.3.4.5":                    "no IPv4",
	"https://256.0.0.1":                    "no IPv4",
	"https://0.0.0.0":                      "no server can have",
	"https://[::]":                         "no server can have",
	"https://224.0.0.1":                    "no server can have",
	"https://255.255.255.255":              "no server can have",
	"http://chat.example.org":              "http is only",
	"http://10.evil.example":               "http is only",
	"http://127.0.0.1.evil.example":        "http is only",
	"http://localhost.evil.example":        "http is only",
	"http://evil-localhost":                "http is only",
	"http://sub.localhost":                 "http is only",
	"http://172.32.0.1":                    "http is only",
	"http://172.15.255.255":                "http is only",
	"http://192.169.0.1":                   "http is only",
	"http://11.0.0.1":                      "http is only",
	"http://169.254.169.254":               "http is only",
	"http://[fe80::1]":                     "http is only",
	"http://[2001:db8::1]":                 "http is only",
	"http://[::ffff:8.8.8.8]":              "http is only",
	"https://chat.example.org//":           "two slashes",
	"https://chat.example.org/a//b":        "two slashes",
	"https://chat.example.org/a/../b":      ". or ..",
	"https://chat.example.org/%2e%2E/b":    ". or ..",
	"https://chat.example.org/.":           ". or ..",
	"https://chat.example.org/a%2fb":       "escaped slash",
	"https://chat.example.org/a%5Cb":       "escaped slash",
	"https://chat.example.org/a%00b":       "control character",
	"https://chat.example.org/a%0d%0ab":    "control character",
	"https://chat.example.org/%E2%80%AE":   "control character",
	"https://chat.example.org/%ff":         "control character",
	"https://chat.example.org/%zz":         "percent escape",
	"https://chat.example.org/%4":          "percent escape",
	"https://chat.example.org/%":           "percent escape",
	"https://chat.example.org/é":           "needs a percent escape",
	"https://chat.example.org/a\"b":        "needs a percent escape",
	"https://a.example/" + pathOfSize(600): "512",
}

func TestServerRefuses(t *testing.T) {
	for in, word := range refusedServers {
		got, err := Server(in)
		if err == nil {
			t.Errorf("Server(%q) = %q, want an error about %q", in, got, word)
			continue
		}
		if _, ok := errors.AsType[*ServerError](err); !ok {
			t.Errorf("Server(%q): %T, want a *ServerError", in, err)
		}
		if !strings.Contains(err.Error(), word) {
			t.Errorf("Server(%q): %v; want it to say %q", in, err, word)
		}
	}
}

func pathOfSize(n int) string { return strings.Repeat("p", n) }

// People paste the token where the address belongs.
func TestServerErrorsNeverQuoteTheAddress(t *testing.T) {
	const token = "fYq3kW0bE1x-pasted-token"
	for _, in := range []string{token, "https://bot:" + token + "@chat.example.org", "https://chat.example.org/?token=" + token, "http://" + token, token + "://x", "https://x:" + token} {
		_, err := Server(in)
		if err == nil {
			t.Errorf("Server(%q) was accepted", in)
		} else if strings.Contains(strings.ToLower(err.Error()), strings.ToLower(token)) {
			t.Errorf("the error quotes the address: %v", err)
		}
	}
}

// checkServer holds what must be true of every answer.
func checkServer(t interface{ Fatalf(string, ...any) }, in string) {
	got, err := Server(in)
	if err != nil {
		if got != "" {
			t.Fatalf("Server(%q) gave %q beside an error", in, got)
		}
		return
	}
	if again, err := Server(got); err != nil || again != got {
		t.Fatalf("Server(%q) = %q, but of that it is %q, %v", in, got, again, err)
	}
	u, err := url.Parse(got)
	if err != nil {
		t.Fatalf("Server(%q) = %q: %v", in, got, err)
	}
	if u.User != nil || u.RawQuery != "" || u.ForceQuery || u.Fragment != "" || u.Opaque != "" || strings.HasSuffix(got, "/") {
		t.Fatalf("Server(%q) = %q: more than scheme, host and path", in, got)
	}
	if strings.ContainsFunc(got, func(r rune) bool { return r > unicode.MaxASCII || r <= ' ' }) {
		t.Fatalf("Server(%q) = %q: not plain ASCII", in, got)
	}
	// What net/http would dial is what was judged here.
	host := u.Hostname()
	addr, err := netip.ParseAddr(host)
	isAddr := err == nil
	private := host == "localhost" || isAddr && (addr.IsLoopback() || addr.IsPrivate())
	if u.Scheme != "https" && !(u.Scheme == "http" && private) {
		t.Fatalf("Server(%q) = %q: a token would cross the network in plain text", in, got)
	}
	if u.Scheme+"://"+u.Host+u.EscapedPath() != got {
		t.Fatalf("Server(%q) = %q, which net/url reads as %q", in, got, u.String())
	}
}

func FuzzServer(f *testing.F) {
	for _, s := range []string{
		"https://chat.example.org", "HTTP://LOCALHOST:80/%63", "http://[::ffff:10.1.2.3]:3000/a%2520b",
		"https://user:pw@h", `https://a\b`, "https://xn--/", "http://10.evil.example", "https://h/%2e%2e",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) { checkServer(t, s) })
}

func TestServerProperties(t *testing.T) {
	piece := rapid.SampledFrom([]string{
		"https://", "http://", "HTTPS://", "localhost", "10.0.0.1", "[::1]", "[fd00::1]", "chat", ".", "example.org", ":", "443", "80", "3000",
		"/", "//", "%41", "%2F", "%c3%A9", "..", "@", "?", "#", `\`, "é", "0x7f", "xn--a", "-", "_", "A", "%", "\u200d",
	})
	rapid.Check(t, func(t *rapid.T) {
		checkServer(t, strings.Join(rapid.SliceOfN(piece, 1, 9).Draw(t, "pieces"), ""))
	})
}

func BenchmarkServer(b *testing.B) {
	b.Run("canonical form", func(b *testing.B) {
		for b.Loop() {
			if _, err := Server("https://Chat.Example.org:443/team/"); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("baseline net/url", func(b *testing.B) {
		for b.Loop() {
			if _, err := url.Parse("https://Chat.Example.org:443/team/"); err != nil {
				b.Fatal(err)
			}
		}
	})
}
