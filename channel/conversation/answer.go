package conversation

import (
	"slices"
	"strings"
	"time"
	"unicode"

	"rcsupervisor/channel/agent"
	"rcsupervisor/channel/post"
	"rcsupervisor/channel/prompt/asker"
	"rcsupervisor/dedup"
)

// Bounds of one answer. What lies beyond is not posted, and the room is told.
const (
	maxAnswer = 400_000 // bytes kept of an agent's text
	maxParts  = 20
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

const noteCut = "(The answer was longer than I may post; this is where I cut it.)"

// cut makes of an answer what is posted of it, in parts of at most size.
func cut(text string, size int) []string {
	if silent(text) {
		return nil
	}
	parts := post.Split(postable(text), size)
	if len(parts) > maxParts || len(text) >= maxAnswer {
		parts = append(parts[:min(len(parts), maxParts)], noteCut)
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

// postable is an answer that calls nobody and holds no asker token, also none
// that characters nobody sees hide from the eye that looks for it.
func postable(text string) string {
	text = asker.Remove(post.Defuse(text))
	seen := strings.Map(func(r rune) rune {
		if unicode.In(r, unicode.Cf) {
			return -1
		}
		return r
	}, text)
	if clean := asker.Remove(seen); clean != seen {
		return post.Defuse(clean)
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

// texts is what is said of it, in parts of at most size. Silence that was asked
// for is kept, but for what only we know.
func (r *reply) texts(size int) []string {
	if silent(r.text) {
		return cut(strings.Join(append(r.notices, r.problems...), "\n\n"), size)
	}
	return cut(strings.Join(slices.Concat(r.notices, []string{r.text}, r.problems), "\n\n"), size)
}
