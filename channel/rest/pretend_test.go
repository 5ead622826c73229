package rest

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"rcsupervisor/channel/chat"
	"rcsupervisor/channel/dial"
	"rcsupervisor/channel/pretend"
	"rcsupervisor/sealed"
)

// A scene is a pretend server with a bot, a person and one room of each kind.
type scene struct {
	*pretend.Server
	bot, alice             pretend.User
	lab, private, direct   pretend.Room
	elsewhere, foreignRoom pretend.Room
	c                      *Client
}

// stage sets a scene over TLS, below a base path.
func stage(t *testing.T, v pretend.Version, bot pretend.UserOptions) *scene {
	s := pretend.New(pretend.Options{Version: v, BasePath: "/chat"})
	t.Cleanup(func() { s.Close() })
	url, certificate, err := s.ListenTLS("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	sc := &scene{Server: s, bot: s.AddUser("hermes", bot), alice: s.AddUser("alice", pretend.UserOptions{})}
	sc.rooms()
	sc.c = clientOf(t, url, sc.bot, &dial.Network{CAFile: certificate})
	t.Cleanup(sc.c.Close)
	return sc
}

func (sc *scene) rooms() {
	sc.lab = sc.AddChannel("lab", sc.bot, sc.alice)
	sc.private = sc.AddGroup("private", sc.bot, sc.alice)
	sc.direct = sc.AddDirect(sc.bot, sc.alice)
	sc.elsewhere = sc.AddChannel("elsewhere", sc.alice, sc.bot)
	sc.foreignRoom = sc.AddGroup("foreign", sc.alice)
}

func clientOf(t *testing.T, url string, bot pretend.User, n *dial.Network) *Client {
	t.Helper()
	c, err := New(Config{Server: url, UserID: bot.ID, Token: sealed.NewSecret(bot.Token), Network: n})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// each runs a test against every personality.
func each3(t *testing.T, f func(*testing.T, *scene)) {
	for _, v := range pretend.Versions() {
		t.Run(string(v), func(t *testing.T) { f(t, stage(t, v, pretend.UserOptions{Bot: true})) })
	}
}

func TestPretendTellsWhoAndWhat(t *testing.T) {
	each3(t, func(t *testing.T, s *scene) {
		me, err := s.c.Me(t.Context())
		if err != nil || me.ID != s.bot.ID || me.Username != "hermes" || !me.Active || len(me.Roles) != 1 {
			t.Errorf("%+v %v", me, err)
		}
		info, err := s.c.Info(t.Context())
		if err != nil || !strings.HasPrefix(info.Version, string(s.Version())) {
			t.Errorf("%+v %v", info, err)
		}
		for _, q := range []UserQuery{{ID: s.alice.ID}, {Username: "alice"}} {
			u, err := s.c.User(t.Context(), q)
			if err != nil || u.ID != s.alice.ID || u.Username != "alice" {
				t.Errorf("%+v: %+v %v", q, u, err)
			}
		}
		if u, err := s.c.User(t.Context(), UserQuery{ID: s.bot.ID}); err != nil || u.Type != "bot" {
			t.Errorf("%+v %v", u, err)
		}
		_, err = s.c.User(t.Context(), UserQuery{Username: "nobody"})
		mustBe(t, err, ErrNotFound)
		settings, err := s.c.Settings(t.Context(), "Message_MaxAllowedSize", "UI_Use_Real_Name", "None")
		if err != nil || string(settings["Message_MaxAllowedSize"]) != "5000" || string(settings["UI_Use_Real_Name"]) != "false" || len(settings) != 2 {
			t.Errorf("%s %v", settings, err)
		}
		if offset, known := s.c.ClockOffset(); !known || offset.Abs() > 2*time.Second {
			t.Errorf("clock %v %v", offset, known)
		}
	})
}

func TestPretendTakesMessages(t *testing.T) {
	each3(t, func(t *testing.T, s *scene) {
		ctx := t.Context()
		if _, err := s.c.Info(ctx); err != nil {
			t.Fatal(err)
		}
		out := Outgoing{ID: "part000000000000001x", Room: s.lab.ID, Text: "hello https://example.org"}
		m, err := s.c.SendMessage(ctx, out)
		if err != nil || m.ID != out.ID || m.RoomID != s.lab.ID || m.Sender.ID != s.bot.ID {
			t.Fatalf("%+v %v", m, err)
		}
		// R76: once more is refused, and the message is there, ours.
		_, err = s.c.SendMessage(ctx, out)
		mustBe(t, err, ErrDuplicate)
		if m, err = s.c.Message(ctx, out.ID); err != nil || m.Sender.ID != s.bot.ID || m.RoomID != s.lab.ID || m.Text != out.Text {
			t.Errorf("%+v %v", m, err)
		}
		if n := len(s.Messages(s.lab)); n != 1 {
			t.Errorf("%d messages", n)
		}

		root := s.Say(s.alice, s.lab, "@hermes hello")
		if m, err = s.c.SendMessage(ctx, Outgoing{ID: "inthread1", Room: s.lab.ID, Text: "hi", Thread: root.ID, AlsoInRoom: true}); err != nil || m.Thread != root.ID {
			t.Errorf("%+v %v", m, err)
		}
		thread, err := s.c.ThreadMessages(ctx, root.ID, 20)
		if err != nil || len(thread) != 1 || thread[0].ID != "inthread1" {
			t.Errorf("%+v %v", thread, err)
		}
		// A thread's message goes to its root's room, whatever was asked.
		if m, err = s.c.SendMessage(ctx, Outgoing{ID: "misrouted1", Room: s.elsewhere.ID, Text: "hi", Thread: root.ID}); err != nil || m.RoomID != s.lab.ID {
			t.Errorf("%+v %v", m, err)
		}

		if err := s.c.Update(ctx, s.lab.ID, out.ID, "changed"); err != nil {
			t.Error(err)
		}
		if m, _ := s.Message(out.ID); m.Text != "changed" {
			t.Errorf("%q", m.Text)
		}
		// R84: on twice is on, off twice is off.
		for _, on := range []bool{true, true, false, false} {
			if err := s.c.React(ctx, root.ID, ":eyes:", on); err != nil {
				t.Error(err)
			}
			if m, _ := s.Message(root.ID); (len(m.Reactions) == 1) != on {
				t.Errorf("%v: %v", on, m.Reactions)
			}
		}
		if err := s.c.Delete(ctx, s.lab.ID, out.ID); err != nil {
			t.Error(err)
		}
		_, err = s.c.Message(ctx, out.ID)
		mustBe(t, err, ErrNotFound)
		mustBe(t, s.c.Delete(ctx, s.lab.ID, out.ID), ErrNotFound)
		mustBe(t, s.c.React(ctx, "nothing", ":eyes:", true), ErrNotFound)
	})
}

func TestPretendRefuses(t *testing.T) {
	each3(t, func(t *testing.T, s *scene) {
		ctx := t.Context()
		theirs := s.Say(s.alice, s.lab, "mine")
		s.SetReadOnly(s.elsewhere, true)
		archived := s.AddChannel("archived", s.bot)
		s.Archive(archived, true)
		send := func(room, text string) error {
			_, err := s.c.SendMessage(ctx, Outgoing{ID: "m" + room + text[:1], Room: room, Text: text})
			return err
		}
		mustBe(t, s.c.Update(ctx, s.lab.ID, theirs.ID, "x"), ErrForbidden)
		mustBe(t, s.c.Delete(ctx, s.lab.ID, theirs.ID), ErrForbidden)
		mustBe(t, send(s.foreignRoom.ID, "x"), ErrForbidden)
		mustBe(t, send("nosuchroom", "x"), ErrRoomGone)
		mustBe(t, send(s.elsewhere.ID, "x"), ErrReadOnly)
		mustBe(t, send(archived.ID, "x"), ErrReadOnly)
		_, err := s.c.Room(ctx, s.foreignRoom.ID)
		mustBe(t, err, ErrRoomGone)
		for room, kind := range map[string]chat.Kind{s.lab.ID: chat.Group, s.private.ID: chat.Channel, s.direct.ID: chat.Group, s.foreignRoom.ID: chat.Group} {
			_, err := s.c.History(ctx, HistoryQuery{Kind: kind, Room: room})
			mustBe(t, err, ErrRoomGone)
		}
		err = send(s.lab.ID, strings.Repeat("x", 5001))
		if s.Version() == pretend.V34 { // doesn't count
			if err != nil {
				t.Error(err)
			}
		} else {
			mustBe(t, err, ErrTooLong)
		}
		s.Kick(s.private, s.bot, s.alice)
		mustBe(t, send(s.private.ID, "x"), ErrForbidden)
	})
}

func TestPretendHasRoomsAndAPast(t *testing.T) {
	each3(t, func(t *testing.T, s *scene) {
		ctx := t.Context()
		at := s.Now().Add(-time.Hour)
		for _, room := range []pretend.Room{s.lab, s.private, s.direct} {
			for i := range 130 {
				s.Say(s.alice, room, "x", pretend.SayOptions{At: at.Add(time.Duration(i/3) * time.Second)})
			}
		}
		kinds := map[string]chat.Kind{s.lab.ID: chat.Channel, s.private.ID: chat.Group, s.direct.ID: chat.Direct}
		for room, kind := range kinds {
			got := map[string]bool{}
			last := s.Now()
			for m, err := range s.c.Backward(ctx, HistoryQuery{Kind: kind, Room: room, Oldest: at, Count: 40}) {
				if err != nil {
					t.Fatal(err)
				}
				if got[m.ID] || m.Sent.After(last) {
					t.Errorf("%s: again, or out of order", m.ID)
				}
				got[m.ID], last = true, m.Sent.Time
			}
			if len(got) != 130 {
				t.Errorf("%s: %d of 130", kind, len(got))
			}
		}

		before := s.Now()
		time.Sleep(2 * time.Millisecond) // the server's clock counts in these
		said := s.Say(s.alice, s.direct, "now")
		rooms, _, err := s.c.Rooms(ctx, before)
		if err != nil || len(rooms) != 1 || rooms[0].ID != s.direct.ID || rooms[0].Kind != chat.Direct || rooms[0].Last == nil || rooms[0].Last.ID != said.ID {
			t.Errorf("%+v %v", rooms, err)
		}
		if all, _, err := s.c.Rooms(ctx, time.Time{}); err != nil || len(all) != 4 {
			t.Errorf("%d rooms %v", len(all), err)
		}
		subs, _, err := s.c.Subscriptions(ctx, time.Time{})
		if err != nil || len(subs) != 4 {
			t.Fatalf("%d subscriptions %v", len(subs), err)
		}
		var gone string
		for _, sub := range subs {
			if sub.Joined.IsZero() || sub.RoomID == "" || sub.Kind == "" {
				t.Errorf("%+v", sub)
			}
			if sub.RoomID == s.private.ID {
				gone = sub.ID
			}
		}
		before = s.Now()
		time.Sleep(2 * time.Millisecond)
		s.Kick(s.private, s.bot, s.alice)
		if _, removed, err := s.c.Subscriptions(ctx, before); err != nil || len(removed) != 1 || removed[0] != gone {
			t.Errorf("removed %v, want %s (%v)", removed, gone, err)
		}

		room, err := s.c.Room(ctx, s.lab.ID)
		if err != nil || room.Kind != chat.Channel || room.Name != "lab" || room.UsersCount != 2 {
			t.Errorf("%+v %v", room, err)
		}
		if room, err = s.c.DirectRoom(ctx, "alice"); err != nil || room.ID != s.direct.ID || !chat.OneToOne(room.ID, s.bot.ID, s.alice.ID) {
			t.Errorf("%+v %v", room, err)
		}
		_, err = s.c.DirectRoom(ctx, "nobody")
		mustBe(t, err, ErrNotFound)
	})
}

// R78, R79, R88, P61: the way a file goes depends on the version, and each
// server says which way it doesn't have.
func TestPretendTakesFiles(t *testing.T) {
	each3(t, func(t *testing.T, s *scene) {
		ctx := t.Context()
		content := strings.Repeat("content ", 1000)
		id, err := s.c.Upload(ctx, s.lab.ID, text("Übung 1.txt", content))
		if s.Version() == pretend.V34 {
			if !errors.Is(err, ErrNoRoute) {
				t.Errorf("got %v", err)
			}
		} else {
			if err != nil {
				t.Fatal(err)
			}
			if n := len(s.Messages(s.lab)); n != 0 {
				t.Errorf("%d messages before it was confirmed", n)
			}
			m, err := s.c.Confirm(ctx, s.lab.ID, id, ConfirmOptions{Text: "look"})
			checkFile(t, s, m, err, content)
			_, err = s.c.Confirm(ctx, s.lab.ID, "expired", ConfirmOptions{})
			mustBe(t, err, ErrNotFound)
			_, err = s.c.Upload(ctx, s.foreignRoom.ID, text("a", "b"))
			mustBe(t, err, ErrForbidden)
		}
		m, err := s.c.OldUpload(ctx, s.private.ID, text("Übung 1.txt", content), ConfirmOptions{Text: "look"})
		if s.Version() == pretend.V9 {
			if !errors.Is(err, ErrNoRoute) {
				t.Errorf("got %v", err)
			}
			return
		}
		checkFile(t, s, m, err, content)
	})
}

func checkFile(t *testing.T, s *scene, m chat.Message, err error, content string) {
	t.Helper()
	if err != nil || m.Text != "look" || len(m.Attachments) != 1 {
		t.Fatalf("%+v %v", m, err)
	}
	d, err := s.c.Download(t.Context(), m.Attachments[0].TitleLink, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if got, err := io.ReadAll(d); err != nil || string(got) != content {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	if d, err = s.c.Download(t.Context(), m.Attachments[0].TitleLink, 10); err == nil {
		defer d.Close()
		_, err = io.ReadAll(d)
	}
	mustBe(t, err, ErrTooLarge)
}

// R51, R52, P30: a refused token is a 401 with JSON in every version, and
// confirmed; a permission or a proxy isn't.
func TestPretendRefusesAToken(t *testing.T) {
	each3(t, func(t *testing.T, s *scene) {
		ctx := t.Context()
		if refused, err := s.c.Refusal(ctx); refused || err != nil {
			t.Errorf("%v %v", refused, err)
		}
		mend := s.Break(pretend.Fault{Kind: pretend.RefuseToken, User: "hermes"})
		_, err := s.c.SendMessage(ctx, Outgoing{ID: "m1", Room: s.lab.ID, Text: "x"})
		mustBe(t, err, ErrRefused)
		if refused, err := s.c.Refusal(ctx); !refused || err != nil {
			t.Errorf("%v %v", refused, err)
		}
		mend()
		for _, f := range []pretend.Fault{
			{Kind: pretend.HTML},
			{Kind: pretend.BadGateway, Code: 401},
			{Kind: pretend.BadGateway, Code: 403},
			{Kind: pretend.ServerError, Code: 500},
			{Kind: pretend.ServerError, Code: 403, Text: "unauthorized"},
			{Kind: pretend.RedirectREST, URL: "https://elsewhere.example/"},
		} {
			mend := s.Break(f)
			if refused, err := s.c.Refusal(ctx); refused || err == nil {
				t.Errorf("%s %d: %v %v", f.Kind, f.Code, refused, err)
			}
			mend()
		}
		if refused, err := s.c.Refusal(ctx); refused || err != nil {
			t.Errorf("%v %v", refused, err)
		}
	})
}

// What becomes of a message is told apart: stored though the reply was lost,
// prevented, another's of that id, put elsewhere.
func TestPretendLosesAndBends(t *testing.T) {
	each3(t, func(t *testing.T, s *scene) {
		ctx := t.Context()
		n := 0
		send := func(f pretend.Fault) (chat.Message, string, error) {
			n++
			defer s.Break(f)()
			id := "bent" + strings.Repeat("x", n)
			m, err := s.c.SendMessage(ctx, Outgoing{ID: id, Room: s.lab.ID, Text: "hello"})
			return m, id, err
		}
		for _, kind := range []pretend.Kind{pretend.LoseReply, pretend.Cut} {
			_, id, err := send(pretend.Fault{Kind: kind})
			if e := mustBe(t, err, ErrUnavailable); !e.Uncertain {
				t.Errorf("%s: not uncertain", kind)
			}
			if m, err := s.c.Message(ctx, id); err != nil || m.Sender.ID != s.bot.ID {
				t.Errorf("%s: %+v %v", kind, m, err)
			}
		}
		_, id, err := send(pretend.Fault{Kind: pretend.Swallow})
		mustBe(t, err, ErrDuplicate)
		_, err = s.c.Message(ctx, id)
		mustBe(t, err, ErrNotFound)

		_, id, err = send(pretend.Fault{Kind: pretend.ForeignID})
		mustBe(t, err, ErrDuplicate)
		if m, err := s.c.Message(ctx, id); err != nil || m.Sender.ID == s.bot.ID {
			t.Errorf("%+v %v", m, err)
		}
		if m, _, err := send(pretend.Fault{Kind: pretend.Rewrite, Text: "bent"}); err != nil || m.Text != "bent" {
			t.Errorf("%+v %v", m, err)
		}
		if m, _, err := send(pretend.Fault{Kind: pretend.Misroute, Text: s.elsewhere.ID}); err != nil || m.RoomID != s.elsewhere.ID {
			t.Errorf("%+v %v", m, err)
		}
		for _, f := range []pretend.Fault{{Kind: pretend.BadGateway}, {Kind: pretend.ServerError}} {
			_, _, err := send(f)
			mustBe(t, err, ErrUnavailable)
		}
		_, _, err = send(pretend.Fault{Kind: pretend.HTML})
		mustBe(t, err, ErrNotJSON)
		_, _, err = send(pretend.Fault{Kind: pretend.RedirectREST, URL: "https://elsewhere.example/"})
		mustBe(t, err, ErrRedirected)

		file := s.SayFile(s.alice, s.lab, "a.txt", "text/plain", []byte("hello"), "look")
		defer s.Break(pretend.Fault{Kind: pretend.RedirectFile, URL: "https://bucket.example/f?sig=x"})()
		_, err = s.c.Download(ctx, file.Files[0].Path(), 100)
		mustBe(t, err, ErrRedirected)
	})
}

// R80, R82: the limiter of each version, its reset by a clock that is off, on
// a turned clock.
func TestPretendLimits(t *testing.T) {
	for _, v := range pretend.Versions() {
		t.Run(string(v), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := pretend.New(pretend.Options{Version: v})
				defer s.Close()
				bot := s.AddUser("hermes", pretend.UserOptions{Limited: true})
				lab := s.AddChannel("lab", bot)
				said := s.Say(bot, lab, "x")
				c := clientOf(t, "http://127.0.0.1:3000", bot, &dial.Network{DialContext: s.Pipe()})
				defer c.Close()
				defer s.Break(pretend.Fault{Kind: pretend.ClockSkew, Delay: pretend.Duration(90 * time.Minute)})()
				for range 10 {
					if err := c.React(t.Context(), said.ID, ":eyes:", true); err != nil {
						t.Fatal(err)
					}
				}
				e := mustBe(t, c.React(t.Context(), said.ID, ":eyes:", true), ErrRateLimited)
				if e.Held || e.Retry < 59*time.Second || e.Retry > 61*time.Second {
					t.Errorf("%v: wait %v", e, e.Retry)
				}
				if e := mustBe(t, c.React(t.Context(), said.ID, ":eyes:", true), ErrRateLimited); !e.Held {
					t.Error("asked again while it waits")
				}
				if offset, known := c.ClockOffset(); !known || (offset-90*time.Minute).Abs() > time.Second {
					t.Errorf("clock %v", offset)
				}
				time.Sleep(e.Retry)
				if err := c.React(t.Context(), said.ID, ":eyes:", true); err != nil {
					t.Errorf("after the wait: %v", err)
				}
			})
		})
	}
}

// A server that answers late is waited for, one that never does isn't.
func TestPretendIsSlow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := pretend.New(pretend.Options{})
		defer s.Close()
		bot := s.AddUser("hermes", pretend.UserOptions{Bot: true})
		c := clientOf(t, "http://127.0.0.1:3000", bot, &dial.Network{DialContext: s.Pipe()})
		defer c.Close()
		mend := s.Break(pretend.Fault{Kind: pretend.Slow, Delay: pretend.Duration(20 * time.Second)})
		if _, err := c.Me(t.Context()); err != nil {
			t.Error(err)
		}
		mend()
		defer s.Break(pretend.Fault{Kind: pretend.Slow, Delay: pretend.Duration(time.Hour)})()
		_, err := c.Me(t.Context())
		mustBe(t, err, ErrUnavailable)
	})
}

