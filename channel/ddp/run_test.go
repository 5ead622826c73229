package ddp_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/gorilla/websocket"

	"rcsupervisor/channel/ddp"
	"rcsupervisor/healthcheck"
)

// in runs a test of a conversation on a clock of its own.
func in(t *testing.T, test func(t *testing.T)) { t.Helper(); synctest.Test(t, test) }

// Both dialects, word for word: what is said, in which order, and that nothing
// is said before it is its turn. Every socket logs in anew and subscribes anew,
// as nothing is carried over from the one before (js.SDK#359, js.SDK#422,
// matterbridge#1011, hermes-agent PR#30463).
func TestOrderOfFrames(t *testing.T) {
	for name, script := range map[string]func(*peer){
		"Meteor": func(p *peer) {
			p.say(`{"server_id":"0"}`)
			p.expect(connect)
			p.say(connected)
			p.expect(login)
			p.say(`{"msg":"added","collection":"users","id":"` + bot + `","fields":{"username":"hermes"}}`)
			p.say(`{"msg":"updated","methods":["login-1"]}`, loggedIn)
			p.expect(sub)
			p.say(ready)
		},
		"streamer": func(p *peer) {
			p.say(`{"msg":"server_id","server_id":"0"}`)
			p.expect(connect)
			p.say(connected)
			p.expect(login)
			p.say(`{"msg":"result","id":"login-1","result":{"id":"`+bot+`","token":"x","type":"resume"}}`, `{"msg":"updated","methods":["login-1"]}`)
			p.expect(sub)
			p.say(ready)
		},
		// purple-rocketchat#23: newer servers say nothing until spoken to.
		"silent until spoken to": func(p *peer) { p.online() },
	} {
		t.Run(name, func(t *testing.T) {
			in(t, func(t *testing.T) {
				s := serving(t, func(p *peer) {
					script(p)
					p.say(event("a"))
					synctest.Wait() // nothing more is said: no second sub (RC#8756), no second login
					if len(p.in) > 0 {
						t.Errorf("the client went on with %s", p.next())
					}
				})
				end, h := s.run(t.Context())
				wantEnd(t, end, ddp.End{Reason: healthcheck.Closed, Connected: true, Online: true}, "1006")
				if diff := cmp.Diff([]string{"connected", "ready", "event a"}, h.lines); diff != "" {
					t.Error(diff)
				}
				if s.dials != 1 {
					t.Errorf("%d dials: exactly one attempt (js.SDK#412)", s.dials)
				}
			})
		})
	}
}

// One absolute deadline from dial to ready, whatever comes in between, and what
// it means by how far it came (js.SDK#412, hubot v1.0.9 #204).
func TestDeadline(t *testing.T) {
	trickle := func(p *peer) {
		for range 60 {
			time.Sleep(time.Second)
			p.say(`{"msg":"ping"}`, `{"msg":"added","collection":"users"}`, `{"odd":1}`)
		}
	}
	hang := func(p *peer) { p.gone() }
	for name, c := range map[string]struct {
		script func(*peer)
		want   ddp.End
		says   string
	}{
		"silent after the handshake": {hang, ddp.End{Reason: healthcheck.Unreachable}, "did not say `connected` within 30s"},
		"talks, but not of that":     {trickle, ddp.End{Reason: healthcheck.Unreachable}, "did not say `connected` within 30s"},
		"no result of the login": {
			func(p *peer) { p.greet(); p.gone() },
			ddp.End{Reason: healthcheck.Dropped, Connected: true},
			"did not answer the login within 30s",
		},
		"another call's result": {
			func(p *peer) { p.greet(); p.say(`{"msg":"result","id":"m9","error":{"error":403}}`); p.gone() },
			ddp.End{Reason: healthcheck.Dropped, Connected: true},
			"did not answer the login within 30s",
		},
		"never ready": {
			func(p *peer) { p.admit(); trickle(p) },
			ddp.End{Reason: healthcheck.Dropped, Connected: true},
			"did not say `ready` to the subscription within 30s",
		},
		"another's ready": {func(p *peer) {
			p.admit()
			p.say(`{"msg":"ready","subs":["other"]}`, `{"msg":"ready","subs":"sub-1"}`, `{"msg":"ready"}`)
			p.gone()
		}, ddp.End{Reason: healthcheck.Dropped, Connected: true}, "did not say `ready`"},
		"ready before the login": {func(p *peer) {
			p.greet()
			p.say(ready, connected)
			p.gone()
		}, ddp.End{Reason: healthcheck.Dropped, Connected: true}, "did not answer the login"},
	} {
		t.Run(name, func(t *testing.T) {
			in(t, func(t *testing.T) {
				end, h := serving(t, c.script).run(t.Context())
				wantEnd(t, end, c.want, c.says)
				wantAfter(t, h, 30*time.Second)
			})
		})
	}
}

