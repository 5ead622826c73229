package ddp_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"rcsupervisor/channel/ddp"
	"rcsupervisor/channel/dial"
	"rcsupervisor/healthcheck"
	"rcsupervisor/sealed"
)

// An answer other than a WebSocket's: the server, or what stands before it, is
// not ready (hubot-rocketchat#131, RC#22292, matterbridge#2089), asks for time,
// or points elsewhere, where the token never goes.
func TestHandshakeAnswers(t *testing.T) {
	unreachable := ddp.End{Reason: healthcheck.Unreachable}
	limited := func(d time.Duration) ddp.End { return ddp.End{Reason: healthcheck.RateLimited, RetryAfter: d} }
	status := func(code int, headers ...string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			for i := 0; i < len(headers); i += 2 {
				w.Header().Set(headers[i], headers[i+1])
			}
			w.WriteHeader(code)
			io.WriteString(w, "<html>"+token)
		}
	}
	raw := func(answer string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			conn, _, err := http.NewResponseController(w).Hijack()
			if err != nil {
				t.Error(err)
				return
			}
			defer conn.Close()
			io.WriteString(conn, answer)
		}
	}
	day := "Sat, 01 Jan 2000 00:00:00 GMT" // when bubbles begin
	for name, c := range map[string]struct {
		handler http.HandlerFunc
		want    ddp.End
		says    string
	}{
		"502":                 {status(502), unreachable, "answers the WebSocket handshake with 502 Bad Gateway"},
		"503":                 {status(503, "Retry-After", "60"), unreachable, "503 Service Unavailable"},
		"a page":              {status(200), unreachable, "200 OK"},
		"404":                 {status(404), unreachable, "404 Not Found"},
		"401 of a proxy":      {status(401), unreachable, "401 Unauthorized"},
		"403 of a firewall":   {status(403), unreachable, "403 Forbidden"},
		"a redirect":          {status(302, "Location", "https://evil.example/websocket?q="+token), unreachable, "redirects to https://evil.example, which is not followed; try: sealing"},
		"a redirect, at home": {status(301, "Location", "/rc/websocket"), unreachable, "redirects to http://chat.example.org"},
		"a redirect nowhere":  {status(307), unreachable, "not followed"},
		"an odd redirect":     {status(308, "Location", "http://[::1/%zz"), unreachable, "redirects to elsewhere"},
		"429, unnamed":        {status(429), limited(10 * time.Second), "429 Too Many Requests"},
		"429, seconds":        {status(429, "Retry-After", "21"), limited(21 * time.Second), "429"},
		"429, a date":         {status(429, "Retry-After", "Sat, 01 Jan 2000 00:01:00 GMT", "Date", day), limited(time.Minute), "429"},
		"429, a past date":    {status(429, "Retry-After", "Sat, 01 Jan 1999 00:01:00 GMT", "Date", day), limited(time.Second), "429"},
		"429, for a day":      {status(429, "Retry-After", "86400"), limited(15 * time.Minute), "429"},
		"429, Rocket.Chat":    {status(429, "X-RateLimit-Reset", fmt.Sprint(946684800_000+34_000), "Date", day), limited(34 * time.Second), "429"},
		"101 without accept":  {raw("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n"), unreachable, "is not one"},
		"another protocol":    {raw("SSH-2.0-OpenSSH_9.9\r\n\r\n"), unreachable, "malformed HTTP"},
		"nothing":             {raw(""), unreachable, "EOF"},
		"a header too large":  {raw("HTTP/1.1 101 Switching Protocols\r\nX: " + strings.Repeat("x", 1<<20)), unreachable, "over 64 KiB"},
		"headers too many":    {raw("HTTP/1.1 101 Switching Protocols\r\n" + strings.Repeat("X: y\r\n", 1<<17)), unreachable, "over 64 KiB"},
	} {
		t.Run(name, func(t *testing.T) {
			in(t, func(t *testing.T) {
				s := &server{handler: c.handler}
				end, h := s.run(t.Context())
				wantEnd(t, end, c.want, c.says)
				wantAfter(t, h, 0)
				if s.dials != 1 || len(h.lines) > 0 {
					t.Errorf("%d dials, handler told %v", s.dials, h.lines)
				}
			})
		})
	}
}

