package enroll

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"rcsupervisor/channel"
	"rcsupervisor/channel/prompt/asker"
	"rcsupervisor/internal/atomicfile"
	"rcsupervisor/profile"
	"rcsupervisor/sealed"
)

// What a person gives by a verb is in use at once, and nothing else of the file
// with it.
func TestAPersonsWordIsInUseAtOnce(t *testing.T) {
	h := newHouse(t)
	h.write(h.file("alice", "channel.yaml"), "agent: {kind: exec, command: [./x]}\n")
	h.add("alice", h.ada)
	h.prove("alice", h.ada, 1)
	// The agent writes itself more.
	h.write(h.file("alice", "access.yaml"), "people: [{id: \"mallory\", role: owner}]\n")
	crowd, err := h.People(t.Context(), Operator, "alice", PersonWish{Do: "let-in", ID: "@olivia"})
	must(t, err)
	want := []PersonRow{{"mallory", "", profile.Owner}, {h.owner.ID, "olivia", profile.Member}}
	if d := cmp.Diff(want, crowd.People); d != "" {
		t.Error(d)
	}
	got := h.entry("alice").Accepted.Access.People
	if d := cmp.Diff([]profile.Person{{ID: h.owner.ID, Name: "olivia", Role: profile.Member}}, got); d != "" {
		t.Error("mallory was let in with her:", d)
	}
	r, err := h.Profile(t.Context(), Operator, "alice")
	must(t, err)
	waits := profile.Widens(*h.entry("alice").Accepted, profile.GrantsOf(r.Profile))
	if len(waits) != 1 || waits[0].ID != "mallory" {
		t.Errorf("%+v", waits)
	}
	// Accepted, all that the files give is in use.
	done, err := h.Accept(t.Context(), Operator, "alice")
	must(t, err)
	if d := cmp.Diff([]string{"person mallory becomes owner"}, done.Changes); d != "" {
		t.Error(d)
	}
	if done, err = h.Accept(t.Context(), Operator, "alice"); err != nil || len(done.Changes) != 0 {
		t.Error(done, err)
	}
	// What was never in use can be forgotten all the same.
	h.write(h.file("alice", "access.yaml"), "people: [{id: \"eve\", role: member}]\n")
	if _, err := h.People(t.Context(), Operator, "alice", PersonWish{Do: "forget", ID: "eve"}); err != nil {
		t.Error(err)
	}
}

// An edit that fails leaves what is in use as it was.
func TestAFailedEditGivesNothing(t *testing.T) {
	h := newHouse(t)
	h.add("alice", h.ada)
	h.prove("alice", h.ada, 1)
	full := errors.New("no space left on device")
	writes := 0
	restore := atomicfile.SetHook(func(s atomicfile.Step) error {
		if s == atomicfile.BeforeCreate {
			if writes++; writes == 3 { // the ledger, its previous copy, access.yaml
				return full
			}
		}
		return nil
	})
	_, err := h.People(t.Context(), Operator, "alice", PersonWish{Do: "owner", ID: "@olivia"})
	restore()
	if !errors.Is(err, full) {
		t.Fatal(err)
	}
	if p := h.entry("alice").Accepted.Access.People; len(p) != 0 {
		t.Errorf("in use: %+v", p)
	}
	if _, err := os.Stat(h.file("alice", "access.yaml")); err == nil {
		t.Error("there is an access.yaml")
	}
}

// A token in the place of an id is refused, and repeated nowhere.
func TestATokenIsNoID(t *testing.T) {
	h := newHouse(t)
	h.add("alice", h.ada)
	h.server.RevokeTokens(h.bob)
	for what, err := range map[string]error{
		"people": second(h.People(t.Context(), Operator, "alice", PersonWish{Do: "let-in", ID: h.ada.Token})),
		"rooms":  second(h.Rooms(t.Context(), Operator, "alice", RoomWish{Do: "on", ID: h.ada.Token})),
		"named":  second(h.People(t.Context(), Operator, "alice", PersonWish{Do: "let-in", ID: "@" + h.ada.Token})),
	} {
		if !errors.Is(err, ErrUnlikely) {
			t.Errorf("%s: %v", what, err)
		}
		h.hintOf(err)
	}
	if strings.Contains(h.tree("alice"), h.ada.Token) {
		t.Error("it was written down")
	}
}

