package enroll

import (
	"regexp"
	"strings"
)

// The shapes of what Rocket.Chat shows when a personal access token is made:
// a user id of 17 letters and digits, a token of 43 characters of base64url.
var (
	idShape    = regexp.MustCompile(`(?:^|[^\w-])([2-9A-Za-z]{17})(?:$|[^\w-])`)
	tokenShape = regexp.MustCompile(`(?:^|[^\w-])([\w-]{43})(?:$|[^\w-])`)
)

// A Pasted is what was found in a text that somebody pasted.
type Pasted struct {
	UserID string
	Token  string
}

// Find looks for a user id and a token in what was pasted: the dialog's whole
// text ("Token: … Your user Id: …"), both in one line, or one of them alone.
func Find(text string) Pasted {
	p := Pasted{Token: first(tokenShape, text)}
	if p.Token != "" {
		text = strings.ReplaceAll(text, p.Token, " ")
	}
	p.UserID = first(idShape, text)
	return p
}

func first(shape *regexp.Regexp, text string) string {
	if m := shape.FindStringSubmatch(text); m != nil {
		return m[1]
	}
	return ""
}

// LooksLikeToken reports whether what was given as a user id is a token. It
// was typed into the wrong field, and is not repeated anywhere.
func LooksLikeToken(id string) bool {
	return tokenShape.MatchString(id) || len(id) >= 40
}

// HoldsToken reports whether a word of text has the shape of a token.
func HoldsToken(text string) bool { return tokenShape.MatchString(text) }

// LooksLikeID reports whether what was given as a token is a user id.
func LooksLikeID(token string) bool {
	m := idShape.FindStringSubmatch(token)
	return m != nil && m[1] == token
}
