package enroll

import (
	"context"
	"errors"
	"time"

	"rcsupervisor/channel/prompt/asker"
)

// An AskerWish is a token to be verified.
type AskerWish struct {
	Token string `json:"token"`
}

// AskerClaims are what a token says once it is verified.
type AskerClaims struct {
	User    string    `json:"user"`
	Room    string    `json:"room"`
	Expires time.Time `json:"expires"`
}

// VerifyAsker verifies an asker token with the key that is sealed for a
// profile. What is wrong with the token is an error of package asker beneath.
func (d *Desk) VerifyAsker(ctx context.Context, by Caller, name string, w AskerWish) (AskerClaims, error) {
	r, err := d.Profile(ctx, by, name)
	if err != nil {
		return AskerClaims{}, err
	}
	keys, err := d.Keys()
	if err != nil {
		return AskerClaims{}, err
	}
	v, err := (&Desk{}).enterAt(name, r.Home, false) // nothing is changed, so nothing is locked
	if err != nil {
		return AskerClaims{}, err
	}
	defer v.leave()
	e, err := v.store().Read(keys.Identity())
	if err != nil {
		return AskerClaims{}, err
	}
	claims, err := asker.Verify([]byte(e.Keys[AskerKey].Reveal()), w.Token, d.now())
	if errors.Is(err, asker.ErrNoKey) {
		return AskerClaims{}, &Error{Text: name + " has no sealed asker key", Try: "rcsupervisor secret " + name + " set asker", Err: err}
	}
	if err != nil {
		err = &Error{Text: err.Error(), Try: "a token of this turn, from this profile", Err: err}
	}
	return AskerClaims(claims), err
}
