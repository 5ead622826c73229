package gate

import (
	"strings"
	"unicode"

	"rcsupervisor/internal/unseen"
)

// parseCommand reads a text as Hermes reads a command: leading white space
// dropped, the first word in lower case, a @suffix of it dropped, and a word
// with another / in it is a path. sign is '/' or '!'; name is "" for a text
// that is none. Characters that are not seen are skipped before the sign and in
// the word, so that nothing that looks like a command passes for a question.
//
// Any /word is a command, known or not: skills, plugins and quick commands add
// words that can't be listed. Whether a !word is one the caller decides.
func parseCommand(text string) (name, args string, sign byte) {
	text = strings.TrimLeftFunc(text, blank)
	if text == "" || text[0] != '/' && text[0] != '!' {
		return "", "", 0
	}
	sign, text = text[0], text[1:]
	word := text
	if i := strings.IndexFunc(text, endsWord); i >= 0 {
		word, args = text[:i], strings.TrimFunc(text[i:], blank)
	}
	if strings.ContainsRune(word, '/') {
		return "", "", 0
	}
	word, _, _ = strings.Cut(word, "@")
	for _, name := range [...]string{strings.Map(seen, word), word} {
		if strings.IndexFunc(name, letterOrDigit) == 0 {
			return strings.ToLower(name), args, sign
		}
	}
	return "", "", 0
}

// blank holds for what shows nothing: white space, and characters that are not
// seen at all.
func blank(r rune) bool { return unicode.IsSpace(r) || unseen.Is(r) }

// endsWord holds for what a word ends at. Characters that merely are not seen
// lie within it.
func endsWord(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }

// seen drops a character that is not, unless a word ends at it.
func seen(r rune) rune {
	if unseen.Is(r) && !endsWord(r) {
		return -1
	}
	return r
}

func letterOrDigit(r rune) bool { return r == '_' || unicode.In(r, unicode.L, unicode.N) }

// bare returns a command as Hermes reads it: with its slash, and everything
// after the word as it was written.
func bare(name, args string, sign byte, text string) string {
	if sign == 0 {
		return text // plain words that Hermes takes for a command
	}
	if args == "" {
		return "/" + name
	}
	text = strings.TrimLeftFunc(text, blank)
	return "/" + name + strings.TrimRightFunc(text[strings.IndexFunc(text, endsWord):], blank)
}

func ours(name string) bool {
	switch name {
	case Help, Status, Stop, New:
		return true
	}
	return false
}

// known reports whether a word is one of Hermes' commands, or of ours. With an
// exclamation mark before it, it is then a command, not an exclamation.
func known(name string) bool { return hermesCommands.Has(name) || ours(name) }

// hermesCommands are the words of Hermes' command registry with their other
// names, of the gateway and of its command line.
var hermesCommands = NewSet(strings.Fields(`
	start new reset topic save retry undo title branch fork compress compact rollback stop pause approve deny
	background bg btw agents tasks queue q steer goal heartbeat hb refine loop proactive moa subgoal status egress
	context ctx whoami profile sethome set-home resume sessions model codex-runtime personality diff footer yolo
	approvals reasoning fast voice memory bundles learn init suggestions suggest blueprint bp curator kanban
	reload-mcp reload-skills commands help restart usage topup insights platform update version v debug verbose
	skills clear redraw history prompt handoff worktree snapshot export import journey verify config statusbar
	battery timestamps focus skin indicator wake busy tools toolsets pet hatch cron reload browser plugins
	subscription platforms copy paste image quit`)...)

// restart reports whether a text is one of the plain sentences that Hermes, in
// a direct room, turns into /restart.
func restart(text string) bool {
	if len(text) > 64 || !strings.Contains(strings.ToLower(text), "restart") {
		return false
	}
	words := strings.Fields(strings.ToLower(text))
	kept := words[:0]
	for _, w := range words {
		if w = strings.Trim(w, ",.!"); w != "please" && w != "the" {
			kept = append(kept, w)
		}
	}
	switch strings.Join(kept, " ") {
	case "restart gateway", "restart hermes gateway", "restart hermes":
		return true
	}
	return false
}

// decisive reports whether a text is what Hermes takes for a decision while a
// request is open: its natural words, or its commands for it. They would
// decide past the numbers, so they never reach an agent then.
func decisive(text string) bool {
	text = strings.TrimFunc(strings.Map(seen, text), blank)
	if len(text) > 64 {
		return false
	}
	name, _, sign := parseCommand(text)
	if sign != 0 {
		return name == "approve" || name == "deny"
	}
	text = strings.TrimFunc(text, func(r rune) bool { return blank(r) || strings.ContainsRune(".!,", r) })
	return naturalWords.Has(strings.Join(strings.FieldsFunc(strings.ToLower(text), endsWord), " "))
}

var naturalWords = NewSet(
	"approve", "yes", "ok", "okay", "confirm", "y", "👍",
	"deny", "no", "reject", "cancel", "n", "👎",
	"always", "approve always", "always approve",
	"session", "approve session", "session approve",
)
