package conversation

import (
	"strings"
	"time"
	"unicode"

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

// Parts makes the parts of one answer.
func Parts(id dedup.ID, k Key, step string, texts []string, now time.Time) []dedup.Part {
	owed := make([]dedup.Part, len(texts))
	for i, text := range texts {
		owed[i] = dedup.Part{Question: id, Index: i, Step: step, Room: k.Room, Thread: k.Thread, Text: text, Owed: now}
	}
	return owed
}