// The deadline is the connection's, not each step's.
func TestDeadlineCountsFromTheDial(t *testing.T) {
	in(t, func(t *testing.T) {
		end, h := serving(t, func(p *peer) {
			time.Sleep(14 * time.Second)
			p.greet()
			time.Sleep(14 * time.Second)
			p.say(loggedIn)
			p.gone()
		}).run(t.Context())
		wantEnd(t, end, ddp.End{Reason: healthcheck.Dropped, Connected: true})
		wantAfter(t, h, 30*time.Second)
	})
}

// A login's result is inspected (hermes-agent PR#30463), and a refusal is told
// from a server that has no time or a fault (js.SDK#119, RC#19641, RC#23947, RC#8064).
func TestLogin(t *testing.T) {
	fail := func(e string) string { return `{"msg":"result","id":"login-1","error":` + e + `}` }
	refused := ddp.End{Reason: healthcheck.Refused, LoginRefused: true, Connected: true}
	dropped := ddp.End{Reason: healthcheck.Dropped, Connected: true}
	limited := func(d time.Duration) ddp.End {
		return ddp.End{Reason: healthcheck.RateLimited, RetryAfter: d, Connected: true}
	}
	for name, c := range map[string]struct {
		frames []string
		want   ddp.End
		says   string
	}{
		"Meteor, revoked": {
			[]string{
				`{"msg":"updated","methods":["login-1"]}`,
				fail(`{"isClientSafe":true,"error":403,"reason":"You've been logged out by the server. Please log in again.","message":"You've been logged out by the server. Please log in again. [403]","errorType":"Meteor.Error"}`),
			},
			refused, "login: 403 You've been logged out by the server. Please log in again.",
		},
		"streamer, revoked":   {[]string{fail(`{"error":403,"reason":"You've been logged out by the server. Please log in again"}`)}, refused, "log in again"},
		"403 as a string":     {[]string{fail(`{"error":"403","reason":"Your session has expired. Please log in again."}`)}, refused, "session has expired"},
		"403 bare":            {[]string{fail(`403`)}, refused, "403"},
		"403 with a result":   {[]string{`{"msg":"result","id":"login-1","result":{"id":"` + bot + `"},"error":{"error":403}}`}, refused, ""},
		"500":                 {[]string{fail(`{"error":500,"reason":"Internal server error"}`)}, dropped, "login: 500 Internal server error"},
		"404":                 {[]string{fail(`{"error":404,"reason":"Method 'login' not found"}`)}, dropped, "404"},
		"not allowed":         {[]string{fail(`{"error":"error-not-allowed","reason":"Not allowed"}`)}, dropped, "error-not-allowed Not allowed"},
		"a bare word":         {[]string{fail(`"boom"`)}, dropped, "login: boom"},
		"an empty error":      {[]string{fail(`{}`)}, dropped, "without a reason"},
		"an error of no kind": {[]string{fail(`[true]`)}, dropped, "without a reason"},
		"message alone":       {[]string{fail(`{"message":"Match failed"}`)}, dropped, "Match failed"},
		"too many":            {[]string{fail(`{"error":"too-many-requests","reason":"Error, too many requests.","details":{"timeToReset":3300}}`)}, limited(3300 * time.Millisecond), "asks to wait 3s"},
		"too many, at once":   {[]string{fail(`{"error":"too-many-requests","details":{"timeToReset":1}}`)}, limited(time.Second), ""},
		"too many, negative":  {[]string{fail(`{"error":"too-many-requests","details":{"timeToReset":-5}}`)}, limited(time.Second), ""},
		"too many, for days":  {[]string{fail(`{"error":"too-many-requests","details":{"timeToReset":1e300}}`)}, limited(15 * time.Minute), ""},
		"too many, text":      {[]string{fail(`{"error":"too-many-requests","details":{"timeToReset":"9856"}}`)}, limited(9856 * time.Millisecond), ""},
		"too many, unnamed":   {[]string{fail(`{"error":"too-many-requests","details":"soon"}`)}, limited(10 * time.Second), ""},
		"too many, bare":      {[]string{fail(`"too-many-requests"`)}, limited(10 * time.Second), ""},
		"another bot's token": {[]string{`{"msg":"result","id":"login-1","result":{"id":"someone","token":"x"}}`}, ddp.End{Reason: healthcheck.Identity, Connected: true}, "belongs to user someone, not to " + bot},
		"nobody":              {[]string{`{"msg":"result","id":"login-1"}`}, dropped, "without saying as whom"},
		"nobody, Meteor":      {[]string{`{"msg":"result","id":"login-1","result":null,"error":null}`}, dropped, "without saying as whom"},
		"an odd id":           {[]string{`{"msg":"result","id":"login-1","result":{"id":7}}`}, dropped, "without saying as whom"},
		"an odd result":       {[]string{`{"msg":"result","id":"login-1","result":"yes"}`}, dropped, "without saying as whom"},
		"failed":              {[]string{`{"msg":"failed","version":"1"}`}, dropped, "does not speak version 1 of DDP"},
	} {
		t.Run(name, func(t *testing.T) {
			in(t, func(t *testing.T) {
				var bye error
				end, h := serving(t, func(p *peer) {
					p.greet()
					p.say(c.frames...)
					bye = p.gone()
					if len(p.in) > 0 {
						t.Errorf("the client went on with %s", p.next())
					}
				}).run(t.Context())
				wantEnd(t, end, c.want, c.says)
				wantAfter(t, h, 0)
				if closeCode(bye) != websocket.CloseNormalClosure {
					t.Errorf("closed with %v", bye)
				}
				if diff := cmp.Diff([]string{"connected"}, h.lines); diff != "" {
					t.Error(diff)
				}
			})
		})
	}
}

