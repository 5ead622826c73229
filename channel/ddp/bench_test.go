package ddp_test

import (
	"bufio"
	"context"
	"encoding/json"
	"net"
	"net/http/httptest"
	neturl "net/url"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/gorilla/websocket"

	"rcsupervisor/channel/ddp"
	"rcsupervisor/channel/dial"
	"rcsupervisor/sealed"
)

// BenchmarkEvent is one event from a server's write to the Handler, over
// loopback; what the server does is counted too. The baseline is the bare
// WebSocket with encoding/json behind it.
func BenchmarkEvent(b *testing.B) {
	text := strings.Replace(event("a"), `{"_id":"a"}`, `{"_id":"a","rid":"GENERAL","msg":"`+strings.Repeat("words ", 150)+`","u":{"_id":"u","username":"alice"}}`, 1)
	prepared, err := websocket.NewPreparedMessage(websocket.TextMessage, []byte(text))
	if err != nil {
		b.Fatal(err)
	}
	flood := func(b *testing.B) (string, func()) {
		s := httptest.NewServer(upgraded(func(ws *websocket.Conn) {
			for _, answer := range []string{connected, loggedIn, ready} {
				ws.ReadMessage()
				ws.WriteMessage(websocket.TextMessage, []byte(answer))
			}
			for ws.WritePreparedMessage(prepared) == nil {
			}
		}))
		b.ReportAllocs()
		b.SetBytes(int64(len(text)))
		return s.URL, s.Close
	}
	b.Run("ours", func(b *testing.B) {
		url, stop := flood(b)
		defer stop()
		ctx, cancel := context.WithCancel(context.Background())
		n := 0
		h := &counting{event: func() {
			if n++; n == b.N {
				cancel()
			}
		}}
		ddp.Run(ctx, ddp.Config{Server: url, UserID: bot, Token: sealed.NewSecret(token)}, h)
	})
	b.Run("bare", func(b *testing.B) {
		url, stop := flood(b)
		defer stop()
		ws, _, err := websocket.DefaultDialer.Dial(strings.Replace(url, "http", "ws", 1)+"/websocket", nil)
		if err != nil {
			b.Fatal(err)
		}
		defer ws.Close()
		for range 3 {
			ws.WriteMessage(websocket.TextMessage, []byte("{}"))
			ws.ReadMessage()
		}
		for range b.N {
			var f struct {
				Msg, Collection string
				Fields          struct {
					EventName string
					Args      []json.RawMessage
				}
			}
			if err := ws.ReadJSON(&f); err != nil {
				b.Fatal(err)
			}
		}
	})
}

type counting struct{ ready, event func() }

func (c *counting) Connected()      {}
func (c *counting) Ready(*ddp.Conn) { call(c.ready) }
func (c *counting) Event(ddp.Event) { call(c.event) }

func call(f func()) {
	if f != nil {
		f()
	}
}

// BenchmarkQuiet is what a quiet connection over TLS holds of this process's
// memory; the server is another process. The baseline is gorilla's default
// client with a goroutine that reads. Run it with -benchtime 1x.
func BenchmarkQuiet(b *testing.B) {
	const conns = 500
	measure := func(b *testing.B, open func(url string, ca []byte) (stop func())) {
		url, ca, end := elsewhere(b)
		defer end()
		before := private(b)
		stop := open(url, ca)
		b.ReportMetric(float64(private(b)-before)/conns/1024, "kB/conn")
		b.ReportMetric(0, "ns/op")
		stop()
	}
	b.Run("ours", func(b *testing.B) {
		measure(b, func(url string, ca []byte) func() {
			ctx, cancel := context.WithCancel(context.Background())
			var wg, online sync.WaitGroup
			online.Add(conns)
			for range conns {
				n := &dial.Network{CAFile: ca} // as many as there are profiles
				wg.Go(func() {
					ddp.Run(ctx, ddp.Config{Server: url, UserID: bot, Token: sealed.NewSecret(token), Network: n}, &counting{ready: online.Done})
				})
			}
			online.Wait()
			return func() { cancel(); wg.Wait() }
		})
	})
	b.Run("bare", func(b *testing.B) {
		measure(b, func(url string, ca []byte) func() {
			n := &dial.Network{CAFile: ca}
			to, err := neturl.Parse(url)
			if err != nil {
				b.Fatal(err)
			}
			var wg sync.WaitGroup
			var open []*websocket.Conn
			for range conns {
				u := strings.Replace(url, "https", "wss", 1) + "/websocket"
				d := websocket.Dialer{NetDialTLSContext: func(ctx context.Context, _, _ string) (net.Conn, error) { return n.Dial(ctx, to) }}
				ws, _, err := d.Dial(u, nil)
				if err != nil {
					b.Fatal(err)
				}
				for range 3 {
					ws.WriteMessage(websocket.TextMessage, []byte("{}"))
					ws.ReadMessage()
				}
				open = append(open, ws)
				wg.Go(func() { ws.ReadMessage() })
			}
			return func() {
				for _, ws := range open {
					ws.Close()
				}
				wg.Wait()
			}
		})
	})
}

// private returns this process's private memory after some collections, each of
// which halves the stacks that a TLS handshake has made large.
func private(b *testing.B) int64 {
	for range 5 {
		runtime.GC()
	}
	debug.FreeOSMemory()
	f, err := os.Open("/proc/self/smaps_rollup")
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if rest, ok := strings.CutPrefix(lines.Text(), "Private_Dirty:"); ok {
			kb, err := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(rest, "kB")), 10, 64)
			if err != nil {
				b.Fatal(err)
			}
			return kb << 10
		}
	}
	b.Fatal("no Private_Dirty")
	return 0
}

const serveHere = "DDP_BENCHMARK_SERVES"

// elsewhere runs this test binary once more, as a server over TLS.
func elsewhere(b *testing.B) (url string, ca []byte, end func()) {
	cmd := exec.Command(os.Args[0], "-test.run=^TestServeForBenchmark$")
	cmd.Env = append(os.Environ(), serveHere+"=1")
	cmd.Stderr = os.Stderr
	stop, err := cmd.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	var said struct {
		URL string
		CA  []byte
	}
	if err := json.NewDecoder(out).Decode(&said); err != nil {
		b.Fatal(err)
	}
	return said.URL, said.CA, func() { stop.Close(); cmd.Wait() }
}

// TestServeForBenchmark is the server's process of BenchmarkQuiet; in any other
// it has nothing to do.
func TestServeForBenchmark(t *testing.T) {
	if os.Getenv(serveHere) == "" {
		return
	}
	s := httptest.NewTLSServer(upgraded(func(ws *websocket.Conn) {
		for _, answer := range []string{connected, loggedIn, ready} {
			ws.ReadMessage()
			ws.WriteMessage(websocket.TextMessage, []byte(answer))
		}
		ws.ReadMessage()
	}))
	json.NewEncoder(os.Stdout).Encode(map[string]any{"URL": s.URL, "CA": pemOf(s)})
	os.Stdin.Read(make([]byte, 1)) // until the benchmark closes it
	s.CloseClientConnections()
	s.Close()
}
