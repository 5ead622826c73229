package ddp_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gorilla/websocket"

	"rcsupervisor/channel/ddp"
	"rcsupervisor/healthcheck"
)

var silent = ddp.End{Reason: healthcheck.Silent, Connected: true, Online: true}

// pingID takes the client's next frame for a ping of its own.
func (p *peer) pingID() string {
	p.t.Helper()
	var f struct{ Msg, ID string }
	if s := p.next(); json.Unmarshal([]byte(s), &f) != nil || f.Msg != "ping" || f.ID == "" {
		p.t.Errorf("got %q, want a ping with an id", s)
	}
	return f.ID
}

// Silence is found after exactly 70 s, having asked once after 25 s, however
// the peer vanished (hermes-plugin-rocketchat#3, hubot-rocketchat#261,
// hermes#25476, js.SDK#70): no FIN, no close frame, writes that still go out.
func TestSilence(t *testing.T) {
	in(t, func(t *testing.T) {
		start := time.Now()
		end, h := serving(t, func(p *peer) {
			p.online()
			p.pingID()
			if after := time.Since(start); after != 25*time.Second {
				t.Errorf("asked after %s", after)
			}
			p.gone()
			if len(p.in) > 0 {
				t.Errorf("then the client said %s", p.next())
			}
		}).run(t.Context())
		wantEnd(t, end, silent, "no frame for 70s")
		wantAfter(t, h, 70*time.Second)
		if last := h.conn.LastFrame(); !last.Equal(start) {
			t.Errorf("the last frame came after %s", last.Sub(start))
		}
	})
}

// A peer that does not even read doesn't delay it.
func TestSilenceOfOneThatReadsNothing(t *testing.T) {
	in(t, func(t *testing.T) {
		s := serving(t, nil)
		s.handler = unread(t, func(p *peer) { time.Sleep(100 * time.Second) })
		end, h := s.run(t.Context(), func(c *ddp.Config) { c.Ping = 65 * time.Second })
		wantEnd(t, end, silent)
		wantAfter(t, h, 70*time.Second)
	})
}

// What counts as a sign of life, and what doesn't, at 50 s of silence.
func TestSignsOfLife(t *testing.T) {
	text := func(frames ...string) func(*peer, string) {
		return func(p *peer, id string) {
			for _, f := range frames {
				p.say(strings.ReplaceAll(f, "ID", id))
			}
		}
	}
	for name, c := range map[string]struct {
		say   func(p *peer, id string)
		alive bool
	}{
		"our pong":             {text(`{"msg":"pong","id":"ID"}`), true},
		"a server's ping":      {text(`{"msg":"ping"}`), true},
		"a message":            {text(event("a")), true},
		"another collection":   {text(`{"msg":"changed","collection":"users","id":"x","fields":{}}`), true},
		"an unknown frame":     {text(`{"msg":"surprise"}`), true},
		"a frame without msg":  {text(`{"server_id":"0"}`), true},
		"a pong without id":    {text(`{"msg":"pong"}`), false},
		"a pong of another id": {text(`{"msg":"pong","id":"x"}`, `{"msg":"pong","id":"IDx"}`, `{"msg":"pong","id":["ID"]}`), false},
		"not JSON":             {text("h", "pong ID", "<html>"), false},
		"binary": {func(p *peer, id string) {
			p.ws.WriteMessage(websocket.BinaryMessage, []byte(`{"msg":"pong","id":"`+id+`"}`))
		}, false},
		"WebSocket's ping": {func(p *peer, _ string) { p.ws.WriteControl(websocket.PingMessage, nil, time.Now().Add(time.Second)) }, false},
		"WebSocket's pong": {func(p *peer, _ string) { p.ws.WriteControl(websocket.PongMessage, nil, time.Now().Add(time.Second)) }, false},
		"half a frame":     {func(p *peer, _ string) { p.ws.NetConn().Write([]byte{0x81, 100, '{'}) }, false},
	} {
		t.Run(name, func(t *testing.T) {
			in(t, func(t *testing.T) {
				end, h := serving(t, func(p *peer) {
					p.online()
					id := p.pingID()
					time.Sleep(25 * time.Second)
					c.say(p, id)
					p.gone()
				}).run(t.Context())
				wantEnd(t, end, silent)
				want := 70 * time.Second
				if c.alive {
					want += 50 * time.Second
				}
				wantAfter(t, h, want)
			})
		})
	}
}

