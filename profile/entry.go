package profile

import (
	"fmt"

	"rcsupervisor/internal/ownerfs"
)

// An Entry is what the ledger holds of one name. Server, Bot and Generation
// are those of the last login that proved them: a claim that nothing proves
// holds nobody.
type Entry struct {
	Path       string  `json:"path"`
	Owner      int     `json:"owner"`
	Server     string  `json:"server,omitempty"`
	Bot        string  `json:"bot,omitempty"`        // its user id
	Generation uint64  `json:"generation,omitempty"` // the highest
	Wanted     bool    `json:"wanted"`               // false after stop
	Suspended  bool    `json:"suspended,omitempty"`
	Reason     string  `json:"reason,omitempty"`   // why it was suspended, in an operator's words
	Accepted   *Grants `json:"accepted,omitempty"` // what a person let the files give; nil before the first look
}

// A Claim is what a home says of itself now. Server is "" while its envelope
// has not been opened.
type Claim struct {
	Path       string
	Owner      int
	Server     string
	Bot        string
	Generation uint64
}

// A Verdict on a claim: it is as the ledger knows it, or the name is held
// until a person adopts the change.
type Verdict string

// The verdicts. The words are those of the reasons in status.
const (
	Known      Verdict = ""
	Moved      Verdict = "moved"
	Rebound    Verdict = "rebound"
	RolledBack Verdict = "rolled-back"
)

// NewEntry is that of a name first seen. It is wanted.
func NewEntry(c Claim) Entry { return Entry{Path: c.Path, Owner: c.Owner, Wanted: true} }

// Judge compares a claim with what is known, and says what differs in one
// sentence.
func (e Entry) Judge(c Claim) (Verdict, string) {
	switch {
	case c.Path != e.Path:
		return Moved, fmt.Sprintf("its home was %s and is now %s", ownerfs.Quote(e.Path), ownerfs.Quote(c.Path))
	case c.Owner != e.Owner:
		return Moved, fmt.Sprintf("its home belonged to uid %d and now to %d", e.Owner, c.Owner)
	case c.Server == "" || e.Server == "":
		return Known, "" // nothing to compare, or nothing proven
	case c.Server != e.Server:
		return Rebound, fmt.Sprintf("its server was %s and is now %s", e.Server, c.Server)
	case c.Bot != e.Bot:
		return Rebound, fmt.Sprintf("its bot was %s and is now %s", show(e.Bot), show(c.Bot))
	case c.Generation < e.Generation:
		return RolledBack, fmt.Sprintf("its envelope is of generation %d, and %d has been seen", c.Generation, e.Generation)
	}
	return Known, ""
}

// Adopt takes a claim for what is known from now on. What no login has proven
// yet is forgotten, so that it holds nobody; the rest stays.
func (e Entry) Adopt(c Claim) Entry {
	e.Path, e.Owner = c.Path, c.Owner
	if c.Server == "" {
		return e
	}
	if c.Server != e.Server || c.Bot != e.Bot {
		e.Server, e.Bot = "", ""
	}
	e.Generation = min(e.Generation, c.Generation)
	return e
}

// Proven notes a login: the bot at the server is this name's, and so is the
// envelope's generation.
func (e Entry) Proven(c Claim) Entry {
	if c.Server != e.Server || c.Bot != e.Bot {
		e.Generation = 0 // another bot counts anew
	}
	e.Server, e.Bot, e.Generation = c.Server, c.Bot, max(e.Generation, c.Generation)
	return e
}
