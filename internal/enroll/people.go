package enroll

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"

	"rcsupervisor/channel/rest"
	"rcsupervisor/internal/people"
	"rcsupervisor/internal/slips"
	"rcsupervisor/profile"
)

// A PersonWish is what is asked about people: "" to list them, let-in, owner,
// block or forget.
type PersonWish struct {
	Do string `json:"do,omitempty"`
	ID string `json:"id,omitempty"` // a user id, or @username
}

// PersonActs are what can be done about a person.
var PersonActs = []string{"let-in", "owner", "block", "forget"}

// A Crowd is who may talk, and who asks to.
type Crowd struct {
	People   []PersonRow      `json:"people"`
	Requests []people.Request `json:"requests"`
	Changed  *PersonRow       `json:"changed,omitempty"` // as it is now; no role: forgotten
	Note     string           `json:"note,omitempty"`    // what a person should know of it
}

// A PersonRow is one person.
type PersonRow struct {
	ID   string       `json:"id"`
	Name string       `json:"name"`
	Role profile.Role `json:"role"`
}

// People lists who may talk to a profile's bot, after it did what was asked
// for. A person's word is in use at once.
func (d *Desk) People(ctx context.Context, by Caller, name string, w PersonWish) (Crowd, error) {
	if w.Do != "" && !slices.Contains(PersonActs, w.Do) {
		return Crowd{}, unlikely("rcsupervisor people "+name+" let-in ID", "no such act on people%s", meant(w.Do, PersonActs))
	}
	r, reading, err := d.enter(ctx, by, name)
	if err != nil {
		return Crowd{}, err
	}
	defer r.leave()
	var c Crowd
	if w.Do != "" {
		if c, err = d.changePerson(ctx, r, reading, w); err != nil {
			return c, err
		}
	}
	access, err := r.access()
	if err != nil {
		return c, err
	}
	c.People = []PersonRow{}
	for _, p := range access.People {
		c.People = append(c.People, PersonRow(p))
	}
	requests, err := d.Book.Requests(name)
	c.Requests = append([]people.Request{}, requests...)
	return c, err
}

// written is what somebody wrote as it goes into a sentence: bounded, and
// nothing that a terminal would do more with than show it.
func written(s string) string {
	if len(s) <= 64 && !strings.ContainsFunc(s, func(r rune) bool { return !strconv.IsPrint(r) }) {
		return s
	}
	return strconv.Quote(s[:min(len(s), 64)])
}

func meant(word string, known []string) string {
	if near := slips.Nearest(word, known); near != "" {
		return ": did you mean " + near + "?"
	}
	return ": " + strings.Join(known, ", ")
}

func (d *Desk) changePerson(ctx context.Context, r *visit, reading profile.Reading, w PersonWish) (Crowd, error) {
	p, note, err := d.person(ctx, r, reading, w)
	if err != nil {
		return Crowd{}, err
	}
	c := Crowd{Note: note}
	asked, err := d.Book.Asked(r.name, p.ID)
	if err != nil {
		return c, err
	}
	before, err := r.access()
	if err != nil {
		return c, err
	}
	edit := profile.Forget(p.ID)
	if w.Do != "forget" {
		p.Role = map[string]profile.Role{"let-in": profile.Member, "owner": profile.Owner, "block": profile.Blocked}[w.Do]
		edit = profile.LetIn(p)
	}
	c.Changed = (*PersonRow)(&p)
	err = d.edit(ctx, r, edit)
	if errors.Is(err, profile.ErrUnknown) && asked {
		err = nil // who only asked is forgotten by dropping his request
	}
	if errors.Is(err, profile.ErrUnknown) {
		return c, &Error{Text: err.Error(), Try: "rcsupervisor people " + r.name, Err: err}
	}
	if err != nil {
		return c, err
	}
	if after, err := r.access(); err == nil && owned(before) && !owned(after) {
		c.Note = strings.TrimPrefix(c.Note+"; "+noOwner, "; ")
	}
	return c, d.Book.Settle(r.name, p.ID)
}

// owned reports whether anybody is an owner.
func owned(a profile.Access) bool {
	return slices.ContainsFunc(a.People, func(p profile.Person) bool { return p.Role == profile.Owner })
}

