package pretend

import (
	"strings"
	"testing"
)

func mentioned(s *Server, text string) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	names := []string{}
	for _, m := range s.mentionsLocked(text) {
		names = append(names, m.Username)
	}
	return names
}

// TestMentions: what a real 3.4.0 and message-parser 0.31.35 make of a text.
func TestMentions(t *testing.T) {
	old, parser := New(Options{Version: V34}), New(Options{Version: V9})
	defer old.Close()
	defer parser.Close()
	for _, s := range []*Server{old, parser} {
		for _, n := range []string{"hermes", "hermes-beta", "hermes_"} {
			s.AddUser(n, UserOptions{Bot: true})
		}
	}
	for _, c := range []struct{ text, old, parser string }{
		{"@hermes hello", "hermes", "hermes"},
		{"hello @hermes", "hermes", "hermes"},
		{"@hermes-beta @hermes. @all", "all hermes-beta", "all hermes-beta"},
		{"@here @all", "here all", "here all"},
		{"@hermes, do", "hermes", "hermes"},
		{"@hermes: do", "hermes", "hermes"},
		{"@hermes!", "hermes", "hermes"},
		{"(@hermes)", "", "hermes"},
		{"*@hermes*", "", "hermes"},
		{"@hermes's", "hermes", "hermes"},
		{"@hermes/beta", "hermes", "hermes"},
		{"> @hermes", "hermes", "hermes"},
		{">@hermes", "hermes", "hermes"},
		{"- @hermes", "hermes", "hermes"},
		{`\@hermes`, "", "hermes"},
		{"@hermes\u200b", "hermes", "hermes"},
		{"@hermes.", "", ""},
		{"@hermes-", "", ""},
		{"_@hermes_", "", "hermes_"},
		{"@Hermes", "", ""},
		{"@hermés", "", ""},
		{"@hermes@server.org", "", ""},
		{"@hermes:matrix.org", "", ""},
		{"`@hermes`", "", ""},
		{"```\n@hermes\n```", "hermes", ""},
		{"[@hermes](https://example.org)", "", ""},
		{"# @hermes", "hermes", ""},
		{"<@hermes>", "", ""},
		{`"@hermes"`, "", ""},
		{"foo,@hermes", "", ""},
		{"@@hermes", "", ""},
		{"me@hermes", "", ""},
		{"@hermes @hermes", "hermes", "hermes"},
		{"one\n@hermes", "hermes", "hermes"},
		{"@nobody", "", ""},
		{"@", "", ""},
	} {
		for s, want := range map[*Server]string{old: c.old, parser: c.parser} {
			if got := strings.Join(mentioned(s, c.text), " "); got != want {
				t.Errorf("%s, %q: %q, want %q", s.Version(), c.text, got, want)
			}
		}
	}
}

func TestTeamMention(t *testing.T) {
	w := newWorld(t, Options{})
	id := w.AddTeam("support")
	m := w.Say(w.alice, w.lab, "@support please")
	if len(m.Mentions) != 1 || m.Mentions[0].Type != "team" || m.Mentions[0].ID != id {
		t.Errorf("%+v", m.Mentions)
	}
	if m := w.Say(w.alice, w.lab, "@hermes", SayOptions{NoMentions: true}); m.Mentions != nil {
		t.Errorf("%+v", m.Mentions)
	}
}
