package approval

import (
	"encoding/json"
	"errors"
	"time"
)

// recordV is the version of the form.
const recordV = 1

// A record is the book as it is written down.
type record struct {
	V        int           `json:"v"`
	Next     int           `json:"next"`
	Requests []recordedOne `json:"requests"`
}

// A recordedOne holds a text only while it has to be edited.
type recordedOne struct {
	Name    string           `json:"name"`
	Place   recordedPlace    `json:"place"`
	Asker   string           `json:"asker"`
	Plain   bool             `json:"plain,omitempty"`
	Sent    time.Time        `json:"sent,omitzero"`
	Closed  time.Time        `json:"closed,omitzero"`
	Stale   bool             `json:"stale,omitempty"`
	Tail    string           `json:"tail,omitempty"`
	Choices []recordedChoice `json:"choices"`
}

type recordedPlace struct {
	Question string `json:"question"`
	Step     string `json:"step"`
	Index    int    `json:"index"`
	Room     string `json:"room"`
	Thread   string `json:"thread,omitempty"`
}

type recordedChoice struct {
	Number string `json:"number"`
	Word   string `json:"word,omitempty"`
	Option string `json:"option"`
}

// Record is the book as JSON: what is before people, and the numbers of the
// last 24 hours. What waits is not in it: nobody has seen it.
func (b *Book) Record() []byte {
	rec := record{V: recordV, Next: b.next, Requests: []recordedOne{}}
	for _, r := range b.requests {
		if r.state == waiting {
			continue
		}
		one := recordedOne{
			Name: r.name, Place: recordedPlace(r.place), Asker: r.asker, Plain: r.plain,
			Sent: r.sent, Closed: r.closed, Stale: r.stale, Tail: r.tail,
		}
		for _, c := range r.choices {
			one.Choices = append(one.Choices, recordedChoice{Number: c.number, Word: c.word, Option: c.option})
		}
		rec.Requests = append(rec.Requests, one)
	}
	data, err := json.Marshal(rec)
	if err != nil {
		panic("approval: " + err.Error()) // texts and times
	}
	return data
}

// errRecord is a record that is none of ours.
var errRecord = errors.New("not a record of requests")

// Load returns the book of a channel that is no more, and what has to follow:
// whatever was open is refused, its agent being gone, and says so.
func Load(data []byte, at Moment) (*Book, []Effect, error) {
	var rec record
	if err := json.Unmarshal(data, &rec); err != nil || rec.V != recordV {
		return nil, nil, errRecord // the parser's own words may quote a text
	}
	b := New(rec.Next - firstNumber)
	var then []Effect
	for _, one := range rec.Requests {
		r := &request{
			name: one.Name, place: Place(one.Place), asker: one.Asker, plain: one.Plain,
			sent: one.Sent, closed: one.Closed, stale: one.Stale, tail: one.Tail, state: closed,
		}
		if r.name == "" || b.find(r.name) != nil {
			return nil, nil, errRecord
		}
		for _, c := range one.Choices {
			r.choices = append(r.choices, choice{number: c.Number, word: c.Word, option: c.Option})
		}
		if r.closed.IsZero() {
			r.closed = at.Server
			if r.tail != "" {
				r.stale, r.tail = true, outcomeOf(r.tail, undecided(Restarted))
			}
		}
		if r.stale {
			then = append(then, Edit{Name: r.name, Place: r.place, Text: r.tail})
		}
		b.requests = append(b.requests, r)
	}
	b.forget(at)
	return b, then, nil
}
