package agent

import "errors"

// A Failure is an error of a turn that its asker can be told of. Say is a whole
// sentence of ours: it quotes neither the question nor the agent.
type Failure struct {
	Say string
	Err error
}

func (f *Failure) Error() string { return f.Err.Error() }

func (f *Failure) Unwrap() error { return f.Err }

// Fail returns a Failure.
func Fail(say string, err error) error { return &Failure{Say: say, Err: err} }

// Sentence returns what may be said of err to whoever asked, "" when there is
// nothing better than that it failed.
func Sentence(err error) string {
	if f, ok := errors.AsType[*Failure](err); ok {
		return f.Say
	}
	return ""
}

// What Answer fails with.
var (
	ErrNotAsked = errors.New("the agent does not wait for that answer")
	ErrNoOption = errors.New("the agent did not offer that option")
)

// ErrClosed is what Begin fails with after Close.
var ErrClosed = errors.New("the agent is closed")