// noOwner is what a person should know who took the last owner away.
const noOwner = "nobody is an owner any more: what the agent asks leave for is refused until somebody is"

// person finds out who is meant. Without the server an id is taken as it is,
// and a name can't be.
func (d *Desk) person(ctx context.Context, r *visit, reading profile.Reading, w PersonWish) (p profile.Person, note string, err error) {
	name, byName := strings.CutPrefix(w.ID, "@")
	if LooksLikeToken(w.ID) {
		return p, "", unlikely("rcsupervisor people "+r.name+" "+w.Do+" ID", "that looks like a token, not like a user id")
	}
	if w.ID == "" || name == "" {
		return p, "", unlikely("rcsupervisor people "+r.name+" "+w.Do+" ID", "whom? a user id, or @ and a username")
	}
	client, bot, err := d.client(r, reading)
	if err == nil {
		defer client.Close()
		if w.ID == bot.UserID {
			return p, "", unlikely("rcsupervisor people "+r.name, "that is the bot itself")
		}
		d.say("asking %s who that is", bot.Server)
		if p, err = whoIs(ctx, client, r.name, w); err == nil && p.ID == bot.UserID {
			return p, "", unlikely("rcsupervisor people "+r.name, "that is the bot itself")
		}
	}
	switch {
	case err == nil:
		return p, "", nil
	case byName || errors.Is(err, ErrUnlikely):
		return p, "", err
	}
	if known := d.nameHere(r, w.ID); known != "" {
		return profile.Person{ID: w.ID, Name: known}, "", nil
	}
	return profile.Person{ID: w.ID}, "the server could not be asked who that is: " + err.Error(), nil
}

// nameHere is what a person is called in what is known without the server.
func (d *Desk) nameHere(r *visit, id string) string {
	if requests, err := d.Book.Requests(r.name); err == nil {
		for _, q := range requests {
			if q.ID == id {
				return profile.ShownName(q.Name)
			}
		}
	}
	if a, err := r.access(); err == nil {
		for _, p := range a.People {
			if p.ID == id {
				return p.Name
			}
		}
	}
	return ""
}

// whoIs asks the server. An id that is nobody's may be a username without its @.
func whoIs(ctx context.Context, client *rest.Client, profileName string, w PersonWish) (profile.Person, error) {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	name, byName := strings.CutPrefix(w.ID, "@")
	q := rest.UserQuery{ID: w.ID}
	if byName {
		q = rest.UserQuery{Username: name}
	}
	u, err := client.User(ctx, q)
	if err == nil {
		return profile.Person{ID: u.ID, Name: profile.ShownName(u.Username)}, nil
	}
	if !errors.Is(err, rest.ErrNotFound) {
		return profile.Person{}, err
	}
	if byName {
		return profile.Person{}, unlikely("the id in the profile on the server, without @", "the server has nobody called %s", written(w.ID))
	}
	if w.Do == "forget" || w.Do == "block" {
		return profile.Person{ID: w.ID}, nil // one who has left the server may still be in the file
	}
	if u, err := client.User(ctx, rest.UserQuery{Username: w.ID}); err == nil {
		return profile.Person{}, unlikely("rcsupervisor people "+profileName+" "+w.Do+" @"+written(u.Username), "no user has the id %s; a username begins with @", written(w.ID))
	}
	return profile.Person{}, unlikely("rcsupervisor people "+profileName+" "+w.Do+" @USERNAME", "the server has no user of the id %s", written(w.ID))
}

// client is a REST client of the profile's bot, for asking who and what is
// meant.
func (d *Desk) client(r *visit, reading profile.Reading) (*rest.Client, Bot, error) {
	keys, err := d.Keys()
	if err != nil {
		return nil, Bot{}, err
	}
	e, err := r.store().Read(keys.Identity())
	if err != nil {
		return nil, Bot{}, err
	}
	n, err := network(r.home, r.owner, reading.Settings)
	if err != nil {
		return nil, Bot{}, err
	}
	client, err := rest.New(rest.Config{Server: e.Server, UserID: e.UserID, Token: e.Token, Network: n})
	return client, Bot{Server: e.Server, UserID: e.UserID}, err
}
