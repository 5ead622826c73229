package enroll

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"rcsupervisor/channel/pretend"
	"rcsupervisor/internal/hostfile"
	"rcsupervisor/profile"
	"rcsupervisor/sealed"
)

func TestAdd(t *testing.T) {
	h := newHouse(t)
	a := h.add("alice", h.ada)
	if a.Home != h.home("alice") || a.Server != h.url || a.Username != "ada" || a.Generation != 1 || !a.MadeFile || len(a.Code) != 8 || a.Admin {
		t.Errorf("%+v", a)
	}
	r, err := h.Profile(t.Context(), Operator, "alice")
	must(t, err)
	if r.Err != nil || r.Settings.Agent.Kind != "echo" {
		t.Errorf("%+v", r.Err)
	}
	for path, mode := range map[string]os.FileMode{"": 0o700, "state": 0o700, "secrets.age": 0o600, "channel.yaml": 0o644} {
		info, err := os.Stat(h.file("alice", path))
		must(t, err)
		if info.Mode().Perm() != mode {
			t.Errorf("%q has mode %v", path, info.Mode())
		}
	}
	// The same bot again: its values stay, and nobody needs a code who has an owner.
	_, err = h.Secret(t.Context(), Operator, "alice", SecretWish{Do: "set", Key: "KEY", Value: plain("value")})
	must(t, err)
	again := h.addition(h.ada)
	again.OwnerID = h.owner.ID
	a, err = h.Add(t.Context(), Operator, "alice", again)
	must(t, err)
	if a.Generation != 3 || a.MadeFile || a.Code != "" {
		t.Errorf("%+v", a)
	}
	list, err := h.Secret(t.Context(), Operator, "alice", SecretWish{Do: "list"})
	must(t, err)
	if len(list.Secrets) != 3 || list.Secrets[2].Name != "KEY" {
		t.Errorf("%+v", list)
	}
	if a = h.add("alice", h.ada); a.Code != "" {
		t.Error("a code was given out though there is an owner")
	}
}

// What can't succeed is refused before anybody is asked for a token.
func TestForesee(t *testing.T) {
	h := newHouse(t)
	closed, err := hostfile.Parse("f", []byte("servers: [https://chat.example.org]\nagents: {kinds: [acp]}\n"))
	must(t, err)
	h.add("taken", h.ada)
	h.write(h.file("broken", "channel.yaml"), "agent: {kind: ech}\n")
	h.write(h.home("link")+"/x", "")
	must(t, os.Symlink("/etc", h.file("link", "")))
	for _, c := range []struct {
		what, name string
		a          Addition
		host       *hostfile.File
		want       string // "" for nothing
	}{
		{"all is well", "alice", Addition{Server: h.url}, nil, ""},
		{"again", "taken", Addition{Server: h.url}, nil, ""},
		{"again, the same agent", "taken", Addition{Server: h.url, Agent: "echo"}, nil, ""},
		{"no address", "alice", Addition{}, nil, "server: "},
		{"plain http", "alice", Addition{Server: "http://chat.example.org"}, nil, "server: http is only for"},
		{"a name that looks private", "alice", Addition{Server: "http://10.evil.example"}, nil, "server: http is only for"},
		{"a password in it", "alice", Addition{Server: "https://u:p@chat.example.org"}, nil, "server: "},
		{"a backslash", "alice", Addition{Server: `https://chat.example.org\@evil.example`}, nil, "server: "},
		{"a query", "alice", Addition{Server: "https://chat.example.org?x"}, nil, "server: "},
		{"a look-alike", "alice", Addition{Server: "https://ch\u0430t.example.org"}, nil, "server: "},
		{"no name", "", Addition{Server: h.url}, nil, "beginning with a letter"},
		{"a name that is none", "Al/ice", Addition{Server: h.url}, nil, "beginning with a letter"},
		{"reserved", "gateway", Addition{Server: h.url}, nil, "Hermes keeps it"},
		{"another agent than there is", "taken", Addition{Server: h.url, Agent: "acp"}, nil, "says something else of the agent"},
		{"another command", "taken", Addition{Server: h.url, Command: []string{"x"}}, nil, "says something else of the agent"},
		{"exec without a command", "alice", Addition{Server: h.url, Agent: "exec"}, nil, "an exec agent needs the program"},
		{"a command for nobody", "alice", Addition{Server: h.url, Command: []string{"x"}}, nil, "a command needs an agent"},
		{"no such agent", "alice", Addition{Server: h.url, Agent: "runs"}, nil, "must be acp, exec or echo"},
		{"a broken channel.yaml", "broken", Addition{Server: h.url}, nil, "channel.yaml:1: agent.kind: "},
		{"ours is a link", "link", Addition{Server: h.url}, nil, "symbolic link"},
		{"another server than the host allows", "alice", Addition{Server: h.url}, &closed, "the host file does not allow the server"},
		{"another agent than the host allows", "alice", Addition{Server: "https://chat.example.org"}, &closed, "does not allow agents of the kind echo"},
	} {
		t.Run(c.what, func(t *testing.T) {
			d := *h.Desk
			if c.host != nil {
				d.Host = *c.host
			}
			d.Keys = func() (*sealed.Keyring, error) { panic("the identity is not needed yet") }
			err := d.Foresee(t.Context(), Operator, c.name, c.a)
			if c.want == "" {
				must(t, err)
				return
			}
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Fatal(err)
			}
			h.hintOf(err)
		})
	}
	if _, err := os.Stat(h.home("alice")); err == nil {
		t.Error("looking ahead made a home")
	}
}

