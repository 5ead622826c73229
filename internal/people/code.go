package people

import (
	"crypto/rand"
	"crypto/subtle"
	"time"

	"golang.org/x/crypto/scrypt"
)

// A one-time code: 8 characters that can't be mistaken for each other, good for
// an hour, five tries a person, kept as a hash.
const (
	codeLetters = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789"
	codeLength  = 8
	codeLasts   = time.Hour
	triesEach   = 5
)

// scrypt's cost: 16 MiB and some 40 ms a try. The code has 40 bits and an hour
// to live.
const (
	scryptR = 8
	scryptP = 1
)

var scryptN = 1 << 14 // tests have less

type code struct {
	Salt    []byte    `json:"salt"`
	Hash    []byte    `json:"hash"`
	Expires time.Time `json:"expires"`
}

// newCode returns a code and what is kept of it.
func newCode(now time.Time) (string, code) {
	// 32 letters: every byte's low five bits are one, evenly.
	raw := make([]byte, codeLength+16)
	_, _ = rand.Read(raw) // never fails: see crypto/rand
	plain := make([]byte, codeLength)
	for i := range plain {
		plain[i] = codeLetters[int(raw[i])%len(codeLetters)]
	}
	salt := raw[codeLength:]
	return string(plain), code{Salt: salt, Hash: hash(string(plain), salt), Expires: now.Add(codeLasts).UTC()}
}

func (c *code) is(written string) bool {
	return len(written) == codeLength && subtle.ConstantTimeCompare(hash(written, c.Salt), c.Hash) == 1
}

func hash(written string, salt []byte) []byte {
	key, err := scrypt.Key([]byte(written), salt, scryptN, scryptR, scryptP, 32)
	if err != nil {
		panic(err) // constant parameters: a mistake here, not a state of the world
	}
	return key
}
