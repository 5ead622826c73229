package dial

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/url"
	"sync"
	"time"
)

// Bounds of one dial. The caller's context may be tighter.
const (
	connectTimeout   = 15 * time.Second // TCP, all addresses of the name together
	proxyTimeout     = 15 * time.Second // CONNECT, from the first byte to its answer
	handshakeTimeout = 15 * time.Second // TLS
	proxyHeaderBytes = 16 << 10         // of the answer to CONNECT
	keepAlive        = 30 * time.Second
)

// A Network says how a channel reaches its server. The zero Network goes there
// directly and believes the system's roots. Its fields are set before the first
// use and not changed after it; a Network must not be copied after that.
type Network struct {
	// CAFile is the PEM of roots in addition to the system's, the content of
	// tls.ca_file; nil for the system's alone.
	CAFile []byte
	// Proxy is the address of a CONNECT proxy, "http://[user:password@]host[:port]"
	// or https; "" for none. The environment's proxies are never used.
	Proxy string
	// DialContext makes the TCP connection, to the proxy or to the server. nil is
	// a net.Dialer with keep-alive and a bounded time.
	DialContext func(ctx context.Context, network, addr string) (net.Conn, error)

	prepare sync.Once
	proxy   *url.URL // nil: none
	err     error    // what Check says

	mu   sync.Mutex  // over the first ServerName of base
	base *tls.Config // of the first name that was asked for
}

// Check reports whether the settings can be used, as a *[SettingError]. Dial
// fails with the same error.
func (n *Network) Check() error {
	n.prepare.Do(func() {
		if n.proxy, n.err = parseProxy(n.Proxy); n.err == nil {
			n.base, n.err = config(n.CAFile)
		}
	})
	return n.err
}

// Dial returns a connection to server, an http or https URL of which only
// scheme and host count. An https server has been verified (TLS 1.2 or newer,
// its name, the roots of n) and HTTP/1.1 agreed on. The connection carries no
// deadline of Dial's. What was asked of the caller's context is over when Dial
// returns: cancelling it later does nothing to the connection.
func (n *Network) Dial(ctx context.Context, server *url.URL) (net.Conn, error) {
	if err := n.Check(); err != nil {
		return nil, err
	}
	addr, secure, err := address(server)
	if err != nil {
		return nil, err
	}
	conn, err := n.reach(ctx, addr)
	if err != nil {
		return nil, err
	}
	if !secure {
		return conn, nil
	}
	host := server.Hostname()
	return secured(ctx, conn, n.config(host), host, "")
}

// reach returns a connection whose other end is addr.
func (n *Network) reach(ctx context.Context, addr string) (net.Conn, error) {
	if n.proxy == nil {
		return n.connect(ctx, addr)
	}
	via, secure, err := address(n.proxy)
	if err != nil {
		return nil, &SettingError{Key: "proxy", Err: errors.New("has no host")}
	}
	conn, err := n.connect(ctx, via)
	if err != nil {
		return nil, &ProxyError{Addr: via, Err: err}
	}
	if secure {
		host := n.proxy.Hostname()
		if conn, err = secured(ctx, conn, n.config(host), host, "proxy"); err != nil {
			return nil, err
		}
	}
	if err := tunnel(ctx, conn, n.proxy.User, addr); err != nil {
		conn.Close()
		err.Addr = via
		return nil, err
	}
	return conn, nil
}

func (n *Network) connect(ctx context.Context, addr string) (net.Conn, error) {
	within, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	dial := n.DialContext
	if dial == nil {
		dial = (&net.Dialer{KeepAlive: keepAlive}).DialContext
	}
	conn, err := dial(within, "tcp", addr)
	if err != nil && within.Err() != nil {
		err = late(ctx, "no connection to "+addr, connectTimeout)
	}
	return conn, err
}

// late is the error of a wait that ended with its context: with the caller's,
// or with our own bound on it.
func late(ctx context.Context, what string, bound time.Duration) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return fmt.Errorf("%s within %s: %w", what, bound, context.DeadlineExceeded)
}

// address returns where u's server listens, and whether it speaks TLS.
func address(u *url.URL) (addr string, secure bool, err error) {
	if u == nil || u.Hostname() == "" {
		return "", false, errors.New("server has no host")
	}
	port := u.Port()
	switch u.Scheme {
	case "https":
		secure = true
		if port == "" {
			port = "443"
		}
	case "http":
		if port == "" {
			port = "80"
		}
	default:
		return "", false, fmt.Errorf("server is %q, not http or https", u.Scheme)
	}
	return net.JoinHostPort(u.Hostname(), port), secure, nil
}