// Which field is wrong, and how a right one is made.
func TestProving(t *testing.T) {
	h := newHouse(t)
	html := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = w.Write([]byte("<html>hello"))
	}))
	defer html.Close()
	other := pretend.New(pretend.Options{})
	url, err := other.Listen("127.0.0.1:0")
	must(t, err)
	defer other.Close()
	secure := pretend.New(pretend.Options{})
	tls, _, err := secure.ListenTLS("127.0.0.1:0")
	must(t, err)
	defer secure.Close()
	moved := httptest.NewServer(http.RedirectHandler(h.url, http.StatusMovedPermanently))
	defer moved.Close()
	for _, c := range []struct {
		what  string
		a     Addition
		fault pretend.Kind
		field string
		text  string
		try   string
	}{
		{"no token", Addition{Server: h.url, UserID: h.ada.ID}, "", "token", "none was given", makeToken},
		{"no user id", Addition{Server: h.url, Token: plain(h.ada.Token)}, "", "user id", "none was given", "--user-id"},
		{"the token as user id", Addition{Server: h.url, UserID: h.ada.Token, Token: plain("x")}, "", "user id", "that is a token", "--user-id ID"},
		{"the user id as token", Addition{Server: h.url, UserID: "x", Token: plain(h.ada.ID)}, "", "token", "that is a user id", makeToken},
		{"another's id", Addition{Server: h.url, UserID: h.bob.ID, Token: plain(h.ada.Token)}, "", "user id or token", "does not take the two together", makeToken},
		{"an old token", Addition{Server: h.url, UserID: h.ada.ID, Token: plain(strings.Repeat("x", 43))}, "", "user id or token", "does not take", makeToken},
		{"another server", Addition{Server: url, UserID: h.ada.ID, Token: plain(h.ada.Token)}, "", "user id or token", "does not take", makeToken},
		{"a username", Addition{Server: h.url, UserID: "ada", Token: plain(h.ada.Token)}, "", "user id or token", "this one has 3: is it a username?", "--user-id ID"},
		{"prose", Addition{Server: h.url, UserID: h.ada.ID, Token: plain("here it is")}, "", "token", "there is none in what was given", makeToken},
		{"prose as user id", Addition{Server: h.url, UserID: "the bot", Token: plain(h.ada.Token)}, "", "user id", "that is none", "--user-id ID"},
		{"a page's address", Addition{Server: h.url + "/sub/channel/general", UserID: h.ada.ID, Token: plain(h.ada.Token)}, "", "server", "is no Rocket.Chat", "--server " + h.url + "/sub"},
		{"https without TLS", Addition{Server: "https" + strings.TrimPrefix(h.url, "http"), UserID: h.ada.ID, Token: plain(h.ada.Token)}, "", "server", "TLS handshake", "--server " + h.url},
		{"a certificate nobody knows", Addition{Server: tls, UserID: h.ada.ID, Token: plain(h.ada.Token)}, "", "server", "certificate of 127.0.0.1: x509", "--unchecked, then tls.ca_file"},
		{"the bot as its owner", Addition{Server: h.url, UserID: h.ada.ID, Token: plain(h.ada.Token), OwnerID: h.ada.ID}, "", "owner id", "the bot itself", "--owner-id ID"},
		{"a username as owner", Addition{Server: h.url, UserID: h.ada.ID, Token: plain(h.ada.Token), OwnerID: "olivia"}, "", "owner id", "a username begins with @", "--owner-id @olivia"},
		{"nobody as owner", Addition{Server: h.url, UserID: h.ada.ID, Token: plain(h.ada.Token), OwnerID: "@nobody"}, "", "owner id", "nobody called @nobody", "--owner-id ID"},
		{"a token as owner", Addition{Server: h.url, UserID: h.ada.ID, Token: plain(h.ada.Token), OwnerID: h.bob.Token}, "", "owner id", "looks like a token", "--owner-id ID"},
		{"a username that can't be asked", Addition{Server: h.url, UserID: h.ada.ID, Token: plain(h.ada.Token), OwnerID: "@olivia", Unchecked: true}, "", "owner id", "takes the server", "--owner-id ID"},
		{"no Rocket.Chat", Addition{Server: html.URL, UserID: h.ada.ID, Token: plain(h.ada.Token)}, "", "server", "is no Rocket.Chat", "--server"},
		{"it points elsewhere", Addition{Server: moved.URL, UserID: h.ada.ID, Token: plain(h.ada.Token)}, "", "server", "is no Rocket.Chat", "--server"},
		{"nobody there", Addition{Server: "http://127.0.0.1:1", UserID: h.ada.ID, Token: plain(h.ada.Token)}, "", "server", "not available", "curl http://127.0.0.1:1/api/info"},
		{"the proxy's page", h.addition(h.ada), pretend.HTML, "server", "is no Rocket.Chat", "--server"},
		{"it is in trouble", h.addition(h.ada), pretend.ServerError, "server", "not available", "curl"},
		{"it has had enough", h.addition(h.ada), pretend.RateLimit, "server", "asks to wait", "wait a minute"},
	} {
		t.Run(c.what, func(t *testing.T) {
			if c.fault != "" {
				defer h.server.Break(pretend.Fault{Kind: c.fault})()
			}
			_, err := h.Add(t.Context(), Operator, "alice", c.a)
			f, ok := asField(err)
			if !ok || f.Field != c.field || !strings.Contains(f.Text, c.text) || !strings.Contains(h.hintOf(err), c.try) {
				t.Errorf("%v, try: %s", err, Hint(err))
			}
			if _, err := os.Stat(h.home("alice")); err == nil {
				t.Error("something was written before it was proved")
			}
		})
	}
	// Unchecked, nobody is asked.
	a := Addition{Server: "http://127.0.0.1:1", UserID: h.ada.ID, Token: plain(h.ada.Token), Unchecked: true}
	if got, err := h.Add(t.Context(), Operator, "alice", a); err != nil || got.Username != "" {
		t.Error(got, err)
	}
}