// A pong counts once, and only for this socket's last ping: one of an earlier
// ping, said late or again, keeps nothing alive (js.SDK#367, js.SDK#368,
// RC.ReactNative#7549).
func TestStalePongs(t *testing.T) {
	in(t, func(t *testing.T) {
		end, h := serving(t, func(p *peer) {
			p.online()
			first := p.pingID() // at 25 s
			pong := func(id string) { p.say(`{"msg":"pong","id":"` + id + `"}`) }
			pong(first)
			second := p.pingID() // at 50 s
			if first == second {
				t.Error("an id was used again")
			}
			for range 100 { // until 100 s
				time.Sleep(500 * time.Millisecond)
				pong(first)
			}
		}).run(t.Context())
		wantEnd(t, end, silent)
		wantAfter(t, h, 95*time.Second) // 70 s after the first pong
	})
}

// A healthy link without a chat message is left alone for an hour
// (openclaw#70352), our pings keeping proxies from cutting it
// (nginx proxy_read_timeout, openclaw#65729).
func TestQuietHour(t *testing.T) {
	in(t, func(t *testing.T) {
		pings := 0
		end, h := serving(t, func(p *peer) {
			p.online()
			for time.Since(t0(p)) < time.Hour {
				id := p.pingID()
				pings++
				time.Sleep(100 * time.Millisecond)
				p.say(`{"msg":"pong","id":"` + id + `"}`)
			}
		}).run(t.Context())
		wantEnd(t, end, ddp.End{Reason: healthcheck.Closed, Connected: true, Online: true})
		if h.ended < time.Hour || pings < 140 {
			t.Errorf("%d pings in %s", pings, h.ended)
		}
	})
}

// t0 is when bubbles begin.
func t0(*peer) time.Time { return time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC) }

// Sends work, events don't: a link that is dead one way (RC#36023, PR#36076)
// is found though it takes all we write.
func TestOneWayLink(t *testing.T) {
	in(t, func(t *testing.T) {
		s := serving(t, func(p *peer) { p.online(); p.gone() })
		s.onReady = func(c *ddp.Conn) {
			for i := range 20 {
				time.AfterFunc(time.Duration(i)*5*time.Second, func() { c.Call("stream-notify-room", "r/user-activity", "hermes", []string{"user-typing"}) })
			}
		}
		end, h := s.run(t.Context())
		wantEnd(t, end, silent)
		wantAfter(t, h, 70*time.Second)
		time.Sleep(time.Minute) // the calls after the end
		synctest.Wait()
	})
}

// Each ping is answered at once, with its id where it has one, in every phase
// (RC#7786).
func TestPingsAreAnswered(t *testing.T) {
	long := strings.Repeat("x", 1000)
	in(t, func(t *testing.T) {
		ask := func(p *peer, ping, pong string) {
			p.say(ping)
			start := time.Now()
			p.expect(pong)
			if time.Since(start) != 0 {
				t.Errorf("answered after %s", time.Since(start))
			}
		}
		all := func(p *peer) {
			ask(p, `{"msg":"ping"}`, `{"msg":"pong"}`)
			ask(p, `{"msg":"ping","id":"7"}`, `{"msg":"pong","id":"7"}`)
			ask(p, `{"msg":"ping","id":"ü\"\\"}`, `{"msg":"pong","id":"ü\"\\"}`)
			ask(p, `{"msg":"ping","id":7}`, `{"msg":"pong","id":7}`)
			ask(p, `{"msg":"ping","id":"`+long+`"}`, `{"msg":"pong"}`)
		}
		end, _ := serving(t, func(p *peer) {
			p.expect(connect)
			all(p)
			p.say(connected)
			p.expect(login)
			all(p)
			p.say(loggedIn)
			p.expect(sub)
			all(p)
			p.say(ready)
			all(p)
		}).run(t.Context())
		wantEnd(t, end, ddp.End{Reason: healthcheck.Closed, Connected: true, Online: true})
	})
}

