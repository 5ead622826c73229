package ddp_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"rcsupervisor/channel/ddp"
	"rcsupervisor/healthcheck"
)

// A context's end is the connection's, at once, with the reason it carries.
func TestCancel(t *testing.T) {
	deaf := &ddp.End{Reason: healthcheck.Deaf, Err: errors.New("room X changed and was not heard of")}
	for stage, c := range map[string]struct {
		script  func(*peer)
		want    ddp.End
		goodbye bool
	}{
		"connecting":  {func(p *peer) {}, ddp.End{}, true},
		"logging in":  {func(p *peer) { p.greet() }, ddp.End{Connected: true}, true},
		"subscribing": {func(p *peer) { p.admit() }, ddp.End{Connected: true}, true},
		"online":      {func(p *peer) { p.online() }, ddp.End{Connected: true, Online: true}, true},
	} {
		for _, cause := range []error{nil, deaf, fmt.Errorf("checked: %w", deaf), errors.New("stop")} {
			t.Run(fmt.Sprintf("%s/%v", stage, cause), func(t *testing.T) {
				in(t, func(t *testing.T) {
					ctx, cancel := context.WithCancelCause(t.Context())
					time.AfterFunc(3*time.Second, func() { cancel(cause) })
					var bye error
					end, h := serving(t, func(p *peer) { c.script(p); bye = p.gone() }).run(ctx)
					want, says := c.want, "operator"
					want.Reason = healthcheck.Operator
					if errors.Is(cause, deaf) {
						want.Reason, says = healthcheck.Deaf, "deaf: room X changed"
					}
					wantEnd(t, end, want, says)
					wantAfter(t, h, 3*time.Second)
					if closeCode(bye) != websocket.CloseNormalClosure {
						t.Errorf("closed with %v", bye)
					}
					if deaf.Connected || deaf.Online {
						t.Error("the cause was written to")
					}
				})
			})
		}
	}
}

func TestCancelledBefore(t *testing.T) {
	in(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		end, h := serving(t, func(*peer) {}).run(ctx)
		wantEnd(t, end, ddp.End{Reason: healthcheck.Operator})
		wantAfter(t, h, 0)
	})
}

// However the server closes, the reason is the same: a close code never tells
// why (js.SDK#109), and none at all is normal (nginx, ergochat/ergo#1578).
func TestServerCloses(t *testing.T) {
	for _, code := range []int{0, 1000, 1001, 1002, 1005, 1007, 1011, 1012, 4000} {
		t.Run(fmt.Sprint(code), func(t *testing.T) {
			in(t, func(t *testing.T) {
				var bye error
				end, h := serving(t, func(p *peer) {
					p.online()
					time.Sleep(time.Minute)
					if code == 0 {
						return // as a server that is killed
					}
					p.ws.WriteControl(websocket.CloseMessage, websocket.FormatCloseMessage(code, "Normal\nclosure "+token), time.Now().Add(time.Second))
					bye = p.gone()
				}).run(t.Context())
				wantEnd(t, end, ddp.End{Reason: healthcheck.Closed, CloseCode: code, Connected: true, Online: true}, map[bool]string{true: "1006", false: fmt.Sprint(code)}[code == 0])
				wantAfter(t, h, time.Minute)
				if code > 0 && closeCode(bye) != code {
					t.Errorf("answered with %v", bye)
				}
				if strings.Contains(end.Error(), "\n") {
					t.Errorf("%q is not one line", end)
				}
			})
		})
	}
}

// Closed before `connected`: the server was there.
func TestServerClosesEarly(t *testing.T) {
	in(t, func(t *testing.T) {
		end, h := serving(t, func(p *peer) { p.expect(connect) }).run(t.Context())
		wantEnd(t, end, ddp.End{Reason: healthcheck.Closed}, "1006")
		wantAfter(t, h, 0)
	})
}

// A server that breaks the WebSocket protocol is dropped.
func TestBrokenWebSocket(t *testing.T) {
	for name, raw := range map[string][]byte{
		"reserved opcode":  {0x83, 0},
		"compressed frame": {0xc1, 1, 'x'},
		"masked frame":     {0x81, 0x80, 0, 0, 0, 0},
		"long ping":        {0x89, 126, 1, 0},
		"bad close code":   {0x88, 2, 0, 1},
		"negative length":  {0x81, 127, 0xff, 0, 0, 0, 0, 0, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			in(t, func(t *testing.T) {
				end, _ := serving(t, func(p *peer) {
					p.online()
					p.ws.NetConn().Write(raw)
					p.gone()
				}).run(t.Context())
				wantEnd(t, end, ddp.End{Reason: healthcheck.Dropped, Connected: true, Online: true})
			})
		})
	}
}

// A Handler that panics takes the connection with it and leaves nothing behind,
// which TestMain sees.
func TestHandlerPanics(t *testing.T) {
	in(t, func(t *testing.T) {
		defer func() {
			if r := recover(); r != "boom" {
				t.Errorf("recovered %v", r)
			}
		}()
		var bye error
		s := serving(t, func(p *peer) { p.online(); p.say(event("a")); bye = p.gone() })
		s.onEvent = func(ddp.Event) { panic("boom") }
		s.run(t.Context())
		t.Error("the panic was swallowed", bye)
	})
}