// `failed` instead of `connected`: another version of DDP, said clearly.
func TestFailed(t *testing.T) {
	in(t, func(t *testing.T) {
		end, _ := serving(t, func(p *peer) {
			p.expect(connect)
			p.say(`{"msg":"failed","version":"pre1"}`)
			p.gone()
		}).run(t.Context())
		wantEnd(t, end, ddp.End{Reason: healthcheck.Dropped}, "does not speak version 1 of DDP")
	})
}

// nosub at any time means that the stream is gone (Go.SDK#44, RC#22817,
// hubot#142, Silvenga/Rocket.Chat.Net#2): an end with a sentence, never a spin,
// never taken for ready.
func TestNosub(t *testing.T) {
	before := ddp.End{Reason: healthcheck.Dropped, Connected: true}
	after := ddp.End{Reason: healthcheck.Dropped, Connected: true, Online: true}
	for name, c := range map[string]struct {
		frames []string
		want   ddp.End
		says   string
	}{
		"denied, Meteor 3.4":  {[]string{`{"msg":"nosub","id":"sub-1"}`}, before, "without a reason"},
		"null error":          {[]string{`{"msg":"nosub","id":"sub-1","error":null}`}, before, "without a reason"},
		"not allowed":         {[]string{`{"msg":"nosub","id":"sub-1","error":{"error":"not-allowed","reason":"Not allowed"}}`}, before, "not-allowed Not allowed"},
		"publication removed": {[]string{`{"msg":"nosub","id":"sub-1","error":{"error":404,"reason":"Subscription 'stream-room-messages' not found"}}`}, before, "404 Subscription 'stream-room-messages' not found"},
		"too many":            {[]string{`{"msg":"nosub","id":"sub-1","error":{"error":"too-many-requests","details":{"timeToReset":34163}}}`}, ddp.End{Reason: healthcheck.RateLimited, RetryAfter: 34163 * time.Millisecond, Connected: true}, "asks to wait 34s"},
		"once online":         {[]string{ready, event("a"), `{"msg":"nosub","id":"sub-1"}`}, after, "without a reason"},
		"too many, online":    {[]string{ready, `{"msg":"nosub","id":"sub-1","error":{"error":"too-many-requests","details":{"timeToReset":2000}}}`}, ddp.End{Reason: healthcheck.RateLimited, RetryAfter: 2 * time.Second, Connected: true, Online: true}, ""},
		"403 is no refusal":   {[]string{ready, `{"msg":"nosub","id":"sub-1","error":{"error":403,"reason":"no"}}`}, after, "403 no"},
	} {
		t.Run(name, func(t *testing.T) {
			in(t, func(t *testing.T) {
				end, h := serving(t, func(p *peer) {
					p.admit()
					p.say(`{"msg":"nosub","id":"other"}`, `{"msg":"nosub"}`, `{"msg":"nosub","id":["sub-1"]}`) // none of ours
					p.say(c.frames...)
					p.gone()
				}).run(t.Context())
				wantEnd(t, end, c.want, c.says)
				wantAfter(t, h, 0)
			})
		})
	}
}

