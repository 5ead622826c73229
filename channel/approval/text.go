package approval

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf16"

	"rcsupervisor/channel/post"
	"rcsupervisor/channel/prompt/asker"
)

// Bounds of what is shown. A request beyond them can't be read, and is refused.
const (
	partSize   = 4800 // UTF-16 units of one message
	maxParts   = 12
	maxChoices = 2000 // UTF-16 units of the choices
	outcomeLen = 300  // kept free in the last text for what became of it
)

// What rooms and people are told. None of it quotes what was asked for.
const (
	sayNobody  = "The agent asked for leave to do something, and I refused: no owner is in this room who could allow it."
	sayLasting = "The agent asked for a leave that would last beyond this question, and I refused: I only pass on what is allowed once."
	sayNoTime  = "The agent asked for leave to do one thing more, and I refused: no time was left to decide it."
	sayNumbers = "The agent asked for leave to do something, and I refused: too much was asked within a day for me to tell the answers apart."
	sayLong    = "The agent asked for leave to do something, and I refused: it is too long to be shown whole."
	sayOver    = "That is no longer open."
	sayMissed  = "I was not connected when you answered, so it did not count."
	sayEarly   = "That was too early to be an answer to my question. Please answer once more."
)

// undecided says what became of a request that nobody decided.
func undecided(why Why) string {
	switch why {
	case Expired:
		return "Nobody decided in time, so it was refused."
	case Stopped:
		return "Refused, because the work was stopped."
	case Disconnected:
		return "Refused, because the agent ended."
	case Restarted:
		return "Expired: I was restarted, so it was refused."
	case Withdrawn:
		return "No longer open: the agent went on without an answer."
	}
	return "No longer open."
}

// decided says what somebody decided.
func decided(c choice, by string, plain bool) string {
	by = inline(by)
	switch {
	case plain:
		return "Answered by " + by + ": " + inline(c.label)
	case c.refuse:
		return "Refused by " + by + "."
	}
	return "Allowed once by " + by + "."
}

// outcomeOf is a request's last text with what became of it.
func outcomeOf(tail, outcome string) string {
	return post.Defuse(strings.TrimSpace(tail + "\n\n" + outcome))
}

// render returns the texts that show a request whole, with its choices at the
// end of the last, and that last one without them. ok is false where that is
// more than people can be shown.
func render(a Ask, offered []choice, left time.Duration) (texts []string, tail string, ok bool) {
	choices := choicesText(a, offered, left)
	room := partSize - units(choices) - outcomeLen
	if units(choices) > maxChoices {
		return nil, "", false
	}
	texts = post.Split(bodyText(a), room)
	if len(texts) == 0 || len(texts) > maxParts {
		return nil, "", false
	}
	last := len(texts) - 1
	tail = texts[last]
	texts[last] = tail + "\n\n" + post.Defuse(choices)
	return texts, tail, true
}

// bodyText is what is asked, whole.
func bodyText(a Ask) string {
	title, body := visible(a.Asked.Title), visible(a.Asked.Body)
	var b strings.Builder
	if a.Asked.Plain {
		b.WriteString("**The agent asks:**")
	} else {
		b.WriteString("**The agent asks for leave:**")
	}
	switch {
	case title != "" && !strings.Contains(title, "\n") && units(title) <= 200 && !strings.Contains(title, "`"):
		b.WriteString(" `" + title + "`")
	case title != "":
		b.WriteString("\n" + fenced(title))
	}
	if body != "" {
		b.WriteString("\n" + fenced(body))
	}
	return b.String()
}

func fenced(s string) string { return "```\n" + strings.Trim(s, "\n") + "\n```" }

// choicesText says how to answer, by whom, and until when.
func choicesText(a Ask, offered []choice, left time.Duration) string {
	var b strings.Builder
	if short(a.Asked.Plain, offered) {
		fmt.Fprintf(&b, "**%s** to allow once, **%s** to refuse.", offered[0].number, offered[1].number)
	} else {
		for _, c := range offered {
			fmt.Fprintf(&b, "**%s** %s\n", c.number, label(c, a.Asked.Plain))
		}
	}
	who := "An owner decides"
	switch {
	case a.Asked.Plain:
		who = "Whoever asked, or an owner, answers"
	case a.AskerToo:
		who = "Whoever asked, or an owner, decides"
	}
	fmt.Fprintf(&b, "\n%s by sending nothing but the number, within %d s.", who, int(left.Round(time.Second)/time.Second))
	return b.String()
}

// short holds for the usual two choices, whatever the agent calls them.
func short(plain bool, offered []choice) bool {
	return !plain && len(offered) == 2 && !offered[0].refuse && offered[1].refuse
}

// label is what a choice is called: by the agent, and what it means by us.
func label(c choice, plain bool) string {
	name := inline(c.label)
	switch {
	case plain:
		return name
	case name == "" && c.refuse:
		return "refuse"
	case c.refuse:
		return "refuse: " + name
	}
	return "allow once: " + name
}

// inline is a name of somebody else's as it goes into a line of ours: no markup
// of it, no address, no line break is alive.
func inline(s string) string {
	s = strings.Map(func(r rune) rune {
		if strings.ContainsRune("`*_~[]<>#|@\\", r) {
			return ' '
		}
		return r
	}, s)
	return visible(strings.Join(strings.Fields(s), " "))
}

// visible is a text in which nothing hides: characters that are not seen, or
// turn the order of others, are written as their numbers; rows of backticks,
// which would end the block they are shown in, are broken; and what is shaped
// like a token is taken out.
func visible(s string) string {
	s = asker.Remove(strings.ToValidUTF8(s, "\ufffd"))
	s = strings.ReplaceAll(strings.TrimSpace(s), "\r\n", "\n")
	var b strings.Builder
	ticks := 0
	for _, r := range s {
		if r == '`' {
			if ticks++; ticks == 3 {
				b.WriteString("\u200b")
				ticks = 1
			}
		} else {
			ticks = 0
		}
		if r != '\n' && r != '\t' && unseen(r) {
			fmt.Fprintf(&b, "\\u{%s}", strconv.FormatInt(int64(r), 16))
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}

// unseen holds for characters that show nothing of themselves.
func unseen(r rune) bool {
	return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Co) || r == '\u115f' || r == '\u1160' || r == '\u3164' ||
		r == '\u2800' || unicode.Is(unicode.Variation_Selector, r) || unicode.Is(unicode.Z, r) && r != ' '
}

func units(s string) int { return len(utf16.Encode([]rune(s))) }
