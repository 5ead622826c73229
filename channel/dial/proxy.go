package dial

import (
	"bufio"
	"context"
	"encoding/base64"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// parseProxy reads the setting. url.Parse's own errors quote what they read,
// which may hold a password, and are never passed on.
func parseProxy(setting string) (*url.URL, error) {
	if setting == "" {
		return nil, nil
	}
	bad := func(text string) (*url.URL, error) {
		return nil, &SettingError{Key: "proxy", Err: errors.New(text)}
	}
	u, err := url.Parse(setting)
	switch {
	case err != nil:
		return bad("is no address of the form http://[user:password@]host:port")
	case u.Scheme != "http" && u.Scheme != "https":
		return bad("is not http:// or https://: only CONNECT proxies are supported")
	case u.Hostname() == "" || u.Opaque != "":
		return bad("has no host")
	case u.Path != "" && u.Path != "/", u.RawQuery != "" || u.ForceQuery, u.Fragment != "":
		return bad("has something after the port: a proxy is a host and a port")
	}
	if p := u.Port(); p != "" {
		if n, err := strconv.Atoi(p); err != nil || n < 1 || n > 65535 {
			return bad("has a port that is not 1 to 65535")
		}
	} else if strings.HasSuffix(u.Host, ":") {
		return bad("has a colon without a port")
	}
	if strings.Contains(u.User.Username(), ":") {
		return bad("has a colon in its user name, which no proxy can be told")
	}
	return u, nil
}

// tunnel asks the proxy at the other end of conn for a connection to addr. It
// leaves conn without a deadline, and at the first byte that addr says.
func tunnel(ctx context.Context, conn net.Conn, user *url.Userinfo, addr string) *ProxyError {
	within, cancel := context.WithTimeout(ctx, proxyTimeout)
	defer cancel()
	stopped := make(chan struct{})
	stop := context.AfterFunc(within, func() {
		defer close(stopped)
		conn.SetDeadline(time.Unix(1, 0))
	})
	status, err := connect(conn, user, addr)
	if !stop() {
		<-stopped
		err = late(ctx, "no answer to CONNECT", proxyTimeout)
	}
	switch {
	case err != nil:
		return &ProxyError{Err: err}
	case status < 200 || status > 299:
		return &ProxyError{Status: status}
	}
	return nil
}

// connect speaks CONNECT and returns the status that was answered.
func connect(conn net.Conn, user *url.Userinfo, addr string) (int, error) {
	var b strings.Builder
	b.WriteString("CONNECT " + addr + " HTTP/1.1\r\nHost: " + addr + "\r\n")
	if user != nil {
		password, _ := user.Password()
		token := base64.StdEncoding.EncodeToString([]byte(user.Username() + ":" + password))
		b.WriteString("Proxy-Authorization: Basic " + token + "\r\n")
	}
	b.WriteString("\r\n")
	if _, err := io.WriteString(conn, b.String()); err != nil {
		return 0, err
	}
	limited := &io.LimitedReader{R: conn, N: proxyHeaderBytes}
	r := bufio.NewReaderSize(limited, 1<<10)
	resp, err := http.ReadResponse(r, &http.Request{Method: http.MethodConnect})
	switch {
	case err != nil && limited.N <= 0:
		return 0, errors.New("its answer's header is over " + strconv.Itoa(proxyHeaderBytes>>10) + " KiB")
	case err != nil:
		return 0, answerError(err)
	}
	// Behind a 2xx nothing may come: whoever is reached, by HTTP or TLS, waits
	// for us to speak first.
	if resp.StatusCode/100 == 2 && r.Buffered() > 0 {
		return 0, errors.New("it sent more than an answer to CONNECT")
	}
	return resp.StatusCode, nil
}

// answerError keeps what the network said and replaces the parser's errors,
// which quote the answer: a proxy may echo the request's header in it.
func answerError(err error) error {
	var network net.Error
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return errors.New("it closed the connection without an answer to CONNECT")
	case errors.As(err, &network):
		return err
	}
	return errors.New("its answer to CONNECT is not HTTP")
}
