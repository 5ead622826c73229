package approval

// An Effect is what has to follow a call, in the order in which they are
// returned: Show, Tell, Edit or Decide.
type Effect interface{ effect() }

// A Place is where a text of the bot's belongs: with the question and the step
// it has a message id that is always the same. Index is the text's number.
type Place struct {
	Question string
	Step     string
	Index    int
	Room     string
	Thread   string
}

// Show posts a request in its order: its file if it has one, then its texts, at
// Place and the indexes that follow. Once the last text is in its room,
// [Book.Shown] has to be called with the time that the server gave it; when one
// can never be, [Book.Close] with Unshown, or with Unsent for the file.
type Show struct {
	Name string
	Place
	File  *File // nil where the texts are all
	Texts []string
}

// A File shows a request that is too long for messages, whole.
type File struct {
	Name    string
	Content string
}

// Tell posts one text that nobody has to answer.
type Tell struct {
	Place
	Text string
}

// Edit replaces the last text of a request that is closed. Once done, or found
// to be impossible, [Book.Edited] has to be called. The message may not be
// there, if the request closed while it was being posted.
type Edit struct {
	Name string
	Place
	Text string
}

// Decide answers the agent: an option of the request's, or "", which refuses.
type Decide struct {
	Name   string
	Option string
}

func (Show) effect()   {}
func (Tell) effect()   {}
func (Edit) effect()   {}
func (Decide) effect() {}
