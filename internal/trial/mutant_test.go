package trial

import (
	"context"
	"fmt"
	"sync"

	"rcsupervisor/dedup"
)

// The stores that a child can be told to use. All but the first are wrong, and
// a trial that doesn't notice is worth nothing.
const (
	durable   = ""
	late      = "late"      // a question is claimed only when its answer is there
	forgetful = "forgetful" // nothing is written down
)

func (o *orders) open(path, bot string) (dedup.Store, error) {
	if o.Store == forgetful {
		return dedup.NewMemory(), nil
	}
	db, err := dedup.Open(path, dedup.Options{Bot: bot})
	if err != nil {
		return nil, err
	}
	if at := db.Quarantined(); at != "" {
		return nil, fmt.Errorf("killing damaged the file: %s", at)
	}
	switch o.Store {
	case durable:
		return watched{DB: db, crash: &o.Crash}, nil
	case late:
		return &lateStore{watched: watched{DB: db, crash: &o.Crash}, heard: make(map[string]dedup.Question)}, nil
	}
	return nil, fmt.Errorf("there is no store %q", o.Store)
}

// A lateStore lets a question go on to the agent before it is claimed.
type lateStore struct {
	watched
	mu    sync.Mutex
	heard map[string]dedup.Question
}

func (s *lateStore) Claim(_ context.Context, q dedup.Question) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, heard := s.heard[q.ID.Message]
	_, known := s.watched.Known(q.ID)
	s.heard[q.ID.Message] = q
	return !heard && !known, nil
}

func (s *lateStore) Known(id dedup.ID) (dedup.State, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, heard := s.heard[id.Message]; heard {
		return dedup.Claimed, true
	}
	return s.watched.Known(id)
}

func (s *lateStore) Give(context.Context, dedup.ID) error { return nil }

func (s *lateStore) Answer(ctx context.Context, id dedup.ID, owed []dedup.Part) error {
	s.mu.Lock()
	q, heard := s.heard[id.Message]
	s.mu.Unlock()
	if heard {
		if _, err := s.watched.Claim(ctx, q); err != nil {
			return err
		}
	}
	return s.watched.Answer(ctx, id, owed)
}
