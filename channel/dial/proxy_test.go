package dial_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"rcsupervisor/channel/dial"
)

// A connectProxy tunnels, as real ones do, for whoever gives the password.
type connectProxy struct {
	user, password string
	tunnels        atomic.Int64
}

func (p *connectProxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	want := "Basic " + base64.StdEncoding.EncodeToString([]byte(p.user+":"+p.password))
	switch {
	case r.Method != http.MethodConnect:
		http.Error(w, "CONNECT only", http.StatusMethodNotAllowed)
		return
	case p.user != "" && r.Header.Get("Proxy-Authorization") != want:
		w.Header().Set("Proxy-Authenticate", "Basic")
		http.Error(w, "who are you", http.StatusProxyAuthRequired)
		return
	}
	to, err := net.Dial("tcp", r.Host)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	defer to.Close()
	from, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	defer from.Close()
	p.tunnels.Add(1)
	io.WriteString(from, "HTTP/1.1 200 Connection established\r\n\r\n")
	back := make(chan struct{})
	go func() {
		defer close(back)
		io.Copy(from, to)
		from.Close()
	}()
	io.Copy(to, buffered)
	to.Close()
	<-back
}

func proxied(t *testing.T, p *connectProxy) string {
	s := httptest.NewServer(p)
	t.Cleanup(s.Close)
	return strings.TrimPrefix(s.URL, "http://")
}

func TestProxyTunnels(t *testing.T) {
	secure, ca := tlsServer(t, nil)
	plain := plainServer(t)
	p := &connectProxy{user: "bot", password: "p@ss:word/ü"}
	addr := proxied(t, p)
	login := url.UserPassword(p.user, p.password).String()

	over := httptest.NewUnstartedServer(p)
	over.StartTLS()
	t.Cleanup(over.Close)
	overCA := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: over.Certificate().Raw})

	for name, c := range map[string]struct {
		network *dial.Network
		server  *url.URL
	}{
		"to http":             {&dial.Network{Proxy: "http://" + login + "@" + addr}, plain},
		"to https":            {&dial.Network{Proxy: "http://" + login + "@" + addr + "/", CAFile: ca}, secure},
		"over https to http":  {&dial.Network{Proxy: "https://" + login + "@" + over.Listener.Addr().String(), CAFile: overCA}, plain},
		"over https to https": {&dial.Network{Proxy: "https://" + login + "@" + over.Listener.Addr().String(), CAFile: append(overCA, ca...)}, secure},
	} {
		t.Run(name, func(t *testing.T) {
			before := p.tunnels.Load()
			body, err := get(t, c.network, c.server)
			if err != nil || body != "hello over HTTP/1.1" {
				t.Fatalf("got %q, %v", body, err)
			}
			if p.tunnels.Load() != before+1 {
				t.Error("the proxy was passed by")
			}
		})
	}
}

func TestProxyStandsInTheWay(t *testing.T) {
	addr := proxied(t, &connectProxy{user: "bot", password: "right"})
	untrusted := httptest.NewUnstartedServer(&connectProxy{})
	untrusted.Config.ErrorLog = nopLog()
	untrusted.StartTLS()
	t.Cleanup(untrusted.Close)
	closed := "127.0.0.1:1"

	for name, c := range map[string]struct {
		proxy, server string
		status        int
		says          string
	}{
		"no credentials":     {"http://" + addr, "http://127.0.0.1:1", 407, "asks for a user and password (407)"},
		"wrong credentials":  {"http://bot:hunter2@" + addr, "http://127.0.0.1:1", 407, "asks for a user and password (407)"},
		"server not reached": {"http://bot:right@" + addr, "http://127.0.0.1:1", 502, "refuses the connection: 502 Bad Gateway"},
		"proxy not there":    {"http://bot:hunter2@" + closed, "http://127.0.0.1:2", 0, "proxy 127.0.0.1:1: dial tcp 127.0.0.1:1"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := get(t, &dial.Network{Proxy: c.proxy}, parse(t, c.server))
			var refused *dial.ProxyError
			if !errors.As(err, &refused) || refused.Status != c.status || !strings.Contains(err.Error(), c.says) {
				t.Fatalf("got %v, want status %d saying %q", err, c.status, c.says)
			}
			showsNo(t, err, "hunter2", "right", "Basic")
		})
	}
	t.Run("proxy not believed", func(t *testing.T) {
		_, err := get(t, &dial.Network{Proxy: "https://bot:hunter2@" + untrusted.Listener.Addr().String()}, parse(t, "http://127.0.0.1:1"))
		var certificate *dial.CertificateError
		if !errors.As(err, &certificate) || certificate.Key != "proxy" || !strings.Contains(err.Error(), "certificate of proxy 127.0.0.1") {
			t.Fatal(err)
		}
		showsNo(t, err, "hunter2")
	})
}

func showsNo(t *testing.T, err error, secrets ...string) {
	t.Helper()
	for _, s := range secrets {
		for e := err; e != nil; e = errors.Unwrap(e) {
			if strings.Contains(e.Error(), s) {
				t.Errorf("%q is in the error %v", s, e)
			}
		}
	}
}