// WebSocket's own pings are answered too, with their payload.
func TestWebSocketPings(t *testing.T) {
	in(t, func(t *testing.T) {
		got := make(chan string, 1)
		serving(t, func(p *peer) {
			p.ws.SetPongHandler(func(s string) error { got <- s; return nil })
			p.online()
			p.ws.WriteControl(websocket.PingMessage, []byte("hello"), time.Now().Add(time.Second))
			if s := <-got; s != "hello" {
				t.Errorf("answered with %q", s)
			}
		}).run(t.Context())
	})
}

// Reading goes on while nothing can be written: the queue is bounded, and full
// it ends the connection (hermes-plugin 1.5.0: reads never wait).
func TestServerThatDoesNotRead(t *testing.T) {
	stuck := ddp.End{Reason: healthcheck.Dropped, Connected: true, Online: true}
	t.Run("one frame", func(t *testing.T) {
		in(t, func(t *testing.T) {
			var heard int
			s := serving(t, nil)
			s.handler = unread(t, func(p *peer) {
				for i := range 200 { // our ping, at 25 s, is not read
					p.say(`{"msg":"surprise"}`, event(fmt.Sprint(i)))
					time.Sleep(100 * time.Millisecond)
				}
				time.Sleep(time.Minute)
			})
			s.onEvent = func(ddp.Event) { heard++ }
			end, h := s.run(t.Context(), func(c *ddp.Config) { c.Ping = 10 * time.Second })
			wantEnd(t, end, stuck, "takes nothing", "not written within 10s")
			wantAfter(t, h, 19900*time.Millisecond+20*time.Second) // the last frame, the ping, the write's bound
			if heard != 200 {
				t.Errorf("%d events were heard", heard)
			}
		})
	})
	t.Run("a full queue", func(t *testing.T) {
		in(t, func(t *testing.T) {
			s := serving(t, nil)
			s.handler = unread(t, func(p *peer) {
				for range 1000 {
					p.say(`{"msg":"ping"}`)
				}
			})
			end, h := s.run(t.Context())
			wantEnd(t, end, stuck, "takes nothing", "64 frames wait")
			wantAfter(t, h, 0)
		})
	})
	t.Run("a flood of WebSocket pings", func(t *testing.T) { // may go unanswered
		in(t, func(t *testing.T) {
			s := serving(t, nil)
			s.handler = unread(t, func(p *peer) {
				for range 1000 {
					p.ws.WriteControl(websocket.PingMessage, []byte("x"), time.Now().Add(time.Second))
				}
				time.Sleep(time.Minute)
			})
			end, h := s.run(t.Context())
			wantEnd(t, end, stuck, "not written within 10s")
			wantAfter(t, h, 10*time.Second)
		})
	})
	t.Run("before connected", func(t *testing.T) {
		in(t, func(t *testing.T) {
			s := serving(t, nil)
			s.handler = upgraded(func(ws *websocket.Conn) {
				for range 1000 {
					if ws.WriteMessage(websocket.TextMessage, []byte(`{"msg":"ping"}`)) != nil {
						return
					}
				}
			})
			end, h := s.run(t.Context())
			wantEnd(t, end, ddp.End{Reason: healthcheck.Unreachable}, "takes nothing")
			wantAfter(t, h, 0)
		})
	})
	t.Run("not even connect", func(t *testing.T) {
		in(t, func(t *testing.T) {
			s := serving(t, nil)
			s.handler = upgraded(func(*websocket.Conn) { time.Sleep(time.Minute) })
			end, h := s.run(t.Context())
			wantEnd(t, end, ddp.End{Reason: healthcheck.Unreachable}, "did not say `connected`")
			wantAfter(t, h, 30*time.Second)
		})
	})
}

