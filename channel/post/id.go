package post

import (
	"crypto/hmac"
	"crypto/sha256"
	"math/big"
	"strconv"
)

const (
	idLength = 20
	base62   = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
)

// ID returns the message id under which one part is posted: 20 characters of
// base62 of HMAC-SHA256(key, question id, step, index). The same part has the
// same id after any restart, so a server that stored it once never shows it
// twice; and nobody without the profile's keys.post can take the id first.
func ID(key []byte, question, step string, index int) string {
	mac := hmac.New(sha256.New, key)
	for _, s := range []string{question, step, strconv.Itoa(index)} {
		mac.Write([]byte(strconv.Itoa(len(s))))
		mac.Write([]byte{':'})
		mac.Write([]byte(s))
	}
	n, base, digit := new(big.Int).SetBytes(mac.Sum(nil)), big.NewInt(62), new(big.Int)
	id := make([]byte, idLength)
	for i := range id {
		n.DivMod(n, base, digit)
		id[i] = base62[digit.Int64()]
	}
	return string(id)
}