// A stranger who asked is called what he called himself where the server can't
// be asked, and his request is settled by whatever is decided.
func TestRequestsAreSettled(t *testing.T) {
	h := newHouse(t)
	h.add("alice", h.ada)
	ask := func() {
		_, err := h.Book.Ask(t.Context(), "alice", channel.Request{Kind: "request", User: "stranger1", Name: "strange\u202er"})
		must(t, err)
	}
	h.server.RevokeTokens(h.ada)
	for _, do := range PersonActs {
		ask()
		c, err := h.People(t.Context(), Operator, "alice", PersonWish{Do: do, ID: "stranger1"})
		must(t, err)
		if len(c.Requests) != 0 || c.Changed.Name != "stranger" {
			t.Errorf("%s: %+v", do, c)
		}
		if do != "forget" && (len(c.People) != 1 || c.People[0].Name != "stranger") {
			t.Errorf("%s: %+v", do, c.People)
		}
	}
	ask()
	// One who only asked is forgotten with his request.
	if c, err := h.People(t.Context(), Operator, "alice", PersonWish{Do: "forget", ID: "stranger1"}); err != nil || len(c.Requests) != 0 {
		t.Error(c, err)
	}
	if _, err := h.People(t.Context(), Operator, "alice", PersonWish{Do: "forget", ID: "stranger1"}); !errors.Is(err, profile.ErrUnknown) {
		t.Error(err)
	}
}

func TestRoomsOfEveryKind(t *testing.T) {
	h := newHouse(t)
	h.add("alice", h.ada)
	lounge := h.server.AddChannel("lounge", h.ada, h.owner)
	h.server.AddDirect(h.ada, h.owner)
	three := h.server.AddDirect(h.ada, h.owner, h.bob)
	talk := h.server.AddDiscussion(lounge, "About cheese", h.owner, h.ada)
	hall, err := h.Rooms(t.Context(), Operator, "alice", RoomWish{})
	must(t, err)
	ids := map[string]string{}
	for _, r := range hall.Rooms {
		ids[r.ID] = r.Name
		if r.On || r.Member == nil || !*r.Member {
			t.Errorf("%+v", r)
		}
	}
	if len(ids) != 3 || ids[lounge.ID] != "lounge" || ids[talk.ID] != "About cheese" || !strings.Contains(ids[three.ID], "olivia") {
		t.Error(ids)
	}
	hall, err = h.Rooms(t.Context(), Operator, "alice", RoomWish{Do: "on", ID: "#About cheese", NoMention: true})
	must(t, err)
	if hall.Changed.ID != talk.ID || hall.Changed.Mention || !hall.Rooms[0].On {
		t.Errorf("%+v", hall)
	}
}

// The secrets of a home that Hermes used, under the names of every plugin.
func TestImportNames(t *testing.T) {
	h := newHouse(t)
	for _, c := range []struct{ what, env, token string }{
		{"HalfbitStudio's", "ROCKETCHAT_URL=URL\nROCKETCHAT_USER_ID=ID\nROCKETCHAT_TOKEN=TOKEN\n", "ROCKETCHAT_TOKEN"},
		{"laevateinzzl's", "ROCKETCHAT_SERVER_URL=URL/\nROCKETCHAT_USER_ID=ID\nROCKETCHAT_ACCESS_TOKEN=TOKEN\n", "ROCKETCHAT_ACCESS_TOKEN"},
		{"another's", "ROCKETCHAT_URL=URL\nROCKETCHAT_USER_ID=ID\nROCKETCHAT_AUTH_TOKEN=\"TOKEN\"\n", "ROCKETCHAT_AUTH_TOKEN"},
		{"the last one counts", "ROCKETCHAT_URL=URL\nROCKETCHAT_USER_ID=ID\nROCKETCHAT_TOKEN=old\nROCKETCHAT_TOKEN=TOKEN\n", "ROCKETCHAT_TOKEN"},
		{"pasted with a no-break space", "ROCKETCHAT_URL=URL\nROCKETCHAT_USER_ID=ID\nROCKETCHAT_TOKEN=TOKEN\u00a0\n", "ROCKETCHAT_TOKEN"},
	} {
		t.Run(c.what, func(t *testing.T) {
			name := "p" + strings.ToLower(c.token[len(c.token)-8:]) + "0"
			text := strings.NewReplacer("URL=URL", "URL="+h.url, "=ID", "="+h.ada.ID, "TOKEN=TOKEN", "TOKEN="+h.ada.Token, `"TOKEN"`, `"`+h.ada.Token+`"`).Replace(c.env)
			h.write(filepath.Join(h.home(name), ".env"), text)
			got, err := h.Import(t.Context(), Operator, name, ImportWish{Scrub: true, Agent: "echo"})
			must(t, err)
			if !slices.Contains(got.Scrubbed, c.token) || len(got.Left) != 0 || got.UserID != h.ada.ID {
				t.Errorf("%+v", got)
			}
			if !slices.ContainsFunc(got.Found, func(f FoundKey) bool { return f.Name == c.token && f.Use == "sealed as token" }) {
				t.Errorf("%+v", got.Found)
			}
			after, err := os.ReadFile(filepath.Join(h.home(name), ".env"))
			must(t, err)
			if strings.Contains(string(after), h.ada.Token) || strings.Contains(string(after), c.token) {
				t.Errorf("it is still there: %q", strings.ReplaceAll(string(after), h.ada.Token, "…"))
			}
			must(t, os.RemoveAll(h.home(name)))
		})
	}
}

