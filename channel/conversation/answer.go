package conversation

import (
	"slices"
	"strings"
	"time"

	"rcsupervisor/channel/agent"
	"rcsupervisor/channel/post"
	"rcsupervisor/channel/prompt/asker"
	"rcsupervisor/dedup"
	"rcsupervisor/internal/unseen"
)

// Bounds of one answer. One of more than maxParts messages is a file, of which
// the room sees the beginning; what is longer than maxAnswer is cut, and the room
// is told.
const (
	maxAnswer = agent.MaxText + 100 // bytes kept of an agent's text, with its word that it was cut
	maxParts  = 20
	headParts = 3 // of one that is a file
	// PartSize is the largest part, in UTF-16 units: Rocket.Chat's own bound is
	// 5000 unless a server sets another.
	PartSize = 4800
)

// The steps of parts. They go into the derived id of what is posted, so they
// never change.
const (
	StepAnswer = "answer"
	StepNote   = "note"
)

// What is said of an answer that is too long.
const (
	noteFile    = "(The answer is too long for messages. The whole of it is in the file that follows.)"
	noteFileCut = "(The answer is too long for messages, and longer than I read. As much of it as I have is in the file that follows.)"
	noteCut     = "(The answer was longer than I may post; this is where I cut it.)"
)

// cut makes of a text what is posted of it, in parts of at most size.
func cut(text string, size int) []string {
	if silent(text) {
		return nil
	}
	parts := post.Split(postable(text), size)
	if len(parts) > maxParts {
		parts = append(parts[:maxParts], noteCut)
	}
	return parts
}

// silent reports whether a whole answer is one of Hermes' silence tokens, or
// nothing at all.
func silent(text string) bool {
	switch strings.TrimSpace(text) {
	case "", "[SILENT]", "SILENT", "NO_REPLY", "NO REPLY":
		return true
	}
	return false
}

// postable is an answer that calls nobody and holds no asker token.
func postable(text string) string { return post.Defuse(tokenless(post.Defuse(text))) }

// tokenless is a text without asker tokens, also those that characters nobody
// sees hide from the eye that looks for them.
func tokenless(text string) string {
	text = asker.Remove(text)
	seen := strings.Map(func(r rune) rune {
		if unseen.Is(r) && r != '\n' && r != '\t' {
			return -1
		}
		return r
	}, text)
	if clean := asker.Remove(seen); clean != seen {
		return clean
	}
	return text
}

// Parts makes the parts of one answer: its texts, and then its files.
func Parts(id dedup.ID, k Key, step string, texts, files []string, now time.Time) []dedup.Part {
	owed := make([]dedup.Part, 0, len(texts)+len(files))
	part := func(text, file string) {
		owed = append(owed, dedup.Part{
			Question: id, Index: len(owed), Step: step, Room: k.Room, Thread: k.Thread, Text: text, File: file, Owed: now,
		})
	}
	for _, text := range texts {
		part(text, "")
	}
	for _, file := range files {
		part("", file)
	}
	return owed
}

// A reply is what an agent's turn brought.
type reply struct {
	notices  []string // of ours, to be told before the answer
	text     string
	cut      bool     // there was more of it
	files    []string // where they lie
	problems []string // with files, each once
}

// maxFiles bounds those of one answer.
const maxFiles = 10

const noteManyFiles = "More files belong to this than I may send at once."

// keep takes a file of the answer, or says why it can't be.
func (r *reply) keep(staff Attendant, f agent.FileOut) {
	path, problem := "", noteManyFiles
	if len(r.files) < maxFiles {
		path, problem = staff.File(f)
	}
	switch {
	case path != "":
		r.files = append(r.files, path)
	case !slices.Contains(r.problems, problem):
		r.problems = append(r.problems, problem)
	}
}

// texts is what is said of it, in parts of at most size, before its files.
// Silence that was asked for is kept, but for what only we know. long keeps a
// text as a file, and returns "" where that can't be.
func (r *reply) texts(size int, long func(text string) (path string)) []string {
	if silent(r.text) {
		return cut(strings.Join(append(r.notices, r.problems...), "\n\n"), size)
	}
	parts := post.Split(postable(strings.Join(append(r.notices, r.text), "\n\n")), size)
	if len(parts) > maxParts || r.cut {
		note := noteCut
		if path := long(tokenless(r.text)); path == "" {
			parts = parts[:min(len(parts), maxParts)]
		} else {
			r.files = append([]string{path}, r.files...)
			parts = parts[:min(len(parts), headParts)]
			if note = noteFile; r.cut {
				note = noteFileCut
			}
		}
		return append(parts, cut(strings.Join(append([]string{note}, r.problems...), "\n\n"), size)...)
	}
	if len(r.problems) == 0 {
		return parts
	}
	return cut(strings.Join(slices.Concat(r.notices, []string{r.text}, r.problems), "\n\n"), size)
}
