package dial

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"maps"
	"net"
	"sync"
	"weak"
)

// sessions is how many TLS sessions a Network remembers: its server's, its
// proxy's, and one more each while tickets are renewed.
const sessions = 4

// config builds what all TLS of one Network shares.
func config(ca []byte) (*tls.Config, error) {
	roots, err := roots(ca)
	if err != nil {
		return nil, &SettingError{Key: "tls.ca_file", Err: err}
	}
	return &tls.Config{
		MinVersion:         tls.VersionTLS12,
		NextProtos:         []string{"http/1.1"},
		RootCAs:            roots,
		ClientSessionCache: tls.NewLRUClientSessionCache(sessions),
	}, nil
}

// pools shares the roots of those Networks whose files are the same, by the
// hash of the file: a pool is some 35 kB, and a thousand bots of one owner name
// one file. Pools are not changed once made, and go when no Network is left
// that uses them.
var pools struct {
	sync.Mutex
	by map[[sha256.Size]byte]weak.Pointer[x509.CertPool]
}

// roots returns the system's roots and those of a PEM file, nil for the
// system's alone.
func roots(ca []byte) (*x509.CertPool, error) {
	if ca == nil {
		return nil, nil
	}
	sum := sha256.Sum256(ca)
	pools.Lock()
	defer pools.Unlock()
	if pool := pools.by[sum].Value(); pool != nil {
		return pool, nil
	}
	pool, err := extended(ca)
	if err != nil {
		return nil, err
	}
	maps.DeleteFunc(pools.by, func(_ [sha256.Size]byte, p weak.Pointer[x509.CertPool]) bool { return p.Value() == nil })
	if pools.by == nil {
		pools.by = make(map[[sha256.Size]byte]weak.Pointer[x509.CertPool])
	}
	pools.by[sum] = weak.Make(pool)
	return pool, nil
}

// extended adds a file's roots to the system's. Every block has to be a
// certificate: a file of which only a part was understood would fail later, and
// elsewhere.
func extended(ca []byte) (*x509.CertPool, error) {
	pool, err := x509.SystemCertPool()
	if err != nil {
		pool = x509.NewCertPool() // a host without roots of its own: the file's alone
	}
	n := 0
	for block, rest := pem.Decode(ca); block != nil; block, rest = pem.Decode(rest) {
		n++
		if block.Type != "CERTIFICATE" {
			return nil, fmt.Errorf("block %d is no certificate: only certificates belong in this file", n)
		}
		cert, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, fmt.Errorf("certificate %d can't be read: %w", n, err)
		}
		pool.AddCert(cert)
	}
	if n == 0 {
		return nil, errors.New("holds no certificate in PEM form")
	}
	return pool, nil
}

// config returns the configuration for a server's name. A Network has one
// server, so that the first one's is what all have in common; another, a
// proxy's, has a copy.
func (n *Network) config(host string) *tls.Config {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.base.ServerName == "" {
		n.base.ServerName = host
	}
	if n.base.ServerName == host {
		return n.base
	}
	other := n.base.Clone()
	other.ServerName = host
	return other
}

// secured makes the TLS handshake on conn, which it closes when that fails.
func secured(ctx context.Context, conn net.Conn, cfg *tls.Config, host, key string) (net.Conn, error) {
	within, cancel := context.WithTimeout(ctx, handshakeTimeout)
	defer cancel()
	c := tls.Client(conn, cfg)
	err := c.HandshakeContext(within)
	if err == nil {
		return c, nil
	}
	conn.Close()
	if within.Err() != nil {
		return nil, late(ctx, "no TLS handshake with "+host, handshakeTimeout)
	}
	return nil, handshakeError(host, key, err)
}
