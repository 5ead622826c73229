package enroll

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"rcsupervisor/channel/chat"
	"rcsupervisor/profile"
)

// A RoomWish is what is asked about rooms: "" to list them, on or off.
type RoomWish struct {
	Do        string `json:"do,omitempty"`
	ID        string `json:"id,omitempty"` // a room id, or #name
	NoMention bool   `json:"no_mention,omitempty"`
}

// RoomActs are what can be done about a room.
var RoomActs = []string{"on", "off"}

// A Hall is the rooms that are on, and those the bot is a member of.
type Hall struct {
	Rooms   []RoomRow `json:"rooms"`
	Changed *RoomRow  `json:"changed,omitempty"`
	Note    string    `json:"note,omitempty"`
}

// A RoomRow is one room. Member is nil where the server could not be asked.
type RoomRow struct {
	ID      string `json:"id"`
	Name    string `json:"name"`
	On      bool   `json:"on"`
	Mention bool   `json:"mention"` // whether the bot must be named there
	Member  *bool  `json:"member"`
}

// Rooms lists the rooms of a profile's bot, after it did what was asked for.
func (d *Desk) Rooms(ctx context.Context, by Caller, name string, w RoomWish) (Hall, error) {
	if w.Do != "" && !slices.Contains(RoomActs, w.Do) {
		return Hall{}, unlikely("rcsupervisor rooms "+name+" on ID", "no such act on rooms%s", meant(w.Do, RoomActs))
	}
	if LooksLikeToken(w.ID) {
		return Hall{}, unlikely("rcsupervisor rooms "+name, "that looks like a token, not like a room")
	}
	if w.Do != "" && strings.TrimPrefix(w.ID, "#") == "" {
		return Hall{}, unlikely("rcsupervisor rooms "+name, "which room? a room id, or # and a name")
	}
	r, reading, err := d.enter(ctx, by, name)
	if err != nil {
		return Hall{}, err
	}
	defer r.leave()
	var h Hall
	joined, err := d.joined(ctx, r, reading)
	if err != nil {
		h.Note = "the server could not be asked which rooms the bot is in: " + err.Error()
	}
	if w.Do != "" {
		if err := d.changeRoom(ctx, r, joined, w, &h); err != nil {
			return h, err
		}
	}
	access, err := r.access()
	if err != nil {
		return h, err
	}
	h.Rooms = places(access.Rooms, joined)
	return h, nil
}

// joined are the rooms of more than two that the bot is in; nil where the
// server can't be asked. What can't be an id is no room.
func (d *Desk) joined(ctx context.Context, r *visit, reading profile.Reading) ([]chat.Room, error) {
	client, bot, err := d.client(r, reading)
	if err != nil {
		return nil, err
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	d.say("asking %s for the bot's rooms", bot.Server)
	rooms, _, err := client.Rooms(ctx, time.Time{})
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(append([]chat.Room{}, rooms...), func(r chat.Room) bool {
		return oneToOne(r) || written(r.ID) != r.ID
	}), nil
}

func oneToOne(r chat.Room) bool {
	return r.Kind == chat.Direct && r.UsersCount <= 2 && len(r.UserIDs) <= 2
}

func (d *Desk) changeRoom(ctx context.Context, r *visit, joined []chat.Room, w RoomWish, h *Hall) error {
	access, err := r.access()
	if err != nil {
		return err
	}
	known := places(access.Rooms, joined)
	if w.Do == "off" {
		known = slices.DeleteFunc(known, func(k RoomRow) bool { return !k.On })
	}
	id, name := w.ID, ""
	want, byName := strings.CutPrefix(w.ID, "#")
	if byName {
		id = ""
	}
	known = slices.DeleteFunc(known, func(k RoomRow) bool { return byName && !goesBy(k, want, joined) || !byName && k.ID != id })
	switch {
	case len(known) == 1:
		id, name = known[0].ID, known[0].Name
	case len(known) > 1:
		// Whoever may open a discussion gives it the name that he likes.
		var ids []string
		for _, k := range known {
			ids = append(ids, k.ID)
		}
		return unlikely("rcsupervisor rooms "+r.name+" "+w.Do+" ID", "%d rooms are called %s: %s", len(known), written(w.ID), strings.Join(ids, ", "))
	case w.Do == "off":
		return unlikely("rcsupervisor rooms "+r.name, "no room %s is on", written(w.ID))
	case id == "" && joined == nil:
		return &Error{Text: h.Note, Try: "the room's id in place of its name"}
	case id == "":
		return unlikely("rcsupervisor rooms "+r.name, "the bot is in no room %s; invite it there first", written(w.ID))
	case slices.ContainsFunc(joined, func(j chat.Room) bool { return called(j) == id }):
		return unlikely("rcsupervisor rooms "+r.name+" on '#"+id+"'", "no room has the id %s; a room's name begins with #", written(id))
	case joined != nil:
		h.Note = "the bot is not in that room yet; invite it there"
	}
	edit := profile.RoomOff(id)
	h.Changed = &RoomRow{ID: id, Name: name, On: w.Do == "on", Mention: !w.NoMention}
	if h.Changed.On {
		edit = profile.RoomOn(profile.Room{ID: id, Name: name, Mention: h.Changed.Mention})
	}
	err = d.edit(ctx, r, edit)
	if errors.Is(err, profile.ErrUnknown) {
		return &Error{Text: err.Error(), Try: "rcsupervisor rooms " + r.name, Err: err}
	}
	return err
}

func called(r chat.Room) string {
	if r.Kind == chat.Direct {
		return strings.Join(r.Usernames, ", ")
	}
	if r.FullName != "" && r.Parent != "" { // a discussion's name is random
		return r.FullName
	}
	return r.Name
}

// goesBy reports whether a room goes by a name: on its server, or, where that
// can't be told, in access.yaml.
func goesBy(k RoomRow, name string, joined []chat.Room) bool {
	for _, j := range joined {
		if j.ID == k.ID {
			return called(j) == name
		}
	}
	return k.Name == name
}

// places joins what is on with what the bot is in.
func places(on []profile.Room, joined []chat.Room) []RoomRow {
	all := []RoomRow{}
	is := func(b bool) *bool {
		if joined == nil {
			return nil
		}
		return &b
	}
	for _, r := range on {
		in := slices.ContainsFunc(joined, func(j chat.Room) bool { return j.ID == r.ID })
		all = append(all, RoomRow{ID: r.ID, Name: r.Name, On: true, Mention: r.Mention, Member: is(in)})
	}
	for _, j := range joined {
		if !slices.ContainsFunc(on, func(r profile.Room) bool { return r.ID == j.ID }) {
			all = append(all, RoomRow{ID: j.ID, Name: profile.ShownName(called(j)), Mention: true, Member: is(true)})
		}
	}
	return all
}
