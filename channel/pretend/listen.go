package pretend

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"sync"
	"time"
)

// serving is what lets clients in: HTTP servers and their connections. Its own
// lock guards it.
type serving struct {
	mu      sync.Mutex
	servers []*http.Server
	conns   map[net.Conn]bool
	running sync.WaitGroup // servers, and connections that are not yet over
	closed  bool
}

// Listen serves on a loopback address such as "127.0.0.1:0" and returns the
// server's address as a URL with its base path.
func (s *Server) Listen(addr string) (string, error) {
	l, err := s.listen(addr)
	if err != nil {
		return "", err
	}
	if err := s.Serve(l); err != nil {
		return "", err
	}
	return "http://" + l.Addr().String() + s.base, nil
}

// ListenTLS is Listen with a certificate made for this call. It returns the
// certificate in PEM too, which a client has to trust.
func (s *Server) ListenTLS(addr string) (url string, certificate []byte, err error) {
	l, err := s.listen(addr)
	if err != nil {
		return "", nil, err
	}
	cert, certificate, err := selfSigned()
	if err == nil {
		err = s.Serve(tls.NewListener(l, &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS12}))
	}
	if err != nil {
		l.Close()
		return "", nil, err
	}
	return "https://" + l.Addr().String() + s.base, certificate, nil
}

func (s *Server) listen(addr string) (net.Listener, error) {
	if !s.opts.AnyAddress && !isLoopback(addr) {
		return nil, errors.New("a pretend server gives its tokens to whoever asks: listen on a loopback address, not on " + addr)
	}
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, err
	}
	return &gate{Listener: l, faults: &s.faults}, nil
}

// gate refuses connections while the server is unreachable.
type gate struct {
	net.Listener
	faults *faults
}

func (g *gate) Accept() (net.Conn, error) {
	for {
		c, err := g.Listener.Accept()
		if err != nil || !g.faults.has(Unreachable, nil) {
			return c, err
		}
		reset(c)
	}
}

// Serve serves on l until the server is closed.
func (s *Server) Serve(l net.Listener) error {
	v := &s.serving
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.closed {
		return http.ErrServerClosed
	}
	h := &http.Server{
		Handler: s, ReadHeaderTimeout: 10 * time.Second, ConnState: v.connState,
		ErrorLog: log.New(io.Discard, "", 0),
	}
	v.servers = append(v.servers, h)
	v.running.Go(func() { h.Serve(l) })
	return nil
}

// connState follows a connection from accept to its end, or to where a socket
// takes it over.
func (v *serving) connState(c net.Conn, state http.ConnState) {
	v.mu.Lock()
	defer v.mu.Unlock()
	switch state {
	case http.StateNew:
		if v.conns == nil {
			v.conns = map[net.Conn]bool{}
		}
		v.conns[c] = true
		v.running.Add(1)
	case http.StateClosed, http.StateHijacked:
		if v.conns[c] {
			delete(v.conns, c)
			v.running.Done()
		}
	}
}

// cutConnections resets every REST connection.
func (s *Server) cutConnections() {
	s.serving.mu.Lock()
	defer s.serving.mu.Unlock()
	for c := range s.serving.conns {
		reset(c)
	}
}

// Close ends the server: listeners, connections, sockets, and every goroutine
// that it started. What it knows can still be asked.
func (s *Server) Close() error {
	v := &s.serving
	v.mu.Lock()
	first := !v.closed
	v.closed = true
	v.mu.Unlock()
	if first {
		close(s.closing)
		s.faults.stop()
		s.mu.Lock()
		s.closed = true
		for c := range s.sessions {
			c.cut()
		}
		s.mu.Unlock()
		for _, h := range v.servers {
			h.Close()
		}
	}
	v.running.Wait()
	s.sockets.Wait()
	return nil
}

// selfSigned makes a certificate for this machine that is its own authority.
func selfSigned() (tls.Certificate, []byte, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, nil, err
	}
	now := time.Now()
	t := &x509.Certificate{
		SerialNumber: big.NewInt(now.UnixNano()), Subject: pkix.Name{CommonName: "pretend Rocket.Chat"},
		NotBefore: now.Add(-time.Hour), NotAfter: now.AddDate(1, 0, 0),
		KeyUsage:    x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}, BasicConstraintsValid: true, IsCA: true,
		DNSNames: []string{"localhost"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback},
	}
	der, err := x509.CreateCertificate(rand.Reader, t, t, &key.PublicKey, key)
	if err != nil {
		return tls.Certificate{}, nil, err
	}
	public := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, public, nil
}
