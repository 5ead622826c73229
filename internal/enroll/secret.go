package enroll

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"rcsupervisor/internal/slips"
	"rcsupervisor/profile"
	"rcsupervisor/sealed"
)

// TokenKey and AskerKey are the names of the bot's own credentials, besides
// those of values.
const (
	TokenKey = "token"
	AskerKey = sealed.AskerKey
)

// A SecretWish is what is asked about what is sealed: "list", "set" or
// "unset". It is never asked for a value.
type SecretWish struct {
	Do        string `json:"do"`
	Key       string `json:"key,omitempty"` // token, asker, or the name of a value
	Value     Plain  `json:"value"`
	Unchecked bool   `json:"unchecked,omitempty"` // a token is not proved first
}

// SecretActs are what can be asked.
var SecretActs = []string{"list", "set", "unset"}

// A SealedList is what is sealed for a profile: names, and never values.
type SealedList struct {
	Server     string      `json:"server"`
	UserID     string      `json:"user_id"`
	Generation uint64      `json:"generation"`
	SealedAt   time.Time   `json:"sealed_at"`
	Stale      bool        `json:"stale"` // for other recipients than recipients.txt names
	Secrets    []SealedRow `json:"secrets"`
	Username   string      `json:"username,omitempty"` // of a token that was proved
	Changed    bool        `json:"changed"`
	Missing    []string    `json:"missing"` // named in agent.secrets, and not sealed
}

// A SealedRow is one secret.
type SealedRow struct {
	Name string `json:"name"`
	What string `json:"what"` // token, key or value
	Used bool   `json:"used"` // a value that agent.secrets names
}

// Secret lists what is sealed for a profile, after it changed it as asked.
func (d *Desk) Secret(ctx context.Context, by Caller, name string, w SecretWish) (SealedList, error) {
	if err := w.Check(name); err != nil {
		return SealedList{}, err
	}
	keys, err := d.Keys()
	if err != nil {
		return SealedList{}, err
	}
	r, reading, err := d.enter(ctx, by, name)
	if err != nil {
		return SealedList{}, err
	}
	defer r.leave()
	var list SealedList
	e, err := r.store().Read(keys.Identity())
	if err != nil {
		return list, err
	}
	switch w.Do {
	case "set":
		if w.Key == TokenKey && !w.Unchecked {
			if list.Username, err = d.proveAnew(ctx, r, reading, e, w.Value); err != nil {
				return list, err
			}
		}
		list.Changed = true
		e, err = d.update(r, keys, func(e *sealed.Envelope) error { return e.Set(w.Key, w.Value.Secret) })
	case "unset":
		if !e.Unset(w.Key) {
			return list, &Error{Text: name + " has no sealed " + w.Key, Try: "rcsupervisor secret " + name + " list"}
		}
		list.Changed = true
		e, err = d.update(r, keys, func(e *sealed.Envelope) error { e.Unset(w.Key); return nil })
	}
	if err != nil {
		return list, err
	}
	list.fill(e, reading.Settings.Agent.Secrets, keys)
	return list, nil
}

// Check fails for what can't be meant. A key that is none is not repeated: it
// may be the value.
func (w SecretWish) Check(name string) error {
	try := "rcsupervisor secret " + name + " list"
	if !slices.Contains(SecretActs, w.Do) {
		return unlikely(try, "no such act on secrets%s", meant(w.Do, SecretActs))
	}
	if w.Do == "list" {
		return nil
	}
	if w.Key == sealed.PostKey {
		return unlikely(try, "the key post is the program's own")
	}
	if w.Key == TokenKey || w.Key == AskerKey {
		if w.Do == "unset" && w.Key == TokenKey {
			return unlikely("rcsupervisor remove "+name, "a profile without a token is none; set another, or remove the profile")
		}
		return nil
	}
	near := slips.Nearest(w.Key, []string{TokenKey, AskerKey})
	slip := near != "" && w.Key == strings.ToLower(w.Key) // TOKEN is a variable's name, tokne is none anybody has
	if sealed.CheckValueName(w.Key) != "" || slip {
		text := "a key is token, asker, or a variable's name: letters, digits and _"
		if near != "" {
			text += "; did you mean " + near + "?"
		}
		return unlikely("rcsupervisor secret "+name+" set KEY, and the value when it asks", "%s", text)
	}
	return nil
}

func (d *Desk) proveAnew(ctx context.Context, r *visit, reading profile.Reading, e sealed.Envelope, token Plain) (string, error) {
	n, err := network(r.home, r.owner, reading.Settings)
	if err != nil {
		return "", err
	}
	d.say("asking %s whose token it is", e.Server)
	me, err := prove(ctx, Bot{Server: e.Server, UserID: e.UserID, Token: token.Secret}, n)
	if f, ok := asField(err); ok && me.ID == "" && f.Field == "user id" {
		f.Try = "rcsupervisor add " + r.name + " --server " + e.Server + " --force, to give the profile that bot"
	}
	return me.Username, err
}

// update changes what is sealed and gives it the next generation.
func (d *Desk) update(r *visit, keys *sealed.Keyring, change func(*sealed.Envelope) error) (sealed.Envelope, error) {
	floor, err := d.floor(r.name)
	if err != nil {
		return sealed.Envelope{}, err
	}
	d.say("sealing it")
	return r.store().Update(keys, floor, change)
}

func (l *SealedList) fill(e sealed.Envelope, used []string, keys *sealed.Keyring) {
	l.Server, l.UserID, l.Generation, l.SealedAt = e.Server, e.UserID, e.Generation, e.SealedAt
	l.Stale = e.Stale(keys.Recipients())
	l.Secrets = []SealedRow{{Name: TokenKey, What: "token", Used: true}}
	for _, name := range slices.Sorted(maps.Keys(e.Keys)) {
		l.Secrets = append(l.Secrets, SealedRow{Name: name, What: "key", Used: true})
	}
	for _, name := range slices.Sorted(maps.Keys(e.Values)) {
		l.Secrets = append(l.Secrets, SealedRow{Name: name, What: "value", Used: slices.Contains(used, name)})
	}
	l.Missing = append([]string{}, e.Missing(used)...)
}
