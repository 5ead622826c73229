package channel

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"time"

	"rcsupervisor/channel/conversation"
	"rcsupervisor/channel/rest"
)

// learnEvery is how long what a server is like is believed. All bots of a
// server come back together after its restart; what they ask then is little.
const learnEvery = time.Hour

// knows reports whether what the server is like need not be asked again. The
// caller holds l.missing.
func (l *life) knows() bool {
	return !l.learned.IsZero() && time.Since(l.learned) < learnEvery && l.rules.Load().self.Username != ""
}

// learnServer finds out the server's version and its clock, of which the clock
// is needed. It reports false when the connection ended first. The caller holds
// l.missing.
func (l *life) learnServer(ctx context.Context) bool {
	if l.knows() {
		return true
	}
	client := l.client.Load()
	err := l.persist(ctx, "the server's version", func(ctx context.Context) error {
		info, err := client.Info(ctx)
		if err == nil {
			l.oldTyping.Store(!info.AtLeast(4, 0))
		}
		return err
	})
	return err == nil || errors.Is(err, errGaveUp)
}

// learn finds out how long a message may be, and how people call the bot. What
// can't be told now is asked again with the next connection. It reports false
// when this one ended first. The caller holds l.missing.
func (l *life) learn(ctx context.Context) bool {
	if l.knows() {
		return true
	}
	client := l.client.Load()
	l.learnSize(ctx, client)
	if l.rules.Load().self.Username == "" {
		l.learnName(ctx, client)
	}
	l.learned = time.Now()
	return ctx.Err() == nil
}

// learnSize asks how long a message may be on this server. Shorter parts than
// its own limit are never too long, so a server that doesn't say is no matter.
func (l *life) learnSize(ctx context.Context, client *rest.Client) {
	const setting = "Message_MaxAllowedSize"
	found, err := client.Settings(ctx, setting)
	if err != nil {
		l.log.Debug("the server's size of messages could not be asked", "err", err)
		return
	}
	var size float64
	if json.Unmarshal(found[setting], &size) != nil {
		size, _ = strconv.ParseFloat(string(found[setting]), 64)
	}
	if size < 1 || size > conversation.PartSize {
		size = conversation.PartSize
	}
	l.partSize.Store(int64(size))
}

// learnName asks how people call the bot: what it is mentioned as on servers
// that don't say whom a message mentions, and the name it types under.
func (l *life) learnName(ctx context.Context, client *rest.Client) {
	me, err := client.User(ctx, rest.UserQuery{ID: l.userID})
	switch {
	case err == nil && me.Username != "":
		l.named(me.Username, me.Roles)
	case err != nil && !errors.Is(err, context.Canceled):
		l.log.Debug("the bot's own name could not be asked", "err", err)
	}
}

// named takes the bot's name and roles into use, before the loop goes on: what
// comes next may be judged by them. The loop, too, keeps them.
func (l *life) named(username string, roles []string) {
	done := make(chan struct{})
	l.tell(func() {
		defer close(done)
		if was := l.rules.Load(); was.self.Username != username || !sameRoles(l.roles, roles) {
			l.username, l.roles = username, roles
			l.rules.Store(newRules(&l.start, username, roles...))
		}
	})
	select {
	case <-done:
	case <-l.ctx.Done():
	}
}
