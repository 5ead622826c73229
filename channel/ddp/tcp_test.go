package ddp_test

import (
	"context"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/gorilla/websocket"

	"rcsupervisor/channel/ddp"
	"rcsupervisor/channel/dial"
	"rcsupervisor/healthcheck"
	"rcsupervisor/sealed"
)

// secure serves script over TLS at /rc/websocket, and returns what reaches it.
func secure(t *testing.T, script func(*peer)) ddp.Config {
	mux := http.NewServeMux()
	mux.Handle("/rc/websocket", serving(t, script).handler)
	s := httptest.NewUnstartedServer(mux)
	s.EnableHTTP2 = true
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.StartTLS()
	t.Cleanup(s.Close)
	ca := pemOf(s)
	return ddp.Config{Server: s.URL + "/rc", UserID: bot, Token: sealed.NewSecret(token), Network: &dial.Network{CAFile: ca}}
}

// pemOf returns the certificate of a TLS server, which is its own authority.
func pemOf(s *httptest.Server) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
}

func TestOverTLS(t *testing.T) {
	cfg := secure(t, func(p *peer) {
		p.online()
		p.say(event("a"), `{"msg":"ping","id":"1"}`)
		p.expect(`{"msg":"pong","id":"1"}`)
		p.ws.WriteControl(websocket.CloseMessage, websocket.FormatCloseMessage(1000, "Normal closure"), t0(p).AddDate(1000, 0, 0))
		if err := p.gone(); closeCode(err) != 1000 {
			t.Errorf("answered with %v", err)
		}
	})
	for range 3 { // every new socket logs in anew
		h := &told{}
		end := ddp.Run(t.Context(), cfg, h)
		wantEnd(t, end, ddp.End{Reason: healthcheck.Closed, CloseCode: 1000, Connected: true, Online: true}, "1000 Normal closure")
		if fmt.Sprint(h.lines) != "[connected ready event a]" {
			t.Error(h.lines)
		}
	}
}

func TestCertificateIsNotBelieved(t *testing.T) {
	cfg := secure(t, func(p *peer) { t.Error("was spoken to") })
	cfg.Network = nil
	end := ddp.Run(t.Context(), cfg, &told{})
	wantEnd(t, end, ddp.End{Reason: healthcheck.Unreachable}, "unknown authority", "tls.ca_file")
}

// Frames up to 4 MiB are taken, one byte more ends the connection by name, in
// one WebSocket frame or in many.
func TestFrameBound(t *testing.T) {
	frame := func(size int) string {
		rest := `{"msg":"changed","collection":"stream-room-messages","fields":{"eventName":"__my_messages__","args":["` + `"]}}`
		return strings.Replace(rest, `""`, `"`+strings.Repeat("x", size-len(rest))+`"`, 1)
	}
	pieces := func(p *peer, s string) {
		w, err := p.ws.NextWriter(websocket.TextMessage)
		for ; err == nil && s != ""; s = s[min(len(s), 1000):] {
			_, err = io.WriteString(w, s[:min(len(s), 1000)])
			if f, ok := w.(interface{ Flush() error }); ok && err == nil {
				err = f.Flush()
			}
		}
		if err == nil {
			w.Close()
		}
	}
	whole := func(p *peer, s string) { p.say(s) }
	const bound = 4 << 20
	for name, c := range map[string]struct {
		say  func(*peer, string)
		size int
		want ddp.End
		says string
	}{
		"as large as may be": {whole, bound, ddp.End{Reason: healthcheck.Closed, Connected: true, Online: true}, ""},
		"a byte more":        {whole, bound + 1, ddp.End{Reason: healthcheck.Dropped, Connected: true, Online: true}, "over the bound of 4194304 bytes"},
		"in pieces":          {pieces, bound + 1, ddp.End{Reason: healthcheck.Dropped, Connected: true, Online: true}, "over the bound of 4194304 bytes"},
		"5 MiB":              {whole, 5 << 20, ddp.End{Reason: healthcheck.Dropped, Connected: true, Online: true}, "over the bound"},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := secure(t, func(p *peer) {
				p.online()
				c.say(p, frame(c.size))
				if c.want.Reason == healthcheck.Dropped {
					p.gone()
				}
			})
			h := &told{}
			end := ddp.Run(t.Context(), cfg, h)
			wantEnd(t, end, c.want, c.says)
			if heard := len(h.events) == 1; heard != (c.size <= bound) {
				t.Errorf("%d events", len(h.events))
			}
		})
	}
}

