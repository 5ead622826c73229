package sealed

import "errors"

// What can be wrong, for [errors.Is]. Every error about an identity, its
// recipients or an envelope is an *[Error] of one of these kinds.
var (
	ErrMissing       = errors.New("no envelope")                    // there is no secrets.age
	ErrUnreadable    = errors.New("envelope unreadable")            // the file is there, but reading it failed; may pass
	ErrDamaged       = errors.New("envelope damaged")               // truncated, tampered with, empty, not an envelope
	ErrForeign       = errors.New("envelope of another profile")    // sealed for another name
	ErrWrongIdentity = errors.New("envelope sealed for other keys") // none of our keys opens it
	ErrNewer         = errors.New("envelope of a newer version")    // made by a newer rcsupervisor
	ErrInvalid       = errors.New("not fit to be sealed")           // an empty or oversized value, a bad name
	ErrOtherBot      = errors.New("envelope of another bot")        // a write would replace another bot's
	ErrNoIdentity    = errors.New("no identity")                    // none of the sources has one
	ErrIdentity      = errors.New("identity unusable")              // there is one, but it may not or can't be used
	ErrPassphrase    = errors.New("passphrase wanted")              // the identity is protected, and none or a wrong one was given
	ErrNoRecipients  = errors.New("no recipients")                  // there is no recipients.txt
	ErrRecipients    = errors.New("recipients unusable")            // there is one, but not of one kind, or malformed
	ErrLockout       = errors.New("recipients without our own key") // what is sealed for them, this host can't open
	ErrUnfinished    = errors.New("an unfinished reseal lies here") // Resume first
	ErrPutBack       = errors.New("reseal undone")                  // one home failed, so all are as they were
)

// An Error says what is wrong and what mends it. It never holds a secret.
type Error struct {
	Kind error  // one of the variables above
	Text string // one clause that names the file, profile or field
	Try  string // the command, or what to do, that mends it
	Err  error  // what lies beneath; nil where that could quote a secret
}

func (e *Error) Error() string {
	if e.Err != nil {
		return e.Text + ": " + e.Err.Error()
	}
	return e.Text
}

// Unwrap gives the kind and what lies beneath.
func (e *Error) Unwrap() []error {
	if e.Err == nil {
		return []error{e.Kind}
	}
	return []error{e.Kind, e.Err}
}

// Hint returns Try, for whoever prints errors without knowing their types.
func (e *Error) Hint() string { return e.Try }
