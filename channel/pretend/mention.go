package pretend

import (
	"regexp"
	"strings"
)

// mentionsLocked finds who is mentioned in a text as this version's server
// does: up to 8 with a regular expression, later with message-parser, whose
// outcome (not its grammar) is reproduced here. Users need not be members.
// @all and @here come first, as in the server's own lists.
func (s *Server) mentionsLocked(text string) []Mention {
	names := mentionedOld(text)
	if s.v.parser {
		names = mentionedNew(text)
	}
	list := []Mention{}
	seen := map[string]bool{}
	for _, n := range names {
		if (n == "all" || n == "here") && !seen[n] {
			seen[n] = true
			list = append(list, Mention{ID: n, Username: n})
		}
	}
	for _, n := range names {
		if seen[n] {
			continue
		}
		seen[n] = true
		if u := s.byName[n]; u != nil {
			list = append(list, Mention{ID: u.id, Username: u.username, Name: u.name, Type: "user"})
		} else if id := s.teams[n]; id != "" {
			list = append(list, Mention{ID: id, Name: n, Type: "team"})
		}
	}
	return list
}

// (^|\s|>)@(P(@P)?(:P)?) with the default UTF8_User_Names_Validation as P
// (MentionsParser.js).
var oldMention = regexp.MustCompile(`(?m)(?:^|\s|>)@([0-9a-zA-Z-_.]+(?:@[0-9a-zA-Z-_.]+)?(?::[0-9a-zA-Z-_.]+)?)`)

func mentionedOld(text string) []string {
	var names []string
	for _, m := range oldMention.FindAllStringSubmatch(text, -1) {
		names = append(names, m[1])
	}
	return names
}

var (
	fenced     = regexp.MustCompile("(?s)(?m:^)```.*?```")
	inlineCode = regexp.MustCompile("`[^`\n]+`")
	linkText   = regexp.MustCompile(`\[[^\]\n]*\]\([^)\n]*\)`)
	heading    = regexp.MustCompile(`(?m)^#{1,4} .*$`)
	newMention = regexp.MustCompile(`^[0-9a-zA-Z-_.]+(?:@[0-9a-zA-Z-_.]+)?(?::[0-9a-zA-Z-_.]+)?`)
)

// mentionedNew: no mention in code, in a link's text or in a heading; before
// the @ stands the start, white space or an opening mark; the name is as long
// as it can be, so that "@hermes." and "_@hermes_" name somebody else.
func mentionedNew(text string) []string {
	for _, hide := range []*regexp.Regexp{fenced, inlineCode, linkText, heading} {
		text = hide.ReplaceAllStringFunc(text, func(s string) string { return strings.Repeat("\x00", len(s)) })
	}
	var names []string
	for i := 0; i < len(text); i++ {
		if text[i] != '@' || (i > 0 && !strings.ContainsRune(" \t\r\n(*_~>\\[{|", rune(text[i-1]))) {
			continue
		}
		if n := newMention.FindString(text[i+1:]); n != "" {
			names = append(names, n)
			i += len(n)
		}
	}
	return names
}

var linkPattern = regexp.MustCompile(`https?://[^\s<>()\[\]"]+`)

// linksIn finds the addresses in a text.
func linksIn(text string) []Link {
	if !strings.Contains(text, "://") {
		return nil
	}
	var links []Link
	for _, u := range linkPattern.FindAllString(text, -1) {
		links = append(links, Link{URL: u})
	}
	return links
}

// AddTeam makes a team that can be mentioned; its members don't matter to a
// bot. It returns the team's id.
func (s *Server) AddTeam(name string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	id := newID()
	s.teams[name] = id
	return id
}
