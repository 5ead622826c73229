package catchup

import (
	"slices"
	"time"

	"rcsupervisor/channel/chat"
)

// maxRead bounds how many messages of one room are read, however few of them
// are anything to the bot.
const maxRead = 5000

// A Budget is what one catching up may keep, over all rooms:
// limits.catch_up_messages.
type Budget struct{ Left int }

// A Worth is what a message that is read is to the bot.
type Worth uint8

// What a message may be.
const (
	Nothing Worth = iota // it asks for nothing, or is known
	Asked                // it asks, and is answered only if it is kept
	Heard                // it asks, and the socket brought it too: it is answered whatever is kept
)

// A Pass goes back through one stretch. It keeps what is wanted, within the
// budget, and remembers how far it came, so that a reading that broke off goes
// on where it was. It is one goroutine's.
type Pass struct {
	stretch Stretch
	budget  *Budget
	worth   func(chat.Message) Worth

	kept   []chat.Message
	read   int
	newest time.Time
	oldest time.Time
	edge   []string // the ids of oldest, which come again when reading goes on
	missed int
	span   Span
}

// NewPass begins a stretch. worth says which messages ask for something; only
// they are kept. Those that were heard are kept in any case, so that they come
// in their place, and neither use up the budget nor count as missed.
func NewPass(s Stretch, b *Budget, worth func(chat.Message) Worth) *Pass {
	return &Pass{stretch: s, budget: b, worth: worth}
}

// Take takes the next message back and reports whether there is more to read.
func (p *Pass) Take(m chat.Message) (more bool) {
	at := m.Sent.Time
	switch {
	case at.IsZero() || slices.Contains(p.edge, m.ID):
		return true
	case at.Before(p.stretch.From):
		return false
	case p.read == maxRead:
		p.lose(Span{p.stretch.From, p.oldest})
		return false
	}
	p.reached(m)
	switch worth := p.worth(m); {
	case worth == Nothing:
	case worth == Asked && p.budget.Left == 0:
		p.missed++
		p.span = p.span.with(Span{at, at.Add(time.Millisecond)})
	default:
		if worth == Asked {
			p.budget.Left--
		}
		p.kept = append(p.kept, m)
	}
	return true
}

func (p *Pass) reached(m chat.Message) {
	p.read++
	if m.Sent.After(p.newest) {
		p.newest = m.Sent.Time
	}
	if !m.Sent.Equal(p.oldest) {
		p.oldest, p.edge = m.Sent.Time, p.edge[:0]
	}
	p.edge = append(p.edge, m.ID)
}

// lose counts a span of which nothing is known as one message.
func (p *Pass) lose(s Span) {
	if !s.Empty() {
		p.missed++
		p.span = p.span.with(s)
	}
}

// Lose counts one message of the stretch's lost span.
func (p *Pass) Lose(m chat.Message) {
	if !p.stretch.Lost.Empty() && p.worth(m) == Asked {
		p.missed++
		p.span = p.span.with(p.stretch.Lost)
	}
}

// From is where reading goes on: the oldest message yet, zero before the first.
func (p *Pass) From() time.Time { return p.oldest }

// Messages returns what was kept, oldest first.
func (p *Pass) Messages() []chat.Message {
	kept := slices.Clone(p.kept)
	slices.Reverse(kept)
	slices.SortStableFunc(kept, func(a, b chat.Message) int { return a.Sent.Compare(b.Sent.Time) })
	return kept
}

// Settled is up to when the room is settled once everything kept is: the time
// of the newest message read, zero if there was none.
func (p *Pass) Settled() time.Time { return p.newest }

// Missed returns how many messages lie beyond the bounds, as far as is known,
// and the time they lie in.
func (p *Pass) Missed() (int, Span) { return p.missed, p.span }
