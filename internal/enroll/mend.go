package enroll

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"rcsupervisor/channel/dial"
	"rcsupervisor/channel/rest"
	"rcsupervisor/internal/ownerfs"
	"rcsupervisor/profile"
	"rcsupervisor/sealed"
)

// What mends a field begins with its flag, "--server https://…": whoever knows
// the rest of what was asked makes the whole command of it.

// exampleServer is what an address looks like.
const exampleServer = "https://chat.example.org"

// meantServer is what somebody most likely meant by an address that is none; an
// example where that can't be told. What may be a secret is not repeated.
func meantServer(typed string) string {
	s := strings.TrimSpace(typed)
	if i := strings.IndexAny(s, "?#"); i >= 0 {
		s = s[:i]
	}
	scheme, rest, ok := strings.Cut(s, "://")
	if !ok {
		scheme, rest = "https", strings.TrimLeft(s, "/")
	}
	if scheme = strings.ToLower(scheme); scheme != "http" {
		scheme = "https"
	}
	for _, s := range []string{scheme, "https"} {
		server, err := sealed.Server(s + "://" + strings.TrimSuffix(rest, "/websocket"))
		if u, bad := url.Parse(server); err == nil && bad == nil && strings.ContainsAny(u.Hostname(), ".:") && !HoldsToken(typed) {
			return server
		}
	}
	return exampleServer
}

// pages are what the paths of Rocket.Chat's own pages begin with.
var pages = []string{"home", "channel", "group", "direct", "live", "thread", "account", "admin", "directory", "login", "register", "omnichannel", "marketplace"}

// aboveServer is the address without what a browser showed of a page, or else
// without its path.
func aboveServer(server string) string {
	u, err := url.Parse(server)
	if err != nil || u.Path == "" {
		return exampleServer
	}
	parts := strings.Split(u.Path, "/")
	i := slices.IndexFunc(parts, func(p string) bool { return slices.Contains(pages, p) })
	u.Path, u.RawPath = strings.Join(parts[:max(i, 0)], "/"), ""
	return u.String()
}

// unproven says what a failed question means.
func unproven(userID, server string, err error) error {
	field := func(name, text, try string) error { return &FieldError{Field: name, Text: text, Try: try, err: err} }
	switch {
	case errors.Is(err, rest.ErrTwoFactor):
		return field("token", "the server asks for a second factor", makeToken)
	case errors.Is(err, rest.ErrRefused) && !idShape.MatchString(userID):
		return field("user id or token", fmt.Sprintf("the server does not take the two together; a user id has 17 letters and digits, and this one has %d: is it a username?", len(userID)),
			"--user-id ID, which the token's dialog shows")
	case errors.Is(err, rest.ErrRefused):
		return field("user id or token", "the server does not take the two together", makeToken)
	case errors.Is(err, rest.ErrRateLimited):
		return field("server", "it asks to wait before it is asked again", "wait a minute, then the same command")
	case errors.Is(err, rest.ErrNotJSON), errors.Is(err, rest.ErrRedirected), errors.Is(err, rest.ErrNoRoute):
		return field("server", "what answers at "+server+" is no Rocket.Chat: "+withoutRoute(err), "--server "+aboveServer(server))
	}
	return field("server", withoutRoute(err), mendConnection(server, err))
}

// mendConnection is what helps where no answer came.
func mendConnection(server string, err error) string {
	var unknown x509.UnknownAuthorityError
	var record tls.RecordHeaderError
	var lookup *net.DNSError
	switch {
	case errors.As(err, &unknown):
		return mendCertificate
	case errors.As(err, &record):
		if plain, err := sealed.Server("http" + strings.TrimPrefix(server, "https")); err == nil {
			return "--server " + plain
		}
	case errors.As(err, &lookup) && lookup.IsNotFound:
		return "--server URL, as in the browser"
	}
	return "curl " + server + "/api/info"
}

// mendCertificate is what helps against a certificate that nobody known signed.
const mendCertificate = "tls.ca_file in channel.yaml, naming the PEM file of the authority that signed it"

// certificateOf is mendCertificate for a home.
func certificateOf(home string) string {
	path := ownerfs.Quote(filepath.Join(home, profile.Folder, profile.SettingsFile))
	return strings.Replace(mendCertificate, profile.SettingsFile, path, 1)
}

// withoutRoute is an error of a question without which question it was, and
// without the advice that the certificate's own error gives.
func withoutRoute(err error) string {
	text := err.Error()
	if e, ok := errors.AsType[*rest.Error](err); ok {
		text = strings.TrimPrefix(text, e.Route+": ")
	}
	if _, ok := errors.AsType[*dial.CertificateError](err); ok {
		text, _, _ = strings.Cut(text, "; try: ")
		text, _, _ = strings.Cut(text, " (possibly because of ")
	}
	return text
}
