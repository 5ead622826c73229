package dial

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"strings"
)

// A SettingError is a setting that can't be used: Key is its name in
// channel.yaml. It never shows the setting's value, which may hold a password.
type SettingError struct {
	Key string // "proxy" or "tls.ca_file"
	Err error
}

func (e *SettingError) Error() string { return e.Key + " in channel.yaml: " + e.Err.Error() }
func (e *SettingError) Unwrap() error { return e.Err }

// A ProxyError says that the proxy, not the server, stood in the way. Status is
// what it answered to CONNECT, 0 when it didn't come to an answer.
type ProxyError struct {
	Addr   string // host:port, without credentials
	Status int
	Err    error // nil when Status says it all
}

func (e *ProxyError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "proxy %s", e.Addr)
	switch {
	case e.Status == http.StatusProxyAuthRequired:
		b.WriteString(" asks for a user and password (407); try: proxy: http://user:password@… in channel.yaml")
	case e.Status != 0:
		fmt.Fprintf(&b, " refuses the connection: %d %s", e.Status, http.StatusText(e.Status))
	}
	if e.Err != nil {
		b.WriteString(": ")
		b.WriteString(e.Err.Error())
	}
	return strings.TrimRight(b.String(), " ")
}

func (e *ProxyError) Unwrap() error { return e.Err }

// A CertificateError is a certificate that doesn't prove the peer to be Host,
// and says what mends it. Key is the setting that reached that peer: "" for the
// server, "proxy" for the proxy itself.
type CertificateError struct {
	Host string
	Key  string
	Err  error // a *tls.CertificateVerificationError
}

func (e *CertificateError) Error() string {
	who := "certificate of "
	if e.Key == "proxy" {
		who = "certificate of proxy "
	}
	text := who + e.Host + ": " + strings.TrimPrefix(e.Err.Error(), "tls: failed to verify certificate: ")
	var (
		unknown x509.UnknownAuthorityError
		name    x509.HostnameError
		invalid x509.CertificateInvalidError
	)
	switch {
	case errors.As(e.Err, &unknown):
		text += "; try: tls.ca_file in channel.yaml, naming the PEM of the authority that signed it"
	case errors.As(e.Err, &name):
		text += "; try: sealing the name it was issued for as the server"
	case errors.As(e.Err, &invalid) && invalid.Reason == x509.Expired:
		text += "; try: renewing it on the server, or the clock of this host"
	}
	return text
}

func (e *CertificateError) Unwrap() error { return e.Err }

// handshakeError tells a certificate that was not believed from a handshake
// that didn't come to one.
func handshakeError(host, key string, err error) error {
	var verify *tls.CertificateVerificationError
	if errors.As(err, &verify) {
		return &CertificateError{Host: host, Key: key, Err: err}
	}
	return fmt.Errorf("TLS with %s: %w", host, err)
}