// A lyingProxy answers CONNECT with bytes of the test's choice, over a pipe, so
// that the clock is the test's too.
// It is waited for when the test ends.
func lyingProxy(t *testing.T, answer func(net.Conn)) *dial.Network {
	var wg sync.WaitGroup
	t.Cleanup(wg.Wait)
	return &dial.Network{
		Proxy: "http://bot:hunter2@proxy.example:3128",
		DialContext: func(_ context.Context, network, addr string) (net.Conn, error) {
			if network != "tcp" || addr != "proxy.example:3128" {
				t.Errorf("dialled %s %s", network, addr)
			}
			client, server := net.Pipe()
			wg.Go(func() {
				defer server.Close()
				if _, err := http.ReadRequest(bufio.NewReader(server)); err == nil {
					answer(server)
				}
			})
			return client, nil
		},
	}
}

func TestProxyThatLies(t *testing.T) {
	for name, c := range map[string]struct {
		answer func(net.Conn)
		says   string
		after  time.Duration
	}{
		"never answers": {func(c net.Conn) { c.Read(make([]byte, 1)) }, "no answer to CONNECT within 15s", 15 * time.Second},
		"answers a byte a second": {func(c net.Conn) {
			for {
				if _, err := c.Write([]byte("H")); err != nil {
					return
				}
				time.Sleep(time.Second)
			}
		}, "no answer to CONNECT within 15s", 15 * time.Second},
		"hangs up":     {func(net.Conn) {}, "without an answer", 0},
		"isn't HTTP":   {func(c net.Conn) { io.WriteString(c, "Basic Ym90Omh1bnRlcjI=\r\n\r\n") }, "is not HTTP", 0},
		"echoes":       {func(c net.Conn) { io.WriteString(c, "HTTP/1.1 x Basic Ym90Omh1bnRlcjI=\r\n\r\n") }, "is not HTTP", 0},
		"big header":   {func(c net.Conn) { io.Copy(c, io.MultiReader(strings.NewReader("HTTP/1.1 200 OK\r\nX: "), zeroes{})) }, "over 16 KiB", 0},
		"many headers": {func(c net.Conn) { io.WriteString(c, "HTTP/1.1 200 OK\r\n"+strings.Repeat("X: y\r\n", 1<<13)+"\r\n") }, "over 16 KiB", 0},
		"says more":    {func(c net.Conn) { io.WriteString(c, "HTTP/1.1 200 OK\r\n\r\n{\"msg\":\"connected\"}") }, "more than an answer", 0},
		"redirects":    {func(c net.Conn) { io.WriteString(c, "HTTP/1.1 302 Found\r\nLocation: http://elsewhere\r\n\r\n") }, "302 Found", 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				conn, err := lyingProxy(t, c.answer).Dial(t.Context(), parse(t, "https://chat.example.org"))
				if err == nil {
					conn.Close()
					t.Fatal("the lie was believed")
				}
				var refused *dial.ProxyError
				if !errors.As(err, &refused) || refused.Addr != "proxy.example:3128" || !strings.Contains(err.Error(), c.says) {
					t.Errorf("got %v, want a proxy's error saying %q", err, c.says)
				}
				showsNo(t, err, "hunter2", "Ym90Omh1bnRlcjI=")
				if took := time.Since(start); took != c.after {
					t.Errorf("took %s, want %s", took, c.after)
				}
			})
		})
	}
}

type zeroes struct{}

func (zeroes) Read(b []byte) (int, error) {
	for i := range b {
		b[i] = '0'
	}
	return len(b), nil
}

func TestConnectNamesTheServer(t *testing.T) {
	for server, want := range map[string]string{
		"https://chat.example.org":         "chat.example.org:443",
		"https://chat.example.org:8443/rc": "chat.example.org:8443",
		"http://[fd00::1]":                 "[fd00::1]:80",
	} {
		asked := make(chan string, 1)
		n := &dial.Network{
			Proxy: "http://proxy.example",
			DialContext: func(_ context.Context, _, addr string) (net.Conn, error) {
				if addr != "proxy.example:80" {
					t.Errorf("dialled %s", addr)
				}
				client, server := net.Pipe()
				go func() {
					defer server.Close()
					req, err := http.ReadRequest(bufio.NewReader(server))
					if err != nil {
						asked <- err.Error()
						return
					}
					asked <- req.Method + " " + req.RequestURI + " " + req.Host
					io.WriteString(server, "HTTP/1.1 403 Forbidden\r\n\r\n")
				}()
				return client, nil
			},
		}
		if _, err := n.Dial(t.Context(), parse(t, server)); err == nil {
			t.Fatal("403 was taken for a tunnel")
		}
		if got := <-asked; got != "CONNECT "+want+" "+want {
			t.Errorf("%s: %s", server, got)
		}
	}
}

