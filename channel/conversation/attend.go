package conversation

import "rcsupervisor/channel/agent"

// An Attendant sees to what a turn brings beside the text of its answer. Its
// methods run on the conversation's goroutine, one after another.
type Attendant interface {
	// Began says that the agent has taken the question, and through what it is
	// answered. It is not called when there was no agent to take it.
	Began(agent.Turn)
	// Asked has to see to it that the request is answered, sooner or later.
	Asked(agent.Asked)
	Withdrawn(agent.Withdrawn)
	Progress(agent.Progress)
	// File keeps a file of the answer, and returns where it lies until it was
	// sent; or, with "", why the room does not get it.
	File(agent.FileOut) (path, problem string)
	// Long keeps an answer that is too long for messages as a file, and returns
	// where it lies until it was sent; "" where it can't be kept.
	Long(text string) (path string)
	// Ended is called once, last, also when the question was never given. err
	// is nil when there is an answer, which its files are of; else it is why
	// there is none: ErrStopped, ErrDropped, ErrEnding, or the agent's error.
	Ended(err error)
}

// alone is the attendant of a turn that has none: what nobody can decide is
// refused.
type alone struct{ turn agent.Turn }

var _ Attendant = (*alone)(nil)

func (a *alone) Began(t agent.Turn)                  { a.turn = t }
func (a *alone) Asked(e agent.Asked)                 { _ = a.turn.Answer(e.ID, "") }
func (*alone) Withdrawn(agent.Withdrawn)             {}
func (*alone) Progress(agent.Progress)               {}
func (*alone) File(agent.FileOut) (path, why string) { return "", noteNoFiles }
func (*alone) Long(string) string                    { return "" }
func (*alone) Ended(error)                           {}

const noteNoFiles = "A file that belongs to this can't be sent from here."
