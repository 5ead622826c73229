package pretend

import (
	"math/rand/v2"
	"slices"
	"strings"
)

// Meteor's alphabet for ids: digits and letters that can't be mistaken for one
// another.
const idLetters = "23456789ABCDEFGHJKLMNPQRSTWXYZabcdefghijkmnopqrstuvwxyz"

// newID makes an id as Rocket.Chat does: 17 letters of Meteor's alphabet.
func newID() string { return random(idLetters, 17) }

// newToken makes what a personal access token or a login token looks like: 43
// letters.
func newToken() string {
	return random("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-", 43)
}

func random(letters string, n int) string {
	b := make([]byte, n)
	for i := range b {
		b[i] = letters[rand.IntN(len(letters))]
	}
	return string(b)
}

// directID is the id of a direct room. Of two people (or of one with oneself)
// it is the user ids, sorted and joined (createDirectRoom.ts); of more it is
// random.
func directID(users []string) string {
	ids := slices.Clone(users)
	slices.Sort(ids)
	ids = slices.Compact(ids)
	switch len(ids) {
	case 1:
		return ids[0] + ids[0]
	case 2:
		return strings.Join(ids, "")
	}
	return newID()
}
