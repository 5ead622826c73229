package conversation

import (
	"context"
	"slices"
	"sync"
	"time"

	"rcsupervisor/dedup"
)

// said is what ends a claimed message without an agent.
type said struct {
	id    dedup.ID
	key   Key
	texts []string
	over  func() // called when it is stored, or left
}

// Say ends a claimed message with what the bot itself has to say because of
// it: a refusal, a command's reply, a note; without texts it ends in silence.
// It is as durable as an answer. At the end of the channel it is left to the
// store.
func (s *Set) Say(id dedup.ID, k Key, texts ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sayLocked(said{id: id, key: k, texts: texts})
}

// sayLocked is Say; s.mu is held. After the end nothing is begun any more.
func (s *Set) sayLocked(w said) {
	if s.life.Err() != nil {
		return
	}
	s.saying++
	s.says.Put(w)
}

// together bounds how many are stored at once, and share a commit.
const together = 64

// store is the lane's.
func (s *Set) store(batch []said) {
	defer s.contain()
	for some := range slices.Chunk(batch, together) {
		owed := make([][]dedup.Part, len(some))
		var group sync.WaitGroup
		for i := range some[1:] {
			group.Go(func() {
				defer s.contain()
				owed[i+1] = s.stored(some[i+1])
			})
		}
		owed[0] = s.stored(some[0])
		group.Wait()
		for i, w := range some {
			s.told(w, owed[i])
		}
	}
}

// stored takes one to answered and returns what is owed for it.
func (s *Set) stored(w said) []dedup.Part {
	owed := Parts(w.id, w.key, StepNote, w.texts, nil, time.Now())
	if !s.step(s.life, w.id, "answer", func(ctx context.Context) error { return s.Store.Answer(ctx, w.id, owed) }) {
		return nil
	}
	return owed
}

// told hands over what is owed, in the order in which it was said.
func (s *Set) told(w said, owed []dedup.Part) {
	if len(owed) > 0 {
		s.Owe(owed)
	}
	if w.over != nil {
		w.over()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.saying--
	s.idleLocked()
}
