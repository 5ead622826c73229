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
	"rcsupervisor/internal/unseen"
)

// Bounds of what is shown in messages. A request beyond maxParts of them is
// shown as a file; one with choices beyond theirs is refused.
const (
	partSize   = 4800 // UTF-16 units of one message, unless the server takes less
	maxParts   = 12
	maxChoices = 2000 // UTF-16 units of the choices, and no more than half a message
	outcomeLen = 300  // kept free in the last text for what became of it, or a quarter
	maxTitle   = 200  // UTF-16 units of a title in the line of ours
	maxFile    = 8 << 20
)

// What rooms and people are told. None of it quotes what was asked for.
const (
	sayNobody  = "The agent asked for leave to do something, and I refused: no owner is in this room who could allow it."
	sayLasting = "The agent asked for a leave that would last beyond this question, and I refused: I only pass on what is allowed once."
	sayNoTime  = "The agent asked for leave to do one thing more, and I refused: no time was left to decide it."
	sayNumbers = "The agent asked for leave to do something, and I refused: too much was asked within a day for me to tell the answers apart."
	sayLong    = "The agent asked for leave to do something, and I refused: it can't be shown whole."
	sayUnsent  = "The agent asked for leave to do something, and I refused: it is too long for messages, and the file that shows it whole could not be sent."
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
	case Rewritten:
		return "Refused, because somebody changed what I had written here. It is as it was now."
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

// A shown is what a request looks like.
type shown struct {
	file  *File    // the whole of it, where that is too long for texts
	texts []string // with the choices at the end of the last
	tail  string   // the last text without them
}

// render shows a request whole, with its choices. ok is false where that can't
// be done.
func render(a Ask, offered []choice, left time.Duration) (s shown, ok bool) {
	size := a.Size
	if size <= 0 || size > partSize {
		size = partSize
	}
	choices := post.Defuse(choicesText(a, offered, left))
	room := size - units(choices) - min(outcomeLen, size/4)
	all := len(a.Asked.Title) + len(a.Asked.Body)
	if units(choices) > min(maxChoices, size/2) || room < post.LeastPart || all > maxFile {
		return shown{}, false
	}
	long := all > 3*maxParts*room // a unit is at most three bytes
	if !long {
		s.texts = post.Split(bodyText(a), room)
	}
	if long || len(s.texts) > maxParts {
		s.file = fileOf(a, offered[0].number)
		if s.texts = post.Split(fileText(a, s.file, maxTitle), room); len(s.texts) > 1 {
			s.texts = post.Split(fileText(a, s.file, 0), room)
		}
	}
	if len(s.texts) == 0 || len(s.texts) > maxParts {
		return shown{}, false
	}
	last := len(s.texts) - 1
	s.tail = s.texts[last]
	s.texts[last] = s.tail + "\n\n" + choices
	return s, true
}

// heading is the line of ours that opens a request.
func heading(plain bool) string {
	if plain {
		return "**The agent asks:**"
	}
	return "**The agent asks for leave:**"
}

// fits reports whether a title can stand in the heading's line.
func fits(title string, most int) bool {
	return title != "" && len(title) <= 3*most && units(title) <= most && !strings.ContainsAny(title, "\n`")
}

// fileText says that a request is a file, and what it is about where that is
// short.
func fileText(a Ask, f *File, titled int) string {
	var b strings.Builder
	b.WriteString(heading(a.Asked.Plain))
	if title := visible(a.Asked.Title); fits(title, titled) {
		b.WriteString(" `" + title + "`")
	}
	verb := "decide"
	if a.Asked.Plain {
		verb = "answer"
	}
	lines := "1 line"
	if n := strings.Count(f.Content, "\n"); n > 1 {
		lines = strconv.Itoa(n) + " lines"
	}
	fmt.Fprintf(&b, "\nIt is too long for messages: the file `%s` above shows the whole of it (%s, %s). Read it before you %s.",
		f.Name, lines, bytesText(len(f.Content)), verb)
	return b.String()
}

// bytesText is a size as people read it.
func bytesText(n int) string {
	if n < 1_000_000 {
		return strconv.Itoa((n+999)/1000) + " kB"
	}
	return strconv.FormatFloat(float64(n)/1e6, 'f', 1, 64) + " MB"
}

// fileOf is a request as a text of its own.
func fileOf(a Ask, number string) *File {
	var parts []string
	for _, s := range []string{a.Asked.Title, a.Asked.Body} {
		if s = strings.Trim(seen(s), "\n"); s != "" {
			parts = append(parts, s)
		}
	}
	return &File{Name: "request-" + number + ".txt", Content: strings.Join(parts, "\n\n") + "\n"}
}

// bodyText is what is asked, whole.
func bodyText(a Ask) string {
	title, body := visible(a.Asked.Title), visible(a.Asked.Body)
	var b strings.Builder
	b.WriteString(heading(a.Asked.Plain))
	switch {
	case fits(title, maxTitle):
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

// visible is [seen] for a message: rows of backticks, which would end the block
// they are shown in, are broken.
func visible(s string) string {
	s = seen(s)
	var b strings.Builder
	ticks := 0
	for _, r := range s {
		if r != '`' {
			ticks = 0
		} else if ticks++; ticks == 3 {
			b.WriteString("\u200b")
			ticks = 1
		}
		b.WriteRune(r)
	}
	return b.String()
}

// seen is a text in which nothing hides: characters that are not seen, or turn
// the order of others, are written as their numbers, and what is shaped like a
// token is taken out.
func seen(s string) string {
	s = asker.Remove(strings.ToValidUTF8(s, "\ufffd"))
	s = strings.ReplaceAll(strings.TrimSpace(s), "\r\n", "\n")
	var b strings.Builder
	for _, r := range s {
		if r != '\n' && r != '\t' && hidden(r) {
			fmt.Fprintf(&b, "\\u{%s}", strconv.FormatInt(int64(r), 16))
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}

// hidden holds for characters that show nothing of themselves, or nothing that
// everybody sees alike.
func hidden(r rune) bool {
	return unseen.Is(r) || unicode.In(r, unicode.Co, unicode.Z) && r != ' ' || r == '\u2800'
}

func units(s string) int { return len(utf16.Encode([]rune(s))) }
