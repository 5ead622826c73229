package asker

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"strconv"
	"strings"
	"time"
)

// Lifetime is how long a token holds.
const Lifetime = 30 * time.Minute

const (
	version = "v1"
	sigLen  = 22  // characters of base64url: 132 bits
	maxID   = 128 // characters of an id; Rocket.Chat's own have 17, of a direct room 34
)

// What a token is refused for. None of them holds any of it.
var (
	ErrMalformed = errors.New("not an asker token")
	ErrSignature = errors.New("asker token not signed with this key")
	ErrExpired   = errors.New("asker token has expired")
	ErrNoKey     = errors.New("no key to check asker tokens with")
)

// Claims are what a token says once it is verified.
type Claims struct {
	User    string    // the id of the person who asked
	Room    string    // the id of the room it was asked in
	Expires time.Time // UTC, whole seconds
}

// Sign returns a token for a person and the room he asks in. It is "" where
// there is no key, or an id is not of letters, digits, - and _ (a dot would
// let one id pass for two).
func Sign(key []byte, user, room string, now time.Time) string {
	if len(key) == 0 || !validID(user) || !validID(room) {
		return ""
	}
	body := version + "." + user + "." + room + "." + strconv.FormatInt(now.Add(Lifetime).Unix(), 10)
	return body + "." + sign(key, body)
}

// Verify returns what a token says, if it was signed with key and has not
// expired. The signature is compared in constant time and before anything in
// the token is believed.
func Verify(key []byte, token string, now time.Time) (Claims, error) {
	if len(key) == 0 {
		return Claims{}, ErrNoKey
	}
	if len(token) > 2*maxID+64 {
		return Claims{}, ErrMalformed
	}
	parts := strings.Split(token, ".")
	if len(parts) != 5 || parts[0] != version || !validID(parts[1]) || !validID(parts[2]) || len(parts[4]) != sigLen {
		return Claims{}, ErrMalformed
	}
	expiry, ok := seconds(parts[3])
	if !ok {
		return Claims{}, ErrMalformed
	}
	body := token[:len(token)-sigLen-1]
	if !hmac.Equal([]byte(sign(key, body)), []byte(parts[4])) {
		return Claims{}, ErrSignature
	}
	c := Claims{User: parts[1], Room: parts[2], Expires: time.Unix(expiry, 0).UTC()}
	if !now.Before(c.Expires) {
		return Claims{}, ErrExpired
	}
	return c, nil
}

func sign(key []byte, body string) string {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(body))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))[:sigLen]
}

// seconds reads digits as they are written by [Sign]: one number has one form.
func seconds(s string) (int64, bool) {
	n, err := strconv.ParseInt(s, 10, 64)
	return n, err == nil && n >= 0 && strconv.FormatInt(n, 10) == s
}

func validID(s string) bool {
	if s == "" || len(s) > maxID {
		return false
	}
	for i := 0; i < len(s); i++ {
		if !word(s[i]) {
			return false
		}
	}
	return true
}

// word holds for the characters of ids and of base64url.
func word(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '_'
}