// The goodbye is bounded, whether or not anybody hears it (js.SDK#272).
func TestBoundedClose(t *testing.T) {
	in(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		s := serving(t, nil)
		s.handler = unread(t, func(p *peer) {
			p.say(`{"msg":"ping"}`) // a pong that is never read
			time.Sleep(5 * time.Second)
			cancel()
			time.Sleep(time.Minute)
		})
		end, h := s.run(ctx)
		wantEnd(t, end, ddp.End{Reason: healthcheck.Operator, Connected: true, Online: true})
		wantAfter(t, h, 6*time.Second)
	})
}

// A server that says why and hangs up is heard to the end, though a write to it
// has failed by then; one that says nothing more is not waited for.
func TestLastWordsAreHeard(t *testing.T) {
	nosub := `{"msg":"nosub","id":"sub-1","error":{"error":"too-many-requests","details":{"timeToReset":5000}}}`
	for name, c := range map[string]struct {
		last  func(*peer)
		want  ddp.End
		after time.Duration
	}{
		"a reason":  {func(p *peer) { p.say(nosub) }, ddp.End{Reason: healthcheck.RateLimited, RetryAfter: 5 * time.Second, Connected: true, Online: true}, 500 * time.Millisecond},
		"a hang-up": {func(p *peer) {}, ddp.End{Reason: healthcheck.Closed, Connected: true, Online: true}, 500 * time.Millisecond},
		"nothing":   {func(p *peer) { p.gone() }, ddp.End{Reason: healthcheck.Closed, Connected: true, Online: true}, time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			in(t, func(t *testing.T) {
				var conn *brittle
				s := serving(t, func(p *peer) {
					p.online()
					p.say(event("a"), `{"msg":"ping"}`)
					time.Sleep(500 * time.Millisecond)
					c.last(p)
				})
				s.wrap = func(c net.Conn) net.Conn { conn = &brittle{Conn: c}; return conn }
				s.onEvent = func(ddp.Event) { conn.broken.Store(true) }
				end, h := s.run(t.Context())
				wantEnd(t, end, c.want)
				wantAfter(t, h, c.after)
			})
		})
	}
}

// SetHealth holds at once, counted from the last frame.
func TestSetHealth(t *testing.T) {
	for name, c := range map[string]struct {
		at, silence, ping time.Duration
		asked, ended      time.Duration
	}{
		"shorter":               {5 * time.Second, 20 * time.Second, 10 * time.Second, 10 * time.Second, 20 * time.Second},
		"already over, asked":   {30 * time.Second, 20 * time.Second, 5 * time.Second, 25 * time.Second, 35 * time.Second},
		"already over, unasked": {24 * time.Second, 20 * time.Second, 5 * time.Second, 24 * time.Second, 29 * time.Second},
		"over in a moment":      {18 * time.Second, 20 * time.Second, 5 * time.Second, 18 * time.Second, 23 * time.Second},
		"over, and very short":  {24 * time.Second, 2 * time.Second, time.Second, 24 * time.Second, 26 * time.Second},
		"ping already due":      {15 * time.Second, 60 * time.Second, 5 * time.Second, 15 * time.Second, 60 * time.Second},
		"longer":                {5 * time.Second, 200 * time.Second, 100 * time.Second, 100 * time.Second, 200 * time.Second},
		"ping not shorter":      {5 * time.Second, 30 * time.Second, 30 * time.Second, 15 * time.Second, 30 * time.Second},
		"nothing: the defaults": {5 * time.Second, 0, 0, 25 * time.Second, 70 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			in(t, func(t *testing.T) {
				start := time.Now()
				var asked time.Duration
				s := serving(t, func(p *peer) {
					p.online()
					p.pingID()
					asked = time.Since(start)
					p.gone()
				})
				s.onReady = func(conn *ddp.Conn) { time.AfterFunc(c.at, func() { conn.SetHealth(c.silence, c.ping) }) }
				end, h := s.run(t.Context())
				wantEnd(t, end, silent)
				wantAfter(t, h, c.ended)
				if asked != c.asked {
					t.Errorf("asked after %s, want %s", asked, c.asked)
				}
			})
		})
	}
}