// The first owner may be named as people name him.
func TestTheFirstOwnerByName(t *testing.T) {
	h := newHouse(t)
	a := h.addition(h.ada)
	a.OwnerID = "@olivia"
	got, err := h.Add(t.Context(), Operator, "alice", a)
	must(t, err)
	c, err := h.People(t.Context(), Operator, "alice", PersonWish{})
	must(t, err)
	if d := cmp.Diff([]PersonRow{{h.owner.ID, "olivia", profile.Owner}}, c.People); d != "" || got.Code != "" {
		t.Error(d, got)
	}
}

func TestMeantServer(t *testing.T) {
	for typed, want := range map[string]string{
		"chat.example.org":                         "https://chat.example.org",
		"chat.example.org:3000/sub/":               "https://chat.example.org:3000/sub",
		"//chat.example.org":                       "https://chat.example.org",
		"http://chat.example.org":                  "https://chat.example.org",
		"HTTPS://chat.example.org/?x=1":            "https://chat.example.org",
		" https://chat.example.org/#/x ":           "https://chat.example.org",
		"wss://chat.example.org/websocket":         "https://chat.example.org",
		"http://127.0.0.1:3000?x":                  "http://127.0.0.1:3000",
		"https://bot:secret@chat.example.org":      exampleServer,
		"fYq3kW0bE1xfYq3kW0bE1xfYq3kW0bE1xfYq3kW0": exampleServer,
		"":    exampleServer,
		"x y": exampleServer,
	} {
		if got := meantServer(typed); got != want {
			t.Errorf("meantServer(%q) = %q, want %q", typed, got, want)
		}
	}
	for server, want := range map[string]string{
		"https://x.org":                     exampleServer,
		"https://x.org/home":                "https://x.org",
		"https://x.org/a/b/channel/general": "https://x.org/a/b",
		"https://x.org/wiki":                "https://x.org",
	} {
		if got := aboveServer(server); got != want {
			t.Errorf("aboveServer(%q) = %q, want %q", server, got, want)
		}
	}
}

