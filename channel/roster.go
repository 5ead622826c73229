package channel

import (
	"context"
	"sync"
	"time"

	"rcsupervisor/channel/rest"
)

// How long the bot's memberships are believed, and how soon they are asked for
// again because of a room that is not among them.
const (
	rosterFresh = 10 * time.Minute
	rosterAgain = 30 * time.Second
)

// A roster is the rooms that the bot is in, as subscriptions.get last said.
type roster struct {
	mu    sync.Mutex
	asked time.Time
	rooms map[string]membership
}

// A membership of the bot in one room.
type membership struct {
	member bool
	joined time.Time
	roles  []string
}

// of returns the bot's membership of a room. All are asked for at once, and not
// often.
func (r *roster) of(ctx context.Context, client *rest.Client, room string) (membership, error) {
	r.mu.Lock()
	m, age := r.rooms[room], time.Since(r.asked)
	r.mu.Unlock()
	if m.member && age < rosterFresh || age < rosterAgain {
		return m, nil
	}
	rooms, err := r.ask(ctx, client)
	if err != nil {
		return membership{}, err
	}
	return rooms[room], nil
}

// ask asks for all memberships.
func (r *roster) ask(ctx context.Context, client *rest.Client) (map[string]membership, error) {
	subs, _, err := client.Subscriptions(ctx, time.Time{})
	if err != nil {
		return nil, err
	}
	rooms := make(map[string]membership, len(subs))
	for _, s := range subs {
		rooms[s.RoomID] = membership{member: true, joined: s.Joined.Time, roles: s.Roles}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.rooms, r.asked = rooms, time.Now()
	return rooms, nil
}