// Events that come before `ready` are neither lost nor handed on before it.
func TestEventsBeforeReady(t *testing.T) {
	in(t, func(t *testing.T) {
		end, h := serving(t, func(p *peer) {
			p.greet()
			p.say(event("anonymous")) // before the login: not the bot's stream
			p.say(loggedIn)
			p.expect(sub)
			p.say(event("a"), event("b"))
			time.Sleep(5 * time.Second)
			p.say(ready, event("c"))
		}).run(t.Context())
		wantEnd(t, end, ddp.End{Reason: healthcheck.Closed, Connected: true, Online: true})
		if diff := cmp.Diff([]string{"connected", "ready", "event a", "event b", "event c"}, h.lines); diff != "" {
			t.Error(diff)
		}
		if diff := cmp.Diff([]time.Duration{0, 5e9, 5e9, 5e9, 5e9}, h.at); diff != "" {
			t.Error(diff)
		}
	})
}

// What is held back is bounded, in number and in bytes.
func TestFloodBeforeReady(t *testing.T) {
	for name, c := range map[string]struct {
		size, least int
	}{"many": {10, 512}, "large": {1 << 20, 4}} {
		t.Run(name, func(t *testing.T) {
			in(t, func(t *testing.T) {
				end, h := serving(t, func(p *peer) {
					p.admit()
					for range c.least + 1 {
						p.say(event(strings.Repeat("x", c.size)))
					}
					p.gone()
				}).run(t.Context())
				wantEnd(t, end, ddp.End{Reason: healthcheck.Dropped, Connected: true}, "before the subscription was ready")
				if len(h.events) > 0 {
					t.Error("events were handed on before ready")
				}
			})
		})
	}
}

