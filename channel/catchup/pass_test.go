package catchup

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"rcsupervisor/channel/chat"
)

func message(id string, sent time.Time) chat.Message {
	return chat.Message{ID: id, Sent: chat.At(sent), Text: id}
}

// asked messages have an id that begins with q, heard ones with h.
func asked(m chat.Message) Worth {
	switch {
	case strings.HasPrefix(m.ID, "q"):
		return Asked
	case strings.HasPrefix(m.ID, "h"):
		return Heard
	}
	return Nothing
}

func ids(ms []chat.Message) string {
	var out []string
	for _, m := range ms {
		out = append(out, m.ID)
	}
	return strings.Join(out, " ")
}

func TestAPassKeepsWhatIsWanted(t *testing.T) {
	p := NewPass(Stretch{From: at(hour)}, &Budget{Left: 10}, asked)
	for i, m := range []chat.Message{
		message("q3", at(minute)), message("chatter", at(2*minute)), message("q2", at(10*minute)),
		{ID: "q without a time"},
		message("q1", at(hour)), message("q0", at(hour+time.Millisecond)), message("q-1", at(2*hour)),
	} {
		if more := p.Take(m); more != (i < 5) {
			t.Fatalf("after message %d there is more: %v", i, more)
		}
		if i == 5 {
			break
		}
	}
	if got := ids(p.Messages()); got != "q1 q2 q3" {
		t.Errorf("kept %s", got)
	}
	if n, _ := p.Missed(); n != 0 || !p.Settled().Equal(at(minute)) || !p.From().Equal(at(hour)) {
		t.Errorf("missed %d, settled %v, from %v", n, p.Settled(), p.From())
	}
}

func TestAnEmptyPass(t *testing.T) {
	p := NewPass(Stretch{From: at(hour)}, &Budget{}, asked)
	if n, s := p.Missed(); n != 0 || !s.Empty() || len(p.Messages()) != 0 || !p.Settled().IsZero() || !p.From().IsZero() {
		t.Error("something came of nothing")
	}
}

// Over the budget the newest are kept, and the others counted; another room
// finds what is left.
func TestABudgetIsShared(t *testing.T) {
	budget := &Budget{Left: 3}
	first, second := NewPass(Stretch{From: at(hour)}, budget, asked), NewPass(Stretch{From: at(hour)}, budget, asked)
	for i := range 2 {
		first.Take(message(fmt.Sprintf("q%d", i), at(time.Duration(i+1)*minute)))
		first.Take(message("chatter", at(time.Duration(i+1)*minute)))
	}
	for i := range 4 {
		second.Take(message(fmt.Sprintf("q%d", i), at(time.Duration(i+1)*minute)))
	}
	if got := ids(first.Messages()); got != "q1 q0" {
		t.Errorf("the first kept %s", got)
	}
	n, span := second.Missed()
	if got := ids(second.Messages()); got != "q0" || n != 3 {
		t.Errorf("the second kept %s and missed %d", got, n)
	}
	if want := (Span{at(4 * minute), at(2 * minute).Add(time.Millisecond)}); span != want {
		t.Errorf("missed in %v, want %v", span, want)
	}
}

// What was heard is kept in its place, is nothing to the budget, and is never
// missed: it is answered whatever is kept.
func TestWhatWasHeardIsNotMissed(t *testing.T) {
	budget := &Budget{Left: 1}
	p := NewPass(Stretch{From: at(hour), Lost: Span{at(2 * hour), at(hour)}}, budget, asked)
	for _, m := range []chat.Message{
		message("h4", at(minute)), message("q3", at(2*minute)), message("h2", at(3*minute)), message("q1", at(4*minute)), message("h0", at(5*minute)),
	} {
		if !p.Take(m) {
			t.Fatal("it is not read further")
		}
	}
	p.Lose(message("h", at(90*minute)))
	if got := ids(p.Messages()); got != "h0 h2 q3 h4" || budget.Left != 0 {
		t.Errorf("kept %s, %d left", got, budget.Left)
	}
	n, span := p.Missed()
	if want := (Span{at(4 * minute), at(4 * minute).Add(time.Millisecond)}); n != 1 || span != want {
		t.Errorf("missed %d in %v, want 1 in %v", n, span, want)
	}
	if !p.Settled().Equal(at(minute)) {
		t.Errorf("settled %v", p.Settled())
	}
}

func TestARoomOfEndlessChatter(t *testing.T) {
	p := NewPass(Stretch{From: at(1000 * hour)}, &Budget{Left: 1}, asked)
	n := 0
	for p.Take(message(fmt.Sprint(n), at(time.Duration(n)*time.Second))) {
		if n++; n > 2*maxRead {
			t.Fatal("it is read without end")
		}
	}
	if missed, span := p.Missed(); n != maxRead || missed != 1 || !span.From.Equal(at(1000*hour)) {
		t.Errorf("%d were read, %d missed in %v", n, missed, span)
	}
}

func TestWhatIsLostIsCounted(t *testing.T) {
	lost := Span{at(3 * hour), at(hour)}
	p := NewPass(Stretch{From: at(hour), Lost: lost}, &Budget{Left: 1}, asked)
	p.Lose(message("q1", at(2*hour)))
	p.Lose(message("chatter", at(2*hour)))
	p.Lose(message("q2", at(90*minute)))
	if n, span := p.Missed(); n != 2 || span != lost {
		t.Errorf("missed %d in %v", n, span)
	}
	p = NewPass(Stretch{From: at(hour)}, &Budget{Left: 1}, asked)
	p.Lose(message("q1", at(2*hour)))
	if n, _ := p.Missed(); n != 0 {
		t.Error("nothing could be lost, and was")
	}
}

// However a reading breaks off and goes on, at millisecond edges too, each
// message is taken once, and kept are the newest within the budget, oldest
// first.
func TestAPassThatBreaksOff(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		gaps := rapid.SliceOfN(rapid.IntRange(0, 2), 0, 60).Draw(t, "gaps")
		var all []chat.Message // newest first
		when := noon
		for i, gap := range gaps {
			when = when.Add(-time.Duration(gap) * time.Millisecond)
			kind := rapid.SampledFrom([]string{"q", "c"}).Draw(t, "kind")
			all = append(all, message(fmt.Sprintf("%s%d", kind, i), when))
		}
		budget := rapid.IntRange(0, 30).Draw(t, "budget")
		p := NewPass(Stretch{From: at(hour)}, &Budget{Left: budget}, asked)
		read := func(most int) {
			from := p.From()
			for _, m := range all {
				if !from.IsZero() && m.Sent.After(from) {
					continue
				}
				if most--; most < 0 || !p.Take(m) {
					return
				}
			}
		}
		for _, most := range rapid.SliceOfN(rapid.IntRange(0, 20), 0, 5).Draw(t, "what broken readings took") {
			read(most)
		}
		read(len(all))
		var want []string
		missed := 0
		for _, m := range all {
			switch {
			case asked(m) == Nothing:
			case len(want) < budget:
				want = append(want, m.ID)
			default:
				missed++
			}
		}
		got := strings.Fields(ids(p.Messages()))
		if n, _ := p.Missed(); n != missed || len(got) != len(want) {
			t.Fatalf("kept %v, missed %d; want %v, %d", got, n, want, missed)
		}
		slices.Reverse(want)
		for i, m := range p.Messages() {
			if i > 0 && m.Sent.Before(p.Messages()[i-1].Sent.Time) {
				t.Fatalf("out of order: %v", got)
			}
			if !slices.Contains(want, m.ID) {
				t.Fatalf("kept %v, want %v", got, want)
			}
		}
	})
}
