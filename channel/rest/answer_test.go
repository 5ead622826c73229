package rest

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// What a server says that isn't HTTP isn't quoted: it could be anything, the
// token too.
func TestGarbageIsNotQuoted(t *testing.T) {
	for name, raw := range map[string]string{
		"no HTTP at all":      "SSH-2.0-" + testToken + "\r\n\r\n",
		"a bad header":        "HTTP/1.1 200 OK\r\n" + testToken + "\r\n\r\n",
		"a bad length":        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: " + testToken + "\r\n\r\n",
		"a bad chunk":         "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n" + testToken + "\r\n",
		"a bad status":        "HTTP/1.1 " + testToken + "\r\n\r\n",
		"a longer header":     "HTTP/1.1 200 OK\r\nX-A: " + strings.Repeat(testToken, 4000) + "\r\n\r\n",
		"a body that ends":    "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 500\r\n\r\n{\"a\":\"" + testToken,
		"nothing":             "",
		"half a header":       "HTTP/1.1 200 OK\r\nContent-Ty",
		"an odd encoding":     "HTTP/1.1 200 OK\r\nTransfer-Encoding: " + testToken + "\r\n\r\n",
		"compressed unasked":  "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Encoding: gzip\r\nContent-Length: 2\r\n\r\n{}",
		"a switch of protcol": "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n" + testToken,
	} {
		t.Run(name, func(t *testing.T) {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			var wg sync.WaitGroup
			wg.Go(func() {
				for {
					conn, err := l.Accept()
					if err != nil {
						return
					}
					io.ReadAtLeast(conn, make([]byte, 4096), 1)
					io.WriteString(conn, raw)
					conn.(*net.TCPConn).CloseWrite()
					io.Copy(io.Discard, conn)
					conn.Close()
				}
			})
			b := &backend{url: "http://" + l.Addr().String()}
			c := b.client(t, nil)
			_, err = c.SendMessage(t.Context(), Outgoing{ID: "m1", Room: "r1", Text: "what Alice wrote"})
			if _, ok := failed(err); !ok {
				t.Fatalf("got %v", err)
			}
			showsNothing(t, err, raw)
			c.Close()
			l.Close()
			wg.Wait()
		})
	}
}

func TestTheCallersContextComesFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _, _, stop := bubble(t, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, nil)
		defer stop()
		for _, call := range everyCall {
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
			start := time.Now()
			err := call.make(ctx, c)
			cancel()
			if !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != 5*time.Second {
				t.Errorf("%s: %v after %v", call.name, err, time.Since(start))
			}
			if !strings.HasPrefix(err.Error(), call.route+": ") {
				t.Errorf("%s: %v names no route", call.name, err)
			}
		}
	})
}

// A server that takes the call and never answers: 30 s, and not 30 s three
// times.
func TestNoAnswerInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, b, _, stop := bubble(t, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, nil)
		defer stop()
		for _, call := range everyCall {
			before, start := b.count(), time.Now()
			e := mustBe(t, call.make(t.Context(), c), ErrUnavailable)
			if took := time.Since(start); took != 30*time.Second {
				t.Errorf("%s: after %v", call.name, took)
			}
			if n := b.count() - before; n != 1 {
				t.Errorf("%s: asked %d times", call.name, n)
			}
			if !strings.HasSuffix(e.Error(), " in time") {
				t.Errorf("%s: %v", call.name, e)
			}
		}
	})
}

// RATE_LIMITER_SLOWDOWN_RATE: a server that sleeps before it answers is waited
// for.
func TestASlowServerIsWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _, _, stop := bubble(t, func(w http.ResponseWriter, r *http.Request) {
			time.Sleep(25 * time.Second)
			meOK(w, r)
		}, nil)
		defer stop()
		if _, err := c.Me(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// A body that trickles is cut off by the call's time, however lively it is.
func TestATricklingBody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _, _, stop := bubble(t, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", asJSON)
			io.WriteString(w, `{"success":true,"a":"`)
			for r.Context().Err() == nil {
				io.WriteString(w, "x")
				w.(http.Flusher).Flush()
				time.Sleep(time.Second)
			}
		}, nil)
		defer stop()
		start := time.Now()
		_, err := c.Message(t.Context(), "m1")
		mustBe(t, err, ErrUnavailable)
		if took := time.Since(start); took > 31*time.Second {
			t.Errorf("after %v", took)
		}
	})
}

func TestBodiesAreBounded(t *testing.T) {
	endless := func(status int) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", asJSON)
			w.WriteHeader(status)
			io.WriteString(w, `{"success":true,"a":"`)
			chunk := []byte(strings.Repeat("x", 64<<10))
			for r.Context().Err() == nil {
				if _, err := w.Write(chunk); err != nil {
					return
				}
			}
		}
	}
	for _, c := range []struct {
		name   string
		answer http.HandlerFunc
		kind   Kind
	}{
		{"endless", endless(200), ErrTooLarge},
		{"announced", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", asJSON)
			w.Header().Set("Content-Length", "99999999999")
			io.WriteString(w, `{"success":true`)
		}, ErrTooLarge},
		{"an endless refusal", endless(400), ErrNotJSON},
		{"an endless 401", endless(401), ErrNotJSON},
		{"an endless 500", endless(500), ErrUnavailable},
		{"an endless 429", endless(429), ErrRateLimited},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := secure(t, c.answer)
			err := once(t.Context(), b.client(t, nil), RouteSend)
			mustBe(t, err, c.kind)
			if refused, _ := b.client(t, nil).Refusal(t.Context()); refused {
				t.Error("taken for a refusal")
			}
		})
	}
}

// A list may be larger than another answer.
func TestALongHistoryFits(t *testing.T) {
	long := `{"messages":[{"_id":"a","rid":"r","msg":"` + strings.Repeat("x", 3<<20) + `"}],"success":true}`
	b := secure(t, says(200, asJSON, long))
	c := b.client(t, nil)
	got, err := c.History(t.Context(), HistoryQuery{Kind: "c", Room: "r"})
	if err != nil || len(got) != 1 || len(got[0].Text) != 3<<20 {
		t.Fatalf("%d messages, %v", len(got), err)
	}
	_, err = c.Message(t.Context(), "a")
	mustBe(t, err, ErrTooLarge)
}