// Every wait of a dial ends when its context does, at once.
func TestCancelEndsEveryWait(t *testing.T) {
	pipe := func(context.Context, string, string) (net.Conn, error) {
		client, server := net.Pipe()
		go io.Copy(io.Discard, server) // reads all, says nothing, ends with the client
		return client, nil
	}
	for name, n := range map[string]*dial.Network{
		"TCP":     {DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) { <-ctx.Done(); return nil, ctx.Err() }},
		"CONNECT": {DialContext: pipe, Proxy: "http://proxy.example"},
		"TLS":     {DialContext: pipe},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				time.AfterFunc(3*time.Second, cancel)
				start := time.Now()
				_, err := n.Dial(ctx, parse(t, "https://chat.example.org"))
				if !errors.Is(err, context.Canceled) || time.Since(start) != 3*time.Second {
					t.Errorf("after %s: %v", time.Since(start), err)
				}
			})
		})
	}
}

// Without a deadline of the caller's, each wait has its own.
func TestEveryWaitIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for name, n := range map[string]*dial.Network{
			"TCP": {DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) { <-ctx.Done(); return nil, ctx.Err() }},
			"TLS": {DialContext: func(context.Context, string, string) (net.Conn, error) {
				client, server := net.Pipe()
				go func() { io.Copy(io.Discard, server); server.Close() }()
				return client, nil
			}},
		} {
			start := time.Now()
			_, err := n.Dial(t.Context(), parse(t, "https://chat.example.org"))
			if !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != 15*time.Second {
				t.Errorf("%s: after %s: %v", name, time.Since(start), err)
			}
		}
	})
}

func TestCheck(t *testing.T) {
	_, ca := tlsServer(t, nil)
	block, _ := pem.Decode(ca)
	key := pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: []byte("hunter2")})
	for name, c := range map[string]struct {
		network *dial.Network
		key     string // "" for none
		says    string
	}{
		"nothing set":       {&dial.Network{}, "", ""},
		"a proxy":           {&dial.Network{Proxy: "http://u:p@proxy.example:3128"}, "", ""},
		"an IPv6 proxy":     {&dial.Network{Proxy: "http://[::1]:3128"}, "", ""},
		"two roots":         {&dial.Network{CAFile: append(append([]byte("# ours\n"), ca...), ca...)}, "", ""},
		"socks":             {&dial.Network{Proxy: "socks5://u:hunter2@proxy.example"}, "proxy", "only CONNECT"},
		"no scheme":         {&dial.Network{Proxy: "proxy.example:3128"}, "proxy", "not http://"},
		"no host":           {&dial.Network{Proxy: "http://u:hunter2@:3128"}, "proxy", "no host"},
		"a path":            {&dial.Network{Proxy: "http://proxy.example/hunter2"}, "proxy", "after the port"},
		"a query":           {&dial.Network{Proxy: "http://proxy.example?hunter2"}, "proxy", "after the port"},
		"a port beyond":     {&dial.Network{Proxy: "http://proxy.example:99999"}, "proxy", "port"},
		"a colon alone":     {&dial.Network{Proxy: "http://proxy.example:"}, "proxy", "colon without a port"},
		"not a URL":         {&dial.Network{Proxy: "http://u:hunter2@proxy example%zz"}, "proxy", "no address of the form"},
		"a colon in a name": {&dial.Network{Proxy: "http://a%3Ab:hunter2@proxy.example"}, "proxy", "colon in its user name"},
		"an empty CA file":  {&dial.Network{CAFile: []byte{}}, "tls.ca_file", "no certificate"},
		"DER":               {&dial.Network{CAFile: block.Bytes}, "tls.ca_file", "no certificate"},
		"a key":             {&dial.Network{CAFile: append(ca[:len(ca):len(ca)], key...)}, "tls.ca_file", "block 2 is no certificate"},
		"half a root": {
			&dial.Network{CAFile: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: block.Bytes[:40]})},
			"tls.ca_file", "certificate 1 can't be read",
		},
	} {
		t.Run(name, func(t *testing.T) {
			err := c.network.Check()
			if c.key == "" {
				if err != nil {
					t.Fatal(err)
				}
				return
			}
			var setting *dial.SettingError
			if !errors.As(err, &setting) || setting.Key != c.key || !strings.Contains(err.Error(), c.says) {
				t.Fatalf("got %v, want %s: %s", err, c.key, c.says)
			}
			showsNo(t, err, "hunter2")
			if _, again := c.network.Dial(t.Context(), parse(t, "https://127.0.0.1:1")); again != err {
				t.Errorf("Dial says %v", again)
			}
		})
	}
}

// One Network serves both wires at once, from many goroutines.
func TestConcurrentDials(t *testing.T) {
	secure, ca := tlsServer(t, func(c *tls.Config) { c.MinVersion = tls.VersionTLS12 })
	n := &dial.Network{CAFile: ca}
	done := make(chan error)
	for range 8 {
		go func() {
			conn, err := n.Dial(context.Background(), secure)
			if err == nil {
				conn.Close()
			}
			done <- err
		}()
	}
	for range 8 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}