// Nothing is taken out of .env that isn't sealed.
func TestScrubOnlyWhatIsSealed(t *testing.T) {
	h := newHouse(t)
	path := filepath.Join(h.home("alice"), ".env")
	text := "ROCKETCHAT_URL=" + h.url + "\nROCKETCHAT_USER_ID=" + h.ada.ID + "\nROCKETCHAT_TOKEN=" + h.ada.Token + "\n"
	h.write(path, text)
	// The envelope is damaged right after it was written.
	restore := atomicfile.SetHook(func(s atomicfile.Step) error {
		if s == atomicfile.Done {
			_ = os.WriteFile(h.file("alice", "secrets.age"), []byte("damaged"), 0o600)
		}
		return nil
	})
	_, err := h.Import(t.Context(), Operator, "alice", ImportWish{Scrub: true, Agent: "echo"})
	restore()
	if err == nil || !strings.Contains(err.Error(), "nothing is scrubbed") {
		t.Error(err)
	}
	if data, _ := os.ReadFile(path); string(data) != text {
		t.Error("the .env was changed")
	}
	// A password alone has nothing to be sealed in its place.
	h.write(filepath.Join(h.home("pass"), ".env"), "ROCKETCHAT_PASSWORD=hunter2hunter2\n")
	if _, err := h.Import(t.Context(), Operator, "pass", ImportWish{Scrub: true}); err == nil {
		t.Error("a password was scrubbed for nothing")
	}
	// Text that Hermes can't read is not guessed at.
	h.write(filepath.Join(h.home("odd"), ".env"), "ROCKETCHAT_TOKEN=\xff\xfe\n")
	if _, err := h.Import(t.Context(), Operator, "odd", ImportWish{}); err == nil || h.hintOf(err) != "save it as UTF-8" {
		t.Error(err)
	}
}

func TestCopiesOfEnvAreSeen(t *testing.T) {
	h := newHouse(t)
	h.add("alice", h.ada)
	for name, text := range map[string]string{
		".env": "ROCKETCHAT_TOKEN=x\n", ".env.bak": "ROCKETCHAT_TOKEN=x\n", ".env~": "ROCKETCHAT_PASSWORD=x\n", ".env.example": "OTHER=1\n",
		"notes": "ROCKETCHAT_TOKEN=x\n", ".env.d/x": "ROCKETCHAT_TOKEN=x\n", ".env.old": "#ROCKETCHAT_TOKEN=x\n", ".env.bare": "#ROCKETCHAT_TOKEN=\n",
	} {
		h.write(filepath.Join(h.home("alice"), name), text)
	}
	dir, err := openHome(h.home("alice"))
	must(t, err)
	defer dir.Close()
	if d := cmp.Diff([]string{".env.bak", ".env.old", ".env~"}, EnvCopies(dir)); d != "" {
		t.Error(d)
	}
}