// A server that is killed resets the connection.
func TestReset(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &http.Server{Handler: upgraded(func(ws *websocket.Conn) {
		follow(t, ws, func(p *peer) {
			p.online()
			p.say(event("a"))
			ws.NetConn().(*net.TCPConn).SetLinger(0)
		})
	})}
	served := make(chan struct{})
	go func() { defer close(served); s.Serve(l) }()
	defer func() { s.Close(); <-served }()
	end := ddp.Run(t.Context(), ddp.Config{Server: "http://" + l.Addr().String(), UserID: bot, Token: sealed.NewSecret(token)}, &told{})
	if end.Reason != healthcheck.Closed {
		t.Error(end)
	}
}

// Many bots on one server, in one process: each hears its own, and one whose
// token is refused costs the others nothing (matterbridge#1645, hermes#31367).
// While they are quiet each costs the goroutine that called Run, and no other.
func TestManyAtOnce(t *testing.T) {
	const bots = 40
	var all sync.WaitGroup
	all.Add(bots - 1)
	cfg := secure(t, func(p *peer) {
		p.expect(connect)
		p.say(connected)
		_, rest, _ := strings.Cut(p.next(), `"resume":"token-`)
		id, _, _ := strings.Cut(rest, `"`)
		if id == "0" {
			p.say(`{"msg":"result","id":"login-1","error":{"error":403,"reason":"no"}}`)
			p.gone()
			return
		}
		p.say(`{"msg":"result","id":"login-1","result":{"id":"bot-` + id + `"}}`)
		p.expect(sub)
		p.say(ready, event("for-"+id))
		p.gone()
	})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ends := make([]*ddp.End, bots)
	heard := make([]*told, bots)
	var wg sync.WaitGroup
	for i := range bots {
		mine := cfg
		mine.UserID, mine.Token = fmt.Sprintf("bot-%d", i), sealed.NewSecret(fmt.Sprintf("token-%d", i))
		heard[i] = &told{onEvent: func(ddp.Event) { all.Done() }}
		wg.Go(func() { ends[i] = ddp.Run(ctx, mine, heard[i]) })
	}
	all.Wait()
	if n := settled("rcsupervisor/channel/ddp.Run(", bots-1); n != bots-1 {
		t.Errorf("%d goroutines read", n)
	}
	if n := settled("rcsupervisor/channel/ddp.(*Conn).write(", 0); n != 0 {
		t.Errorf("%d goroutines write though nothing is to be written", n)
	}
	cancel()
	wg.Wait()
	for i, end := range ends {
		want := healthcheck.Operator
		if i == 0 {
			want = healthcheck.Refused
		} else if got := fmt.Sprint(heard[i].lines); got != fmt.Sprintf("[connected ready event for-%d]", i) {
			t.Errorf("bot %d: %s", i, got)
		}
		if end.Reason != want {
			t.Errorf("bot %d: %s", i, end)
		}
	}
}

// settled returns how many goroutines run the function, once that is want, or
// after some tries.
func settled(function string, want int) (n int) {
	b := make([]byte, 4<<20)
	for range 1000 {
		n = 0
		for g := range strings.SplitSeq(string(b[:runtime.Stack(b, true)]), "\n\n") {
			if strings.Contains(g, function) {
				n++
			}
		}
		if n == want {
			return n
		}
		runtime.Gosched()
	}
	return n
}
