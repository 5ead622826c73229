package dial

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"runtime"
	"testing"
	"time"
)

func authority(t *testing.T, serial int64) []byte {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(serial), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}

// Networks whose files are the same share their roots, others don't, and roots
// that no one uses any more are let go.
func TestRootsAreShared(t *testing.T) {
	shared(t)
	for range 100 { // collecting takes as long as it takes
		runtime.GC()
		if _, err := roots(authority(t, 3)); err != nil {
			t.Fatal(err)
		}
		pools.Lock()
		n := len(pools.by)
		pools.Unlock()
		if n <= 2 {
			return
		}
	}
	t.Errorf("%d pools are kept", len(pools.by))
}

func shared(t *testing.T) {
	one, other := authority(t, 1), authority(t, 2)
	networks := []*Network{{CAFile: one}, {CAFile: append([]byte(nil), one...)}, {CAFile: other}}
	for _, n := range networks {
		if err := n.Check(); err != nil {
			t.Fatal(err)
		}
	}
	a, b, c := networks[0].base.RootCAs, networks[1].base.RootCAs, networks[2].base.RootCAs
	if a != b || a == c || a.Equal(c) {
		t.Errorf("the same file's are shared: %v; another's: %v", a == b, a == c)
	}
	if (&Network{CAFile: []byte("x")}).Check() == nil {
		t.Error("a file without a certificate was taken")
	}
}

// One configuration serves every connection to a server.
func TestConfigIsShared(t *testing.T) {
	n := &Network{}
	if err := n.Check(); err != nil {
		t.Fatal(err)
	}
	a, b, c := n.config("a.example"), n.config("a.example"), n.config("b.example")
	if a != b || b == c || a.ServerName != "a.example" || c.ServerName != "b.example" {
		t.Errorf("%p %s, %p, %p %s", a, a.ServerName, b, c, c.ServerName)
	}
	if c.ClientSessionCache != a.ClientSessionCache || c.InsecureSkipVerify {
		t.Error("not of one Network")
	}
}
