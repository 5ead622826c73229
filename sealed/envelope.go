package sealed

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// Bounds of an envelope.
const (
	MaxFile       = 1 << 20   // bytes of secrets.age
	maxPlain      = 512 << 10 // bytes of the JSON in it
	maxValues     = 256
	maxValue      = 64 << 10 // an environment's string may have 128 KiB
	maxToken      = 4096
	maxUserID     = 128
	maxGeneration = 1<<53 - 1 // what every JSON reader keeps exactly
)

// The names of the keys an envelope may hold besides the token.
const (
	PostKey  = "post"  // derives the ids of posted messages; made when it is sealed
	AskerKey = "asker" // signs asker tokens; only where people set it
)

// An Envelope is what secrets.age holds: one bot's credentials, bound to the
// profile and the server they are for.
type Envelope struct {
	Profile    string // the only profile it opens for
	Server     string // canonical, see [Server]; the only server its token may go to
	UserID     string
	Token      Secret
	Generation uint64            // rises with every change of what is sealed, from 1
	SealedAt   time.Time         // UTC, whole seconds
	Keys       map[string]Secret // [PostKey], [AskerKey]
	Values     map[string]Secret // for agents, by the name of the environment variable

	// Recipients is the digest of the set it was sealed for. "" in an envelope
	// that was made by hand.
	Recipients string

	stanzas []string // types of the recipients in the header, once opened
}

var (
	profileName = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]{0,63}$`)
	valueName   = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,127}$`)
)

// Credentials returns what a channel gets of the envelope: the bot, its keys,
// and of the values only the named ones. Names that aren't sealed are absent;
// [Envelope.Missing] tells them.
func (e Envelope) Credentials(names []string) Credentials {
	c := Credentials{
		Server: e.Server, UserID: e.UserID, Token: e.Token, Generation: e.Generation,
		PostKey: e.Keys[PostKey], AskerKey: e.Keys[AskerKey], Values: map[string]Secret{},
	}
	for _, name := range names {
		if v, ok := e.Values[name]; ok {
			c.Values[name] = v
		}
	}
	return c
}

// Missing returns those of names that the envelope has no value for.
func (e Envelope) Missing(names []string) []string {
	var missing []string
	for _, name := range names {
		if _, ok := e.Values[name]; !ok {
			missing = append(missing, name)
		}
	}
	return missing
}

// Secrets returns every secret in the envelope, for the redactor.
func (e Envelope) Secrets() []Secret {
	return slices.Concat([]Secret{e.Token}, slices.Collect(maps.Values(e.Keys)), slices.Collect(maps.Values(e.Values)))
}

// Set seals a value under the name people give it: token, asker, or that of an
// environment variable. What is wrong with it is [ErrInvalid], and the
// envelope is as before.
func (e *Envelope) Set(name string, value Secret) error {
	changed := e.clone()
	switch name {
	case "token":
		changed.Token = value
	case AskerKey:
		if changed.Keys == nil {
			changed.Keys = map[string]Secret{}
		}
		changed.Keys[AskerKey] = value
	default:
		if changed.Values == nil {
			changed.Values = map[string]Secret{}
		}
		changed.Values[name] = value
	}
	if why := changed.checkSecrets(); why != "" {
		return &Error{Kind: ErrInvalid, Text: why, Try: "give another value; nothing was changed"}
	}
	*e = changed
	return nil
}

// Unset takes the asker's key or a value out and reports whether it was there.
// The token can only be replaced.
func (e *Envelope) Unset(name string) bool {
	*e = e.clone()
	if name == AskerKey {
		_, was := e.Keys[AskerKey]
		delete(e.Keys, AskerKey)
		return was
	}
	_, was := e.Values[name]
	delete(e.Values, name)
	return was
}

// Same reports whether two envelopes hold the same credentials for the same
// bot, whoever they are sealed for and whenever.
func (e Envelope) Same(o Envelope) bool {
	return e.Profile == o.Profile && e.SameBot(o) && e.Token.Equal(o.Token) && e.Generation == o.Generation &&
		maps.EqualFunc(e.Keys, o.Keys, Secret.Equal) && maps.EqualFunc(e.Values, o.Values, Secret.Equal)
}

