package chat

import (
	"bytes"
	"strconv"
	"time"
)

// A Stamp is a moment of the server's clock. It reads all forms in which
// Rocket.Chat writes one: {"$date": ms} on the socket, an ISO 8601 string or
// plain milliseconds over REST. null, a missing value, and
// {"$date": null} (which Meteor sends for a token without an end) are the zero
// Stamp. Anything else is the zero Stamp too: a time that can't be read must
// not cost the message it stands in.
type Stamp struct{ time.Time }

// At returns the Stamp of t.
func At(t time.Time) Stamp { return Stamp{t} }

// UnmarshalJSON never fails; see [Stamp].
func (s *Stamp) UnmarshalJSON(b []byte) error {
	s.Time = time.Time{}
	b = bytes.TrimSpace(b)
	if len(b) == 0 {
		return nil
	}
	switch b[0] {
	case '{':
		fields := value(b).fields()
		for {
			key, date, ok := fields.field()
			if !ok {
				return nil
			}
			if string(key) == "$date" && date[0] != '{' {
				_ = s.UnmarshalJSON(date)
			}
		}
	case '"':
		if t, err := time.Parse(time.RFC3339Nano, string(bytes.Trim(b, `"`))); err == nil {
			s.Time = t.UTC()
		}
	default:
		if ms, ok := milliseconds(b); ok {
			s.Time = time.UnixMilli(ms).UTC()
		}
	}
	return nil
}

// milliseconds reads a JSON number that lies within the years 1 to 9999, which
// is what the rest of Go's time formatting can carry.
func milliseconds(b []byte) (int64, bool) {
	ms, err := strconv.ParseInt(string(b), 10, 64)
	if err != nil {
		f, err := strconv.ParseFloat(string(b), 64)
		if err != nil || f < minMillis || f > maxMillis {
			return 0, false
		}
		ms = int64(f)
	}
	return ms, ms >= minMillis && ms <= maxMillis
}

const (
	minMillis = -62_135_596_800_000
	maxMillis = 253_402_300_799_999
)

// MarshalJSON writes the socket's form.
func (s Stamp) MarshalJSON() ([]byte, error) {
	if s.IsZero() {
		return []byte(`{"$date":null}`), nil
	}
	b := append(make([]byte, 0, 32), `{"$date":`...)
	return append(strconv.AppendInt(b, s.UnixMilli(), 10), '}'), nil
}

// ISO returns the form in which the REST API takes and gives times.
func (s Stamp) ISO() string { return s.UTC().Format("2006-01-02T15:04:05.000Z") }