// Another bot takes a home over only when that is meant, and then it is not
// held for it.
func TestAnotherBot(t *testing.T) {
	h := newHouse(t)
	h.add("alice", h.ada)
	h.prove("alice", h.ada, 7)
	_, err := h.Add(t.Context(), Operator, "alice", h.addition(h.bob))
	if !errors.Is(err, sealed.ErrOtherBot) || !strings.Contains(h.hintOf(err), "--force") {
		t.Fatal(err)
	}
	a := h.addition(h.bob)
	a.Force = true
	got, err := h.Add(t.Context(), Operator, "alice", a)
	must(t, err)
	if got.Generation != 8 {
		t.Errorf("generation %d: the ledger has seen 7", got.Generation)
	}
	e := h.entry("alice")
	claim := profile.Claim{Path: h.home("alice"), Owner: os.Geteuid(), Server: h.url, Bot: h.bob.ID, Generation: 8}
	if v, why := e.Judge(claim); v != profile.Known {
		t.Errorf("%s: %s", v, why)
	}
	if e.Bot != "" {
		t.Error("what no login has proven holds somebody")
	}
	// A bot that another profile is proven to have is a warning.
	h.prove("alice", h.bob, 8)
	if twin := h.add("twin", h.bob); len(twin.Holders) != 1 || twin.Holders[0] != "alice" {
		t.Errorf("%+v", twin)
	}
}

func TestAnAdministratorIsToldOf(t *testing.T) {
	h := newHouse(t)
	h.server.SetRoles(h.ada, "bot", "admin")
	if a := h.add("alice", h.ada); !a.Admin {
		t.Errorf("%+v", a)
	}
}

// Without a ledger that can be read, nobody knows which generation was the
// highest.
func TestALostLedgerStopsAdding(t *testing.T) {
	h := newHouse(t)
	for _, name := range []string{profile.LedgerFile, profile.LedgerPrevious} {
		h.write(filepath.Join(h.dir, "state", name), "garbage")
	}
	_, err := h.Add(t.Context(), Operator, "alice", h.addition(h.ada))
	if !errors.Is(err, profile.ErrLedgerLost) || h.hintOf(err) != "rcsupervisor doctor" {
		t.Error(err)
	}
}

// The server is asked on the way that the home's settings say.
func TestTheHomesOwnWayToTheServer(t *testing.T) {
	h := newHouse(t)
	tls := pretend.New(pretend.Options{NoLimits: true})
	url, certificate, err := tls.ListenTLS("127.0.0.1:0")
	must(t, err)
	defer tls.Close()
	bot := tls.AddUser("ada", pretend.UserOptions{Bot: true})
	a := Addition{Server: url, UserID: bot.ID, Token: plain(bot.Token)}
	if _, err := h.Add(t.Context(), Operator, "alice", a); err == nil {
		t.Fatal("a certificate nobody knows was trusted")
	}
	h.write(h.file("alice", "channel.yaml"), "agent: {kind: echo}\ntls: {ca_file: ca.pem}\n")
	if _, err := h.Add(t.Context(), Operator, "alice", a); err == nil || !strings.Contains(err.Error(), "tls.ca_file") {
		t.Fatal(err)
	}
	h.write(filepath.Join(h.home("alice"), "ca.pem"), string(certificate))
	if _, err := h.Add(t.Context(), Operator, "alice", a); err != nil {
		t.Fatal(err)
	}
	good, err := h.Check(t.Context(), Operator, "alice", func(Finding) {})
	if !good || err != nil {
		t.Error("check goes another way", err)
	}
}
