package channel

import (
	"context"
	"errors"
	"iter"
	"maps"
	"slices"
	"time"

	"rcsupervisor/channel/chat"
	"rcsupervisor/channel/ddp"
	"rcsupervisor/channel/dial"
	"rcsupervisor/channel/post"
	"rcsupervisor/channel/rest"
	"rcsupervisor/healthcheck"
	"rcsupervisor/profile"
	"rcsupervisor/sealed"
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

func (w wire) Upload(ctx context.Context, room string, f rest.File) (string, error) {
	return w.life.client.Load().Upload(ctx, room, f)
}

func (w wire) Confirm(ctx context.Context, room, file string, o rest.ConfirmOptions) (chat.Message, error) {
	return w.life.client.Load().Confirm(ctx, room, file, o)
}

func (w wire) OldUpload(ctx context.Context, room string, f rest.File, o rest.ConfirmOptions) (chat.Message, error) {
	return w.life.client.Load().OldUpload(ctx, room, f, o)
}

func (w wire) Room(ctx context.Context, id string) (chat.Room, error) {
	return w.life.client.Load().Room(ctx, id)
}

func (w wire) Backward(ctx context.Context, q rest.HistoryQuery) iter.Seq2[chat.Message, error] {
	return w.life.client.Load().Backward(ctx, q)
}

func (l *life) react(ctx context.Context, message, emoji string, on bool) error {
	return l.client.Load().React(ctx, message, emoji, on)
}

// asked returns how long a failed call asks to wait, 0 when it doesn't say, and
// takes note that the server limits us.
func (l *life) asked(err error) time.Duration {
	if errors.Is(err, rest.ErrRateLimited) {
		l.limited.Store(time.Now().Unix())
		l.touched()
	}
	return post.Asked(err)
}

// newClient makes the REST client for settings and credentials, over the network
// that the socket is made over too.
func (l *life) newClient(s *Start) (another, error) {
	way := l.way(s)
	if err := way.Check(); err != nil {
		return another{}, err
	}
	client, err := rest.New(rest.Config{
		Server: s.Credentials.Server, UserID: s.Credentials.UserID, Token: s.Credentials.Token,
		Network: way, Log: l.log,
		Allow: func(ctx context.Context, route string) error {
			return l.link.Allow(ctx, Permit{Kind: PermitREST, Route: route})
		},
		Limited: func(route string, d time.Duration) {
			_ = l.link.Allow(l.ctx, Permit{Kind: PermitLimited, Route: route, For: d})
		},
	})
	return another{client, way}, err
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

// apply takes new settings, access or credentials into use, or leaves
// everything as it was. Runs on the loop.
func (l *life) apply(a Apply) error {
	next := l.start
	next.Settings, next.Access, next.Credentials = a.Settings, a.Access, a.Credentials
	next.Siblings, next.CA = a.Siblings, a.CA
	client, err := l.anotherClient(&next, a.Reconnect)
	if err != nil {
		return err
	}
	if !sameAgent(l.start, next) {
		hired, err := l.env.Agent(next, l.link)
		if err != nil {
			client.close(l)
			return err
		}
		l.staff.replace(hired)
	}
	client.use(l)
	was := l.start
	l.start = next
	l.rules.Store(newRules(&l.start, l.username, l.roles...))
	l.dropUnwelcome(was.Access)
	if next.Settings.Health.Check != was.Settings.Health.Check {
		l.checks.Reset(next.Settings.Health.Check)
	}
	if c := l.socket.Load(); c != nil {
		c.SetHealth(next.Settings.Health.Silence, next.Settings.Health.Ping)
	}
	if a.Reconnect && l.conn != nil {
		l.conn.cancel(&ddp.End{Reason: healthcheck.Reload, Err: errors.New("the profile's files changed")})
	}
	return nil
}

// sameAgent reports whether nothing changed that an agent is started with.
func sameAgent(a, b Start) bool {
	x, y := a.Settings.Agent, b.Settings.Agent
	return x.Kind == y.Kind && slices.Equal(x.Command, y.Command) && slices.Equal(x.Secrets, y.Secrets) &&
		maps.Equal(x.Env, y.Env) && maps.EqualFunc(a.Credentials.Values, b.Credentials.Values, sealed.Secret.Equal)
}

// another is a client that is to take the place of the one there is, with its
// network; the zero one is none.
type another struct {
	client  *rest.Client
	network *dial.Network
}

func (l *life) anotherClient(next *Start, wanted bool) (another, error) {
	if !wanted && l.way(next) == l.network {
		return another{}, nil
	}
	return l.newClient(next)
}

func (a another) use(l *life) {
	if a.client != nil {
		l.network = a.network
		another{client: l.client.Swap(a.client)}.close(l)
	}
}

// close lets a client go, which waits for its dials to break off.
func (a another) close(l *life) {
	if a.client != nil {
		l.work.Go(l.guarded(a.client.Close))
	}
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