// A scrub says what it leaves: what is commented out, and copies.
func TestWhatAScrubLeaves(t *testing.T) {
	h := newHouse(t)
	text := fmt.Sprintf("ROCKETCHAT_URL=%s\nROCKETCHAT_USER_ID=%s\nROCKETCHAT_TOKEN=%s\n# ROCKETCHAT_TOKEN=%[3]s\n", h.url, h.ada.ID, h.ada.Token)
	for _, name := range []string{".env", ".env.bak"} {
		h.write(filepath.Join(h.home("alice"), name), text)
	}
	got, err := h.Import(t.Context(), Operator, "alice", ImportWish{Agent: "echo", Scrub: true})
	must(t, err)
	if d := cmp.Diff([]string{".env: ROCKETCHAT_TOKEN, commented out", ".env.bak"}, got.Left); d != "" {
		t.Error(d)
	}
}

// A reseal that was interrupted is finished by whoever asks next; he is told of
// his own profiles alone.
func TestWhoIsToldOfWhatWasFinished(t *testing.T) {
	for _, c := range []struct {
		by   Caller
		want []string
	}{{Operator, []string{"a", "b"}}, {Caller{UID: os.Geteuid()}, []string{"a", "b"}}, {Caller{UID: os.Geteuid() + 1}, []string{}}} {
		h := newHouse(t)
		for _, name := range []string{"a", "b"} {
			h.add(name, h.ada)
		}
		const dead = "dead"
		func() {
			done := 0
			defer atomicfile.SetHook(func(s atomicfile.Step) error {
				if s == atomicfile.Done {
					if done++; done == 2 { // the journal, a
						panic(dead)
					}
				}
				return nil
			})()
			defer func() {
				if r := recover(); r != dead {
					t.Errorf("%v", r)
				}
			}()
			_, _ = h.Reseal(t.Context(), Operator, ResealWish{All: true})
		}()
		got, err := h.Reseal(t.Context(), c.by, ResealWish{All: true})
		must(t, err)
		if d := cmp.Diff(c.want, got.Finished); d != "" {
			t.Errorf("%+v: %s", c.by, d)
		}
		if left, err := sealed.Unfinished(h.State); err != nil || left {
			t.Error("it was not finished", err)
		}
	}
}

// One that can't be resealed has all others stay as they were, and all are left
// unlocked.
func TestResealAllOrNone(t *testing.T) {
	h := newHouse(t)
	for _, name := range []string{"a", "b", "c"} {
		h.add(name, h.ada)
	}
	before := h.tree("a") + h.tree("b") + h.tree("c")
	full := errors.New("no space left on device")
	writes := 0
	restore := atomicfile.SetHook(func(s atomicfile.Step) error {
		if s == atomicfile.BeforeWrite {
			if writes++; writes == 3 { // the journal, a, b
				return full
			}
		}
		return nil
	})
	_, err := h.Reseal(t.Context(), Operator, ResealWish{All: true})
	restore()
	if !errors.Is(err, sealed.ErrPutBack) || !errors.Is(err, full) {
		t.Fatal(err)
	}
	if h.tree("a")+h.tree("b")+h.tree("c") != before {
		t.Error("something has changed")
	}
	got, err := h.Reseal(t.Context(), Operator, ResealWish{Names: []string{"a", "c"}})
	must(t, err)
	if d := cmp.Diff([]string{"a", "c"}, got.Resealed); d != "" {
		t.Error(d)
	}
	for _, w := range []ResealWish{{}, {All: true, Names: []string{"a"}}, {Names: []string{"a"}, NewIdentity: true}} {
		if _, err := h.Reseal(t.Context(), Operator, w); !errors.Is(err, ErrUnlikely) {
			t.Errorf("%+v: %v", w, err)
		}
	}
}

func TestAdopt(t *testing.T) {
	h := newHouse(t)
	h.add("alice", h.ada)
	h.prove("alice", h.ada, 9) // a generation that was seen once
	done, err := h.Adopt(t.Context(), Operator, "alice")
	must(t, err)
	if len(done.Changes) != 1 || !strings.Contains(done.Changes[0], "of generation 1, and 9 has been seen") {
		t.Errorf("%+v", done)
	}
	e := h.entry("alice")
	e.Path, e.Bot, e.Owner = "/elsewhere", "somebody", 4242
	must(t, h.Names.Change("alice", &e))
	done, err = h.Adopt(t.Context(), Operator, "alice")
	must(t, err)
	if len(done.Changes) < 2 {
		t.Errorf("%+v", done)
	}
	if done, err = h.Adopt(t.Context(), Operator, "alice"); err != nil || len(done.Changes) != 0 {
		t.Errorf("%+v, %v", done, err)
	}
	// A home without an envelope is adopted as the folder that it is.
	h.write(h.file("bare", "channel.yaml"), "agent: {kind: echo}\n")
	if done, err = h.Adopt(t.Context(), Operator, "bare"); err != nil || done.Server != "" {
		t.Error(done, err)
	}
	// A damaged one is not.
	h.write(h.file("bare", "secrets.age"), "damaged")
	if _, err := h.Adopt(t.Context(), Operator, "bare"); err == nil {
		t.Error("a damaged envelope was adopted")
	}
}