// A server that compresses though it wasn't asked to would pass the bound on
// the size of frames: 1 MiB of them holds a gigabyte.
func TestUnaskedExtension(t *testing.T) {
	in(t, func(t *testing.T) {
		s := &server{handler: func(w http.ResponseWriter, r *http.Request) {
			r.Header.Set("Sec-Websocket-Extensions", "permessage-deflate; server_no_context_takeover; client_no_context_takeover")
			up := websocket.Upgrader{EnableCompression: true}
			ws, err := up.Upgrade(w, r, nil)
			if err != nil {
				t.Error(err)
				return
			}
			defer ws.Close()
			ws.ReadMessage()
		}}
		end, _ := s.run(t.Context())
		wantEnd(t, end, ddp.End{Reason: healthcheck.Unreachable}, "extension that was not offered")
	})
}

// Whatever hangs before `connected` is unreachable at the deadline, or what the
// context says as soon as it is done.
func TestHangsBeforeTheSocket(t *testing.T) {
	hang := func(ctx context.Context, _, _ string) (net.Conn, error) { <-ctx.Done(); return nil, ctx.Err() }
	for name, c := range map[string]struct {
		handler http.HandlerFunc
		change  func(*ddp.Config)
		after   time.Duration
	}{
		"dial":   {nil, func(c *ddp.Config) { c.Deadline = 10 * time.Second; c.Network = &dial.Network{DialContext: hang} }, 10 * time.Second},
		"answer": {func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, func(*ddp.Config) {}, 30 * time.Second},
		"half an answer": {func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Length", "100")
			w.WriteHeader(502)
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		}, func(*ddp.Config) {}, 30 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			in(t, func(t *testing.T) {
				end, h := (&server{handler: c.handler}).run(t.Context(), c.change)
				wantEnd(t, end, ddp.End{Reason: healthcheck.Unreachable})
				wantAfter(t, h, c.after)
			})
			in(t, func(t *testing.T) {
				ctx, cancel := context.WithCancelCause(t.Context())
				time.AfterFunc(2*time.Second, func() { cancel(&ddp.End{Reason: healthcheck.Reload}) })
				end, h := (&server{handler: c.handler}).run(ctx, c.change)
				wantEnd(t, end, ddp.End{Reason: healthcheck.Reload})
				wantAfter(t, h, 2*time.Second)
			})
		})
	}
}

// A dial that fails is unreachable and says why; what can't be dialled at all
// is the configuration's.
func TestDialFails(t *testing.T) {
	refused := errors.New("connection refused")
	for name, c := range map[string]struct {
		change func(*ddp.Config)
		want   healthcheck.Reason
		says   string
	}{
		"refused": {func(c *ddp.Config) {
			c.Network = &dial.Network{DialContext: func(context.Context, string, string) (net.Conn, error) { return nil, refused }}
		}, healthcheck.Unreachable, "connection refused"},
		"a bad proxy": {func(c *ddp.Config) { c.Network = &dial.Network{Proxy: "socks5://x"} }, healthcheck.BadConfig, "proxy in channel.yaml"},
		"a bad CA":    {func(c *ddp.Config) { c.Network = &dial.Network{CAFile: []byte("x")} }, healthcheck.BadConfig, "tls.ca_file in channel.yaml"},
		"no server":   {func(c *ddp.Config) { c.Server = "" }, healthcheck.BadConfig, "sealed server"},
		"no host":     {func(c *ddp.Config) { c.Server = "https:///x" }, healthcheck.BadConfig, "sealed server"},
		"ws":          {func(c *ddp.Config) { c.Server = "wss://chat.example.org" }, healthcheck.BadConfig, "sealed server"},
		"credentials": {func(c *ddp.Config) { c.Server = "https://u:p@chat.example.org" }, healthcheck.BadConfig, "sealed server"},
		"a query":     {func(c *ddp.Config) { c.Server = "https://chat.example.org?x" }, healthcheck.BadConfig, "sealed server"},
		"no user":     {func(c *ddp.Config) { c.UserID = "" }, healthcheck.BadConfig, "no user id"},
		"no token":    {func(c *ddp.Config) { c.Token = sealed.Secret{} }, healthcheck.BadConfig, "no token"},
	} {
		t.Run(name, func(t *testing.T) {
			in(t, func(t *testing.T) {
				end, _ := (&server{}).run(t.Context(), c.change)
				wantEnd(t, end, ddp.End{Reason: c.want}, c.says)
				if name == "refused" && !errors.Is(end, refused) {
					t.Error("the dial's error is not wrapped")
				}
			})
		})
	}
}