// A silence that is made shorter than what has passed ends no connection whose
// server answers.
func TestSetHealthEndsNothingThatLives(t *testing.T) {
	in(t, func(t *testing.T) {
		s := serving(t, func(p *peer) {
			p.online()
			for range 3 {
				p.say(`{"msg":"pong","id":"` + p.pingID() + `"}`)
			}
			p.say(event("a"))
		})
		s.onReady = func(conn *ddp.Conn) {
			time.AfterFunc(20*time.Second, func() { conn.SetHealth(10*time.Second, 5*time.Second) })
		}
		end, h := s.run(t.Context())
		wantEnd(t, end, ddp.End{Reason: healthcheck.Closed, Connected: true, Online: true})
		if len(h.events) != 1 {
			t.Errorf("%d events", len(h.events))
		}
		wantAfter(t, h, 30*time.Second) // asked at 20, 25 and 30
	})
}

// Calls are told and forgotten: at once on a socket that is ready (js.SDK#246),
// in order, one frame each, dropped when the server doesn't keep up, and
// harmless after the end.
func TestCall(t *testing.T) {
	t.Run("frames", func(t *testing.T) {
		in(t, func(t *testing.T) {
			s := serving(t, func(p *peer) {
				p.online()
				p.expect(`{"msg":"method","method":"stream-notify-room","id":"call-1","params":["GENERAL/user-activity","hermes",["user-typing"],{}]}`)
				p.expect(`{"msg":"method","method":"stream-notify-room","id":"call-2","params":["GENERAL/user-activity","hermes",[],{}]}`)
				p.expect(`{"msg":"method","method":"x","id":"call-3","params":[]}`)
				p.say(`{"msg":"result","id":"call-1","error":{"error":"too-many-requests","details":{"timeToReset":9856}}}`, `{"msg":"result","id":"call-2"}`, event("a"))
			})
			s.onReady = func(c *ddp.Conn) {
				ok := c.Call("stream-notify-room", "GENERAL/user-activity", "hermes", []string{"user-typing"}, struct{}{}) &&
					c.Call("stream-notify-room", "GENERAL/user-activity", "hermes", []string{}, struct{}{}) &&
					c.Call("x")
				if !ok {
					t.Error("a call was dropped")
				}
			}
			end, h := s.run(t.Context())
			wantEnd(t, end, ddp.End{Reason: healthcheck.Closed, Connected: true, Online: true})
			if len(h.events) != 1 {
				t.Error("a call's error ended the connection")
			}
			if h.conn.Call("x") {
				t.Error("a call was taken after the end")
			}
			h.conn.SetHealth(time.Second, time.Second)
		})
	})
	t.Run("dropped", func(t *testing.T) {
		in(t, func(t *testing.T) {
			s := serving(t, nil)
			s.handler = unread(t, func(p *peer) { time.Sleep(3 * time.Second); p.say(event("a")); time.Sleep(time.Minute) })
			taken := 0
			s.onReady = func(c *ddp.Conn) {
				for range 1000 {
					if c.Call("x") {
						taken++
					}
				}
				if c.Call("x", func() {}) || c.Call("x", strings.Repeat("x", 10_000)) {
					t.Error("nonsense was taken")
				}
			}
			_, h := s.run(t.Context())
			if taken < 32 || taken > 64 {
				t.Errorf("%d of 1000 calls were taken", taken)
			}
			if len(h.events) != 1 {
				t.Error("calls held up reading")
			}
		})
	})
}

var pingForm = regexp.MustCompile(`^p-[A-Z2-7]{8}-1$`)

// Two sockets never share a ping's id.
func TestPingIDsAreTheSockets(t *testing.T) {
	seen := make(map[string]bool)
	for range 5 {
		in(t, func(t *testing.T) {
			serving(t, func(p *peer) {
				p.online()
				id := p.pingID()
				if seen[id] || !pingForm.MatchString(id) {
					t.Errorf("ping %s", id)
				}
				seen[id] = true
			}).run(t.Context())
		})
	}
}
