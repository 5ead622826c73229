package channel

import (
	"context"
	"errors"
	"fmt"

	"rcsupervisor/channel/agent"
	"rcsupervisor/channel/chat"
	"rcsupervisor/channel/ddp"
	"rcsupervisor/channel/rest"
	"rcsupervisor/dedup"
	"rcsupervisor/healthcheck"
	"rcsupervisor/profile"
)

// wire is the REST client there is at the moment of each call: a new token
// brings a new one.
type wire struct{ life *life }

func (w wire) SendMessage(ctx context.Context, m rest.Outgoing) (chat.Message, error) {
	return w.life.client.Load().SendMessage(ctx, m)
}

func (w wire) Message(ctx context.Context, id string) (chat.Message, error) {
	return w.life.client.Load().Message(ctx, id)
}

func (w wire) Delete(ctx context.Context, room, id string) error {
	return w.life.client.Load().Delete(ctx, room, id)
}

func (l *life) react(ctx context.Context, message, emoji string, on bool) error {
	return l.client.Load().React(ctx, message, emoji, on)
}

// newClient makes the REST client for settings and credentials.
func (l *life) newClient(s Start) (*rest.Client, error) {
	network := l.network(s)
	if err := network.Check(); err != nil {
		return nil, err
	}
	return rest.New(rest.Config{
		Server: s.Credentials.Server, UserID: s.Credentials.UserID, Token: s.Credentials.Token,
		Network: network, Log: l.log,
		Allow: func(ctx context.Context, route string) error {
			return l.link.Allow(ctx, Permit{Kind: PermitREST, Route: route})
		},
	})
}

// typing sends a notice over the socket there is: user-activity, which servers
// listen to from 4.0 on, or typing, which those before do.
func (l *life) typing(room, thread string, on bool) {
	c, name := l.socket.Load(), l.rules.Load().self.Username
	if c == nil || name == "" {
		return
	}
	if l.oldTyping.Load() {
		c.Call("stream-notify-room", room+"/typing", name, on)
		return
	}
	activity, extra := []string{}, map[string]string{}
	if on {
		activity = append(activity, "user-typing")
	}
	if thread != "" {
		extra["tmid"] = thread
	}
	c.Call("stream-notify-room", room+"/user-activity", name, activity, extra)
}

// apply takes new settings, access or credentials into use. Runs on the loop.
func (l *life) apply(a Apply) error {
	next := l.start
	next.Settings, next.Access, next.Credentials = a.Settings, a.Access, a.Credentials
	next.Siblings, next.CA = a.Siblings, a.CA
	if a.Reconnect {
		client, err := l.newClient(next)
		if err != nil {
			return err
		}
		l.client.Swap(client).Close()
	}
	was := l.start.Access
	l.start = next
	l.rules.Store(newRules(next, l.username))
	l.dropUnwelcome(was)
	if c := l.socket.Load(); c != nil {
		c.SetHealth(next.Settings.Health.Silence, next.Settings.Health.Ping)
	}
	if a.Reconnect && l.conn != nil {
		l.conn.cancel(&ddp.End{Reason: healthcheck.Reload, Err: errors.New("the profile's files changed")})
	}
	return nil
}

// dropUnwelcome takes out what people have waiting who are no longer let in.
func (l *life) dropUnwelcome(was profile.Access) {
	policy := l.rules.Load().policy
	for _, p := range was.People {
		if p.Role != profile.Blocked && !policy.LetIn(p.ID) {
			l.talks.Drop(p.ID)
		}
	}
}

// openStore is the real store.
func openStore(path, bot string) (dedup.Store, error) {
	return dedup.Open(path, dedup.Options{Bot: bot})
}

// newAgent makes the agent the settings name.
func newAgent(s Start, _ Link) (agent.Agent, error) {
	if kind := s.Settings.Agent.Kind; kind != "echo" {
		return nil, fmt.Errorf("agent.kind %q is not supported by this build", kind)
	}
	return agent.Echo{}, nil
}