// Only our stream's events are events: matched by collection and event name,
// never by `id`, which is always "id" (RC#27430, openclaw-rocketchat#24,
// Go.SDK#32), and stream-notify-user is not chat (RC#11706, RC#13904).
func TestWhatIsAnEvent(t *testing.T) {
	changed := func(collection, name, args string) string {
		return fmt.Sprintf(`{"msg":"changed","collection":%q,"id":"x7","fields":{"eventName":%q,"args":%s}}`, collection, name, args)
	}
	in(t, func(t *testing.T) {
		_, h := serving(t, func(p *peer) {
			p.online()
			p.say(
				changed("stream-notify-user", bot+"/message", `[{"_id":"no"}]`),
				changed("stream-notify-user", "__my_messages__", `[{"_id":"no"}]`),
				changed("stream-room-messages", "GENERAL", `[{"_id":"no"}]`),
				changed("users", "__my_messages__", `[{"_id":"no"}]`),
				`{"msg":"added","collection":"stream-room-messages","id":"id","fields":{"eventName":"__my_messages__","args":[{"_id":"no"}]}}`,
				`{"msg":"removed","collection":"stream-room-messages","id":"id"}`,
				`{"msg":"changed","collection":"stream-room-messages","id":"id"}`,
				`{"msg":"changed","collection":"stream-room-messages","id":"id","fields":null}`,
				`{"collection":"stream-room-messages","fields":{"eventName":"__my_messages__","args":[{"_id":"no"}]}}`,
				changed("stream-room-messages", "__my_messages__", `[{"_id":"a"},{"roomType":"c"}]`),
				changed("stream-room-messages", "__my_messages__", `[[{"_id":"b"},{"roomType":"c"}]]`), // js.SDK#130
				changed("stream-room-messages", "__my_messages__", `[{"_id":"c"}]`),                    // RC#12574
				changed("stream-room-messages", "__my_messages__", `{}`),
			)
		}).run(t.Context())
		if diff := cmp.Diff([]string{"connected", "ready", "event a", "event b", "event c", "event "}, h.lines); diff != "" {
			t.Fatal(diff)
		}
		var args []int
		for _, e := range h.events {
			args = append(args, len(e.Args))
			if e.Collection != ddp.Collection || e.Name != ddp.MyMessages {
				t.Errorf("an event of %s %s", e.Collection, e.Name)
			}
		}
		if diff := cmp.Diff([]int{2, 2, 1, 0}, args); diff != "" {
			t.Error(diff)
		}
	})
}

// Args may be kept: the next frame does not write over them.
func TestArgsMayBeKept(t *testing.T) {
	in(t, func(t *testing.T) {
		_, h := serving(t, func(p *peer) {
			p.online()
			for i := range 100 {
				p.say(event(fmt.Sprintf("message-%03d", i)))
			}
		}).run(t.Context())
		if len(h.events) != 100 {
			t.Fatalf("%d events", len(h.events))
		}
		for i, e := range h.events {
			if want := fmt.Sprintf(`{"_id":"message-%03d"}`, i); string(e.Args[0]) != want {
				t.Errorf("event %d is now %s", i, e.Args[0])
			}
		}
	})
}

// Odd frames are survived and counted; what follows them is heard.
func TestOddFrames(t *testing.T) {
	in(t, func(t *testing.T) {
		var frames, malformed uint64
		s := serving(t, func(p *peer) {
			p.expect(connect)
			p.say("o", `a["{}"]`, "h", "", "null", "[]", "<html>", `{"msg":`)
			p.ws.WriteMessage(websocket.BinaryMessage, []byte(connected))
			p.say(`{"msg":"error","reason":"Bad request","offendingMessage":{}}`, `{"msg":{}}`, `{"msg":"surprise","id":[]}`, `{}`)
			p.say(connected)
			p.expect(login)
			p.say(`{"msg":"result"}`, `{"msg":"result","id":9,"result":7}`, `{"msg":"ready","subs":{}}`, `{"msg":"updated"}`, connected, loggedIn)
			p.expect(sub)
			p.say(loggedIn, ready, ready)
			p.ws.WriteMessage(websocket.BinaryMessage, []byte{0xff, 0})
			p.say(connected, event("a"))
		})
		end, h := s.run(t.Context())
		frames, malformed = h.conn.Frames(), h.conn.Malformed()
		wantEnd(t, end, ddp.End{Reason: healthcheck.Closed, Connected: true, Online: true})
		if diff := cmp.Diff([]string{"connected", "ready", "event a"}, h.lines); diff != "" {
			t.Error(diff)
		}
		if frames != 26 || malformed != 10 {
			t.Errorf("%d frames, %d of them malformed", frames, malformed)
		}
	})
}