// SameBot reports whether both are the same bot on the same server.
func (e Envelope) SameBot(o Envelope) bool { return e.Server == o.Server && e.UserID == o.UserID }

// Stale reports whether an opened envelope was sealed for others than r: a
// removed key can still read it, or an added one can't yet.
func (e Envelope) Stale(r Recipients) bool {
	if e.Recipients != "" && e.Recipients != r.Digest() {
		return true
	}
	if len(e.stanzas) != len(r.keys) {
		return true
	}
	return slices.ContainsFunc(e.stanzas, func(s string) bool { return s != r.Kind().stanza() })
}

// clone copies the maps, so that a change of the copy is none of the original.
func (e Envelope) clone() Envelope {
	e.Keys, e.Values = maps.Clone(e.Keys), maps.Clone(e.Values)
	return e
}

// check returns what is wrong with the envelope's content in one clause that
// names the field, "" for nothing. It quotes no value.
func (e Envelope) check() string {
	server, err := Server(e.Server)
	switch {
	case !profileName.MatchString(e.Profile):
		return "profile is no profile's name"
	case err != nil:
		return err.Error()
	case server != e.Server:
		return "server is not in its canonical form"
	case e.UserID == "":
		return "user_id is empty"
	case len(e.UserID) > maxUserID || !visible(e.UserID):
		return "user_id is no user id: up to 128 visible ASCII characters"
	case e.Generation < 1 || e.Generation > maxGeneration:
		return "generation is out of bounds"
	case e.SealedAt.IsZero() || e.SealedAt.Year() > 9999:
		return "sealed_at is no time"
	case e.Keys[PostKey].Empty():
		return "keys.post is missing" // ids of messages would be anybody's to guess
	}
	return e.checkSecrets()
}

// checkSecrets is the part of check that looks at token, keys and values.
func (e Envelope) checkSecrets() string {
	switch {
	case e.Token.Empty():
		return "token is empty"
	case len(e.Token.Reveal()) > maxToken || !visible(e.Token.Reveal()):
		return "token is no token: up to 4096 visible ASCII characters"
	case len(e.Values) > maxValues:
		return fmt.Sprintf("values are more than %d", maxValues)
	}
	for _, name := range slices.Sorted(maps.Keys(e.Keys)) {
		if name != PostKey && name != AskerKey {
			return "keys holds another name than post and asker"
		}
		if why := checkValue(e.Keys[name], maxToken); why != "" {
			return "keys." + name + why
		}
	}
	for _, name := range slices.Sorted(maps.Keys(e.Values)) {
		if why := CheckValueName(name); why != "" {
			return why
		}
		if why := checkValue(e.Values[name], maxValue); why != "" {
			return "values." + name + why
		}
	}
	return ""
}

// CheckValueName says in one clause why name can't be that of a value, "" when
// it can. The name isn't quoted: what is no name may be a secret in the wrong
// place.
func CheckValueName(name string) string {
	switch {
	case name == "token" || name == AskerKey:
		return "values holds " + name + ", which is the name of a credential of the bot's own"
	case !valueName.MatchString(name):
		return "values holds a name that is none of an environment variable: letters, digits and _, at most 128"
	}
	return ""
}

func checkValue(s Secret, limit int) string {
	v := s.Reveal()
	switch {
	case strings.TrimSpace(v) == "":
		return " is empty"
	case len(v) > limit:
		return fmt.Sprintf(" has more than %d bytes", limit)
	case !utf8.ValidString(v):
		return " is not UTF-8"
	case strings.Contains(v, "\x00"):
		return " holds a NUL byte, which no environment can"
	}
	return ""
}

// visible reports text without spaces, control characters or letters outside
// ASCII: what can stand in an HTTP header unchanged.
func visible(s string) bool {
	for i := range len(s) {
		if s[i] <= ' ' || s[i] >= 0x7f {
			return false
		}
	}
	return true
}
