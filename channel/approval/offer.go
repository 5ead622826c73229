package approval

import (
	"slices"
	"strconv"
	"strings"
	"unicode"

	"rcsupervisor/channel/agent"
)

// Numbers have two digits; three when those are used up.
const (
	firstNumber = 10
	threeDigits = 100
	endNumber   = 1000
)

// offer returns what is offered of a request: never what would outlive the
// turn, and always a way to refuse what is no plain question.
func offer(a agent.Asked) []choice {
	var offered []choice
	refuses, allows := 0, 0
	for _, o := range a.Options {
		refuse := strings.HasPrefix(o.Kind, "reject")
		if !a.Plain && lasting(o) {
			continue
		}
		if refuse {
			refuses++
		} else {
			allows++
		}
		offered = append(offered, choice{option: o.ID, label: o.Name, refuse: refuse})
	}
	if refuses == 0 && !a.Plain {
		offered = append(offered, choice{refuse: true})
		refuses++
	}
	for i := range offered {
		c := &offered[i]
		switch {
		case a.Plain:
			// A question is answered by words that it offers itself.
			if w := strings.ToLower(strings.TrimSpace(c.label)); w == "yes" || w == "no" {
				c.word = w
			}
		case c.refuse && refuses == 1:
			c.word = "no"
		case !c.refuse && allows == 1:
			c.word = "yes"
		}
	}
	once(offered, "yes")
	once(offered, "no")
	return offered
}

// once takes a word from all choices when more than one has it.
func once(offered []choice, word string) {
	n := 0
	for _, c := range offered {
		if c.word == word {
			n++
		}
	}
	for i := range offered {
		if n > 1 && offered[i].word == word {
			offered[i].word = ""
		}
	}
}

// lasting reports whether an option holds beyond the request. The kind is a
// hint of the agent's, so that a name which says so counts too.
func lasting(o agent.Option) bool {
	switch o.Kind {
	case "allow_always", "reject_always":
		return true
	case "reject_once":
		return false
	}
	words := strings.FieldsFunc(strings.ToLower(o.ID+" "+o.Name), func(r rune) bool { return !unicode.IsLetter(r) })
	for i, w := range words {
		switch w {
		case "always", "session", "forever", "permanent", "permanently", "remember", "everything":
			return true
		case "again": // don't ask again
			if i > 0 && (words[i-1] == "ask" || words[i-1] == "me") {
				return true
			}
		case "all": // allow all edits
			if i > 0 && slices.Contains([]string{"allow", "accept", "approve", "yes"}, words[i-1]) {
				return true
			}
		}
	}
	return false
}

// number gives each choice a number that means nothing else now and has not
// within the last 24 hours, in a row where there is one. It reports false when
// there are not enough.
func (b *Book) number(offered []choice) bool {
	taken := make(map[int]bool)
	for _, r := range b.requests {
		for _, c := range r.choices {
			n, _ := strconv.Atoi(c.number)
			taken[n] = true
		}
	}
	for _, span := range [][2]int{{firstNumber, threeDigits}, {threeDigits, endNumber}} {
		if b.row(offered, taken, span[0], span[1]) {
			return true
		}
	}
	return false
}

// row numbers the choices within from ≤ n < to: in a row, else as they come.
func (b *Book) row(offered []choice, taken map[int]bool, from, to int) bool {
	size := to - from
	begin := 0
	if b.next >= from && b.next < to {
		begin = b.next - from
	}
	var free []int // all that are, beginning with b.next
	for i := range size {
		n := from + (begin+i)%size
		if taken[n] {
			continue
		}
		free = append(free, n)
		if k := len(free) - len(offered); k >= 0 && free[len(free)-1]-free[k] == len(offered)-1 {
			b.use(offered, free[k:])
			return true
		}
	}
	if len(free) < len(offered) {
		return false
	}
	b.use(offered, free)
	return true
}

func (b *Book) use(offered []choice, numbers []int) {
	for i := range offered {
		offered[i].number = strconv.Itoa(numbers[i])
		b.next = numbers[i] + 1
	}
}