func TestRemoveOfAHomeThatIsGone(t *testing.T) {
	h := newHouse(t)
	h.add("alice", h.ada)
	h.prove("alice", h.ada, 1)
	must(t, os.RemoveAll(h.home("alice")))
	if _, err := h.Remove(t.Context(), Operator, "alice", RemoveWish{}); err != nil {
		t.Fatal(err)
	}
	if _, known, _ := h.Names.Entry("alice"); known {
		t.Error("it is still known")
	}
	if _, err := h.Remove(t.Context(), Operator, "alice", RemoveWish{}); !errors.Is(err, ErrNoProfile) {
		t.Error(err)
	}
}

func TestSecretWishes(t *testing.T) {
	for _, c := range []struct {
		do, key string
		ok      bool
	}{
		{"list", "", true},
		{"set", "token", true},
		{"set", "asker", true},
		{"set", "OPENAI_API_KEY", true},
		{"set", "TOKEN", true},
		{"unset", "asker", true},
		{"unset", "X", true},
		{"unset", "token", false},
		{"set", "post", false},
		{"unset", "post", false},
		{"set", "tokne", false},
		{"set", "askr", false},
		{"set", "", false},
		{"set", "a b", false},
		{"set", "1X", false},
		{"set", "sk-0123456789", false},
		{"get", "X", false},
		{"", "X", false},
	} {
		err := SecretWish{Do: c.do, Key: c.key}.Check("alice")
		if (err == nil) != c.ok {
			t.Errorf("%s %q: %v", c.do, c.key, err)
		}
		if err != nil && (!errors.Is(err, ErrUnlikely) || strings.Contains(err.Error()+Hint(err), "sk-0123")) {
			t.Errorf("%s %q: %v", c.do, c.key, err)
		}
	}
}

func TestVerifyAsker(t *testing.T) {
	h := newHouse(t)
	h.add("alice", h.ada)
	if _, err := h.VerifyAsker(t.Context(), Operator, "alice", AskerWish{Token: "x"}); !errors.Is(err, asker.ErrNoKey) || h.hintOf(err) != "rcsupervisor secret alice set asker" {
		t.Error(err)
	}
	_, err := h.Secret(t.Context(), Operator, "alice", SecretWish{Do: "set", Key: "asker", Value: plain("the key")})
	must(t, err)
	token := asker.Sign([]byte("the key"), "u", "r", h.now())
	if c, err := h.VerifyAsker(t.Context(), Operator, "alice", AskerWish{Token: token}); err != nil || c.User != "u" || c.Room != "r" {
		t.Error(c, err)
	}
	if _, err := h.VerifyAsker(t.Context(), Operator, "alice", AskerWish{Token: token + "x"}); !errors.Is(err, asker.ErrMalformed) && !errors.Is(err, asker.ErrSignature) {
		t.Error(err)
	}
}

// A secret crosses the socket as it is, and prints nowhere.
func TestPlain(t *testing.T) {
	w := SecretWish{Do: "set", Key: "K", Value: plain("hunter2hunter2")}
	data, err := w.Value.MarshalJSON()
	must(t, err)
	if string(data) != `"hunter2hunter2"` {
		t.Errorf("%s", data)
	}
	var back Plain
	must(t, back.UnmarshalJSON(data))
	if !back.Equal(w.Value.Secret) {
		t.Error("another came out")
	}
	if err := back.UnmarshalJSON([]byte(`["hunter2hunter2"]`)); err == nil || strings.Contains(err.Error(), "hunter2") {
		t.Error(err)
	}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x"} {
		if text := sprintf(verb, w); strings.Contains(text, "hunter2") || strings.Contains(text, "68756e746572") {
			t.Errorf("%s prints %s", verb, text)
		}
	}
}

func sprintf(verb string, v any) string { return fmt.Sprintf(verb, v) }
