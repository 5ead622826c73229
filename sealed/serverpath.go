package sealed

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// basePath returns the canonical form of the path a server lives under, ""
// for none: escapes only where they are needed and then in upper case
// (RFC 3986 §6.2.2), no trailing slash, no empty segment and no dots.
func basePath(path string) (string, error) {
	path = strings.TrimSuffix(path, "/")
	if path == "" {
		return "", nil
	}
	var out strings.Builder
	for segment := range strings.SplitSeq(path[1:], "/") {
		canonical, err := pathSegment(segment)
		if err != nil {
			return "", err
		}
		out.WriteByte('/')
		out.WriteString(canonical)
	}
	return out.String(), nil
}

func pathSegment(segment string) (string, error) {
	var out, plain strings.Builder
	for i := 0; i < len(segment); i++ {
		c := segment[i]
		if c != '%' {
			if !isPathByte(c) {
				return badServer("has a path with a character that needs a percent escape")
			}
			out.WriteByte(c)
			plain.WriteByte(c)
			continue
		}
		if i+2 >= len(segment) || !isHex(segment[i+1]) || !isHex(segment[i+2]) {
			return badServer("has a path with a % that is no percent escape")
		}
		escape := strings.ToUpper(segment[i : i+3])
		b := unhex(escape[1])<<4 | unhex(escape[2])
		if isUnreserved(b) {
			out.WriteByte(b)
		} else {
			out.WriteString(escape)
		}
		plain.WriteByte(b)
		i += 2
	}
	switch text := plain.String(); {
	case text == "":
		return badServer("has a path with two slashes in a row")
	case text == "." || text == "..":
		return badServer("has a path with a . or .. in it: write the path it leads to")
	case !utf8.ValidString(text), strings.ContainsAny(text, `/\`), strings.ContainsFunc(text, func(r rune) bool { return hidden(r) && r != ' ' || r == unicode.ReplacementChar }):
		return badServer("has a path with an escaped slash, backslash or control character")
	}
	return out.String(), nil
}

// isPathByte reports the characters of RFC 3986's pchar, but the percent sign.
func isPathByte(c byte) bool {
	return isUnreserved(c) || strings.IndexByte("!$&'()*+,;=:@", c) >= 0
}

func isUnreserved(c byte) bool {
	return isLowerAlnum(c) || 'A' <= c && c <= 'Z' || strings.IndexByte("-._~", c) >= 0
}

func isHex(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F'
}

func unhex(c byte) byte {
	if c <= '9' {
		return c - '0'
	}
	return c - 'A' + 10
}
