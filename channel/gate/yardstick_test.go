package gate

import (
	"testing"
	"time"

	"rcsupervisor/channel/chat"
)

// What keeps a shared bot from acting for the wrong person, risk by risk, as
// far as the gate is where it is met. The prompt has the rest.
func TestASharedBotActsForNobodyElse(t *testing.T) {
	for _, c := range []struct {
		risk   string
		change func(*chat.Message, *Facts)
		want   string
	}{
		{"anyone runs privileged agent commands", func(m *chat.Message, _ *Facts) { m.Text = "@hermes /yolo" }, "REFUSE command"},
		{"anyone runs privileged agent commands: nobody knows them all", func(m *chat.Message, _ *Facts) { m.Text = "@hermes /a-new-one" }, "REFUSE command"},
		{"one member changes approvals for everybody: by a command", func(m *chat.Message, _ *Facts) { m.Text = "@hermes /approve always" }, "REFUSE command"},
		{"one member changes approvals for everybody: by words", func(m *chat.Message, f *Facts) {
			m.Text, f.Requests = "@hermes always", []Request{request()}
		}, "REFUSE pending"},
		{"one member changes approvals for everybody: by another's numbers", func(m *chat.Message, f *Facts) {
			m.Text, f.Requests = "41", []Request{request()}
		}, "awaited"},
		{"a mention pulls the bot into a room", func(_ *chat.Message, f *Facts) { f.Room.Participant = false }, "membership*"},
		{"bots answer each other for ever: itself", func(m *chat.Message, _ *Facts) { m.Sender = self }, "own"},
		{"bots answer each other for ever: listed", func(m *chat.Message, _ *Facts) { m.Sender.ID = ignored }, "ignored"},
		{"bots answer each other for ever: of this house", func(m *chat.Message, _ *Facts) { m.Sender.ID = sibling }, "sibling"},
		{"bots answer each other for ever: by role", func(m *chat.Message, _ *Facts) { m.Sender.ID = otherBot }, "bot"},
		{"bots answer each other for ever: webhooks", func(m *chat.Message, _ *Facts) { m.Automated = true }, "bot"},
		{"bots answer each other for ever: unknown ones", func(_ *chat.Message, f *Facts) { f.OverCap = true }, "loop"},
		{"a prefix wakes the wrong bot", func(m *chat.Message, _ *Facts) {
			m.Text, m.Mentions, m.MentionsSet = "@hermes-beta hello", nil, false
		}, "unwoken"},
		{"an old message runs again after a reaction: it is marked", touched(chat.TouchReaction, time.Minute), "reemit*"},
		{"an old message runs again after a reaction: it is old", func(m *chat.Message, _ *Facts) { m.Sent = chat.At(noon.Add(-time.Hour)) }, "age*"},
		{"nobody is let in by default", func(m *chat.Message, _ *Facts) { m.Sender.ID = stranger }, "stranger"},
		{"no channel is on by default", func(m *chat.Message, _ *Facts) { m.RoomID = "rOther" }, "room-off"},
	} {
		m, f := hello(), facts()
		if got := short(Decide(m, f)); got != "ASK" {
			t.Fatalf("before anything is changed: %s", got)
		}
		c.change(&m, &f)
		if got := short(Decide(m, f)); got != c.want {
			t.Errorf("%s: %s, want %s", c.risk, got, c.want)
		}
	}
}