func TestPretendTellsMembers(t *testing.T) {
	each3(t, func(t *testing.T, s *scene) {
		for i := range 120 {
			s.Join(s.private, s.AddUser(fmt.Sprintf("user%d", i), pretend.UserOptions{}))
		}
		for _, c := range []struct {
			kind  chat.Kind
			room  string
			limit int
			want  int
			all   bool
		}{
			{chat.Channel, s.lab.ID, 1000, 2, true},
			{chat.Group, s.private.ID, 1000, 122, true},
			{chat.Group, s.private.ID, 110, 110, false},
		} {
			ids, all, err := s.c.Members(t.Context(), c.kind, c.room, c.limit)
			distinct := make(map[string]bool)
			for _, id := range ids {
				distinct[id] = true
			}
			if err != nil || len(ids) != c.want || len(distinct) != c.want || all != c.all {
				t.Errorf("%+v: %d ids, %d distinct, all %v, %v", c, len(ids), len(distinct), all, err)
			}
		}
		for kind, room := range map[chat.Kind]string{chat.Group: s.foreignRoom.ID, chat.Direct: s.direct.ID, chat.Channel: "nowhere"} {
			if ids, all, err := s.c.Members(t.Context(), kind, room, 10); err == nil || all {
				t.Errorf("%s %s: %v %v", kind, room, ids, all)
			}
		}
	})
}
