package channel

import (
	"context"
	"slices"
	"time"

	"rcsupervisor/channel/agent"
	"rcsupervisor/channel/chat"
	"rcsupervisor/channel/conversation"
	"rcsupervisor/channel/gate"
	"rcsupervisor/channel/prompt"
	"rcsupervisor/channel/prompt/asker"
	"rcsupervisor/channel/rest"
	"rcsupervisor/profile"
)

// earlierTime bounds asking for what was said before a question. Without it
// the question is asked all the same.
const earlierTime = 10 * time.Second

// prepare makes what the agent is given. It runs on the conversation's
// goroutine when the question's turn has come.
func (l *life) prepare(ctx context.Context, item conversation.Item) (agent.Question, error) {
	m := &item.Message
	q := agent.Question{
		Profile: l.profile, Conversation: nameOf(item.Key),
		Room:   agent.Room{ID: m.RoomID, Name: item.Room, Kind: item.Kind},
		Sender: agent.Sender{ID: m.Sender.ID, Username: m.Sender.Username, Name: m.Sender.Name, Role: item.Role},
		Message: agent.Message{
			ID: m.ID, Text: asker.Remove(item.Text), TS: m.Sent.UTC().Format(time.RFC3339Nano), Thread: m.Thread,
		},
		Bare: item.Bare,
	}
	r := l.rules.Load()
	references := item.Role == string(profile.Owner) && r.access.AllowContextReferences
	switch {
	case r.bare():
	case item.Bare:
		q.Prompt = prompt.Bare(item.Text, references)
	default:
		var shown []prompt.File
		q.Files, shown = l.fetch(ctx, m)
		q.Asker = asker.Sign(r.askerKey, m.Sender.ID, m.RoomID, time.Now())
		q.Prompt = prompt.Build(l.shown(ctx, r, item, q.Asker, references, shown))
	}
	return q, ctx.Err()
}

// shown is what the prompt is made of.
func (l *life) shown(ctx context.Context, r *rules, item conversation.Item, token string, references bool, files []prompt.File) prompt.Question {
	m := &item.Message
	return prompt.Question{
		Room:   prompt.Room{ID: m.RoomID, Name: item.Room, Kind: item.Kind},
		Thread: m.Thread, Token: token, Sender: m.Sender, Role: profile.Role(item.Role),
		Earlier: l.earlier(ctx, r, item),
		Limits:  prompt.Limits{Messages: r.settings.Context.Messages, Chars: r.settings.Context.Chars},
		Text:    item.Text, Quotes: m.Attachments, Files: files, References: references,
	}
}

// earlier returns what was said before a question in its thread or room, oldest
// first.
func (l *life) earlier(ctx context.Context, r *rules, item conversation.Item) []prompt.Earlier {
	n := r.settings.Context.Messages
	if n <= 0 || r.settings.Context.Chars <= 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, earlierTime)
	defer cancel()
	read := l.roomBefore
	if item.Message.Thread != "" {
		read = l.threadBefore
	}
	found, err := read(ctx, item, n)
	if err != nil {
		l.log.Debug("what was said before a question could not be read", "message", item.ID.Message, "err", err)
	}
	var earlier []prompt.Earlier
	since := l.since(nameOf(item.Key))
	for _, m := range found {
		if m.ID == item.ID.Message || m.Sent.After(item.ID.At) || m.Sent.Before(since) {
			continue
		}
		theirs := !m.Touched.Has(chat.TouchRewritten) // what a moderator wrote into it is nobody's word
		earlier = append(earlier, prompt.Earlier{
			Message: m, Own: theirs && m.Sender.ID == l.userID, LetIn: theirs && r.policy.LetIn(m.Sender.ID),
			Root: m.ID == item.Message.Thread,
		})
	}
	return earlier
}

// roomBefore returns the newest n messages of a room before a question, oldest
// first, without those that only threads show.
func (l *life) roomBefore(ctx context.Context, item conversation.Item, n int) ([]chat.Message, error) {
	found, err := l.client.Load().History(ctx, rest.HistoryQuery{
		Kind: historyKind(item), Room: item.Key.Room, Latest: item.ID.At, Count: min(2*n+1, pageSize), Inclusive: true,
	})
	found = slices.DeleteFunc(found, func(m chat.Message) bool { return m.Thread != "" && !m.AlsoInRoom })
	found = found[:min(len(found), n+1)]
	slices.Reverse(found)
	return found, err
}

// threadBefore returns a thread's root and the newest n messages of it.
func (l *life) threadBefore(ctx context.Context, item conversation.Item, n int) ([]chat.Message, error) {
	client := l.client.Load()
	found, err := client.ThreadMessages(ctx, item.Message.Thread, min(n+1, pageSize))
	if err != nil {
		return nil, err
	}
	slices.Reverse(found)
	root, err := client.Message(ctx, item.Message.Thread)
	if err != nil || root.RoomID != item.Key.Room {
		return found, err
	}
	return append([]chat.Message{root}, found...), nil
}

// historyKind is the kind of room under which its history is asked for. A group
// to an agent is a private channel or a direct room of several people.
func historyKind(item conversation.Item) chat.Kind {
	switch item.Kind {
	case string(gate.KindDirect):
		return chat.Direct
	case string(gate.KindChannel):
		return chat.Channel
	}
	if item.Direct {
		return chat.Direct
	}
	return chat.Group
}
