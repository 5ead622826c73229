package sealed

import (
	"net/netip"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxServer bounds an address; host names end at 253 bytes.
const maxServer = 512

// A ServerError says what is wrong with a server's address. It never quotes
// the address: people paste tokens into the wrong field.
type ServerError struct {
	Reason string // what is wrong, and what to write instead
}

func (e *ServerError) Error() string { return "server address: " + e.Reason }

func badServer(reason string) (string, error) { return "", &ServerError{Reason: reason} }

// Server returns the canonical form of a server's address, the one spelling
// under which envelopes are sealed and bots compared: scheme and host in lower
// case, no default port, no trailing slash, the base path kept. Server of a
// canonical form is that form.
//
// The scheme is https. Plain http is only for localhost and for literal
// loopback, RFC 1918 and ULA addresses, parsed as addresses: 10.evil.example
// is a name. Userinfo, query, fragment, backslashes, control characters, bad
// percent escapes and names outside ASCII are refused, since programs disagree
// about where such an address leads. A *[ServerError] says what to write.
func Server(s string) (string, error) {
	scheme, rest, err := splitScheme(s)
	if err != nil {
		return "", err
	}
	authority, path := rest, ""
	if i := strings.IndexByte(rest, '/'); i >= 0 {
		authority, path = rest[:i], rest[i:]
	}
	if strings.Contains(authority, "@") {
		return badServer("holds a user name or password before the host: leave out all up to the @")
	}
	host, addr, port, err := splitAuthority(authority)
	if err != nil {
		return "", err
	}
	if scheme == "http" && !mayBePlain(host, addr) {
		return badServer("http is only for localhost and literal private addresses: write https://")
	}
	if path, err = basePath(path); err != nil {
		return "", err
	}
	if addr.Is6() {
		host = "[" + host + "]"
	}
	if port != 0 && (scheme != "https" || port != 443) && (scheme != "http" || port != 80) {
		host += ":" + strconv.Itoa(port)
	}
	return scheme + "://" + host + path, nil
}

// splitScheme looks at the address as a whole and returns its scheme and what
// follows the two slashes.
func splitScheme(s string) (scheme, rest string, err error) {
	switch {
	case s == "":
		_, err = badServer("is empty: write https:// and the host")
	case len(s) > maxServer:
		_, err = badServer("is longer than 512 bytes")
	case !utf8.ValidString(s):
		_, err = badServer("is not UTF-8")
	case strings.ContainsFunc(s, hidden):
		_, err = badServer("holds white space or a control character")
	case strings.Contains(s, `\`):
		_, err = badServer("holds a backslash: write / or leave it out")
	case strings.Contains(s, "?"):
		_, err = badServer("holds a query: leave out the ? and what follows")
	case strings.Contains(s, "#"):
		_, err = badServer("holds a fragment: leave out the # and what follows")
	}
	if err != nil {
		return "", "", err
	}
	scheme, rest, ok := strings.Cut(s, "://")
	scheme = strings.ToLower(scheme)
	switch {
	case !ok:
		_, err = badServer("has no scheme: write https:// before the host")
	case scheme == "ws" || scheme == "wss":
		_, err = badServer("is that of the socket: write https:// instead of wss://")
	case scheme != "https" && scheme != "http":
		_, err = badServer("has another scheme than https: write https:// before the host")
	}
	return scheme, rest, err
}

// hidden reports characters that don't show, or show as another order of the
// text around them.
func hidden(r rune) bool {
	return unicode.IsControl(r) || unicode.IsSpace(r) || unicode.In(r, unicode.Cf, unicode.Co, unicode.Zl, unicode.Zp)
}

// splitAuthority returns the host in canonical form, the address where it is
// one, and the port, 0 for none.
func splitAuthority(authority string) (host string, addr netip.Addr, port int, err error) {
	host, portText := authority, ""
	if end := strings.IndexByte(authority, ']'); strings.HasPrefix(authority, "[") && end > 0 {
		host, portText = authority[:end+1], authority[end+1:]
	} else if i := strings.IndexByte(authority, ':'); i >= 0 {
		host, portText = authority[:i], authority[i:]
	}
	if portText != "" {
		if port, err = portNumber(portText); err != nil {
			return "", addr, 0, err
		}
	}
	if strings.HasPrefix(host, "[") {
		addr, err = netip.ParseAddr(strings.TrimSuffix(host[1:], "]"))
		if err != nil || !addr.Is6() || addr.Zone() != "" {
			_, err = badServer("holds brackets, but no IPv6 address in them")
			return "", addr, 0, err
		}
	} else {
		if host, err = hostName(host); err != nil {
			return "", addr, 0, err
		}
		if lastLabelIsNumber(host) {
			if addr, err = netip.ParseAddr(host); err != nil {
				_, err = badServer("ends in a number, but is no IPv4 address: write four numbers from 0 to 255 without leading zeros")
				return "", addr, 0, err
			}
		}
	}
	if !addr.IsValid() {
		return host, addr, port, nil
	}
	addr = addr.Unmap()
	if addr.IsUnspecified() || addr.IsMulticast() || addr == netip.AddrFrom4([4]byte{255, 255, 255, 255}) {
		_, err = badServer("is an address no server can have")
		return "", addr, 0, err
	}
	return addr.String(), addr, port, nil
}

// portNumber reads ":3000".
func portNumber(s string) (int, error) {
	digits := strings.TrimPrefix(s, ":")
	n, err := strconv.ParseUint(digits, 10, 16)
	if err != nil || n == 0 || digits[0] == '0' || s[0] != ':' {
		_, err := badServer("has no port after the colon: write a number from 1 to 65535, and an IPv6 address in brackets")
		return 0, err
	}
	return int(n), nil
}

// hostName checks a name or dotted address, character by character, and
// returns it in lower case. An underscore isn't a host's by the book, but
// container networks use it.
func hostName(host string) (string, error) {
	switch {
	case host == "":
		return badServer("has no host")
	case strings.ContainsFunc(host, func(r rune) bool { return r > unicode.MaxASCII }):
		// Before lower case is made, which turns some of them into ASCII.
		return badServer("holds letters outside a–z, which can pass for others: write the host in its punycode form (xn--…)")
	case strings.HasSuffix(host, "."):
		return badServer("has a host that ends in a dot: leave the dot out")
	case len(host) > 253:
		return badServer("has a host of more than 253 bytes")
	}
	host = strings.ToLower(host)
	for label := range strings.SplitSeq(host, ".") {
		if !hostLabel(label) {
			return badServer("has a host that is no name: between the dots go 1 to 63 letters, digits and inner hyphens")
		}
	}
	return host, nil
}

func hostLabel(label string) bool {
	if label == "" || len(label) > 63 || label[0] == '-' || label[len(label)-1] == '-' {
		return false
	}
	for _, c := range []byte(label) {
		if !isLowerAlnum(c) && c != '-' && c != '_' {
			return false
		}
	}
	return true
}

func isLowerAlnum(c byte) bool { return 'a' <= c && c <= 'z' || '0' <= c && c <= '9' }

// lastLabelIsNumber reports hosts that some resolvers take for an address:
// 127.1, 2130706433, 0x7f000001. This is the rule of the WHATWG URL standard.
func lastLabelIsNumber(host string) bool {
	last := host[strings.LastIndexByte(host, '.')+1:]
	if strings.Trim(last, "0123456789") == "" {
		return true
	}
	hex, ok := strings.CutPrefix(last, "0x")
	return ok && strings.Trim(hex, "0123456789abcdef") == ""
}

// mayBePlain reports whether a token may cross the network to this host
// without encryption.
func mayBePlain(host string, addr netip.Addr) bool {
	if !addr.IsValid() {
		return host == "localhost"
	}
	return addr.IsLoopback() || addr.IsPrivate()
}