// Base paths are kept, and the request is the server's own: its host, no
// credentials, nothing compressed.
func TestHandshakeRequest(t *testing.T) {
	for server, want := range map[string]string{
		"http://chat.example.org":             "chat.example.org /websocket",
		"http://chat.example.org/rc":          "chat.example.org /rc/websocket",
		"http://chat.example.org:3000/a/b%20": "chat.example.org:3000 /a/b%20/websocket",
		"http://[fd00::1]:3000":               "[fd00::1]:3000 /websocket",
	} {
		in(t, func(t *testing.T) {
			var got string
			srv := serving(t, func(p *peer) { p.online() })
			next := srv.handler
			srv.handler = func(w http.ResponseWriter, r *http.Request) {
				got = r.Host + " " + r.RequestURI
				if h := fmt.Sprint(r.Header); strings.Contains(h, token) || strings.Contains(h, bot) || r.Header.Get("Sec-Websocket-Extensions") != "" {
					t.Errorf("the handshake says %s", h)
				}
				next(w, r)
			}
			end, _ := srv.run(t.Context(), func(c *ddp.Config) { c.Server = server })
			wantEnd(t, end, ddp.End{Reason: healthcheck.Closed, Connected: true, Online: true})
			if got != want {
				t.Errorf("asked for %s, want %s", got, want)
			}
		})
	}
}

// A server that says the token back wherever it can has it shown nowhere.
func TestTokenIsNeverShown(t *testing.T) {
	for name, last := range map[string]func(p *peer){
		"login": func(p *peer) {
			p.say(`{"msg":"result","id":"login-1","error":{"error":"` + token + `","reason":"` + token + `"}}`)
		},
		"refuse": func(p *peer) { p.say(`{"msg":"result","id":"login-1","error":{"error":403,"reason":"` + token + `"}}`) },
		"id":     func(p *peer) { p.say(`{"msg":"result","id":"login-1","result":{"id":"` + token + `"}}`) },
		"nosub": func(p *peer) {
			p.say(loggedIn, ready, `{"msg":"nosub","id":"sub-1","error":{"error":"x","reason":"\u001b[31m`+strings.Repeat(" ", 150)+token+`"}}`)
		},
		"error": func(p *peer) { p.say(`{"msg":"error","reason":"`+token+`"}`, token, `{"msg":"`+token+`"}`) },
		"close": func(p *peer) {
			p.ws.WriteControl(websocket.CloseMessage, websocket.FormatCloseMessage(4000, token), time.Now().Add(time.Second))
		},
	} {
		t.Run(name, func(t *testing.T) {
			in(t, func(t *testing.T) {
				var logs bytes.Buffer
				end, _ := serving(t, func(p *peer) { p.greet(); last(p) }).run(t.Context(), func(c *ddp.Config) {
					c.Log = slog.New(slog.NewJSONHandler(&logs, &slog.HandlerOptions{Level: slog.LevelDebug}))
				})
				for what, text := range map[string]string{"error": end.Error(), "%+v": fmt.Sprintf("%+v %#v", end, end), "log": logs.String()} {
					for _, part := range []string{token, token[:12]} {
						if strings.Contains(text, part) {
							t.Errorf("the %s shows it: %s", what, text)
						}
					}
					if strings.Contains(text, "\x1b") {
						t.Errorf("the %s holds a control character", what)
					}
				}
				if len(end.Error()) > 400 {
					t.Errorf("%d bytes of error", len(end.Error()))
				}
			})
		})
	}
}
