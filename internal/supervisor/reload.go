package supervisor

import (
	"errors"
	"strings"
	"time"

	"rcsupervisor/profile"
)

// A ReloadResult is what came of the last time that files were looked at and
// were others than before.
type ReloadResult struct {
	At    *time.Time `json:"at"`
	OK    bool       `json:"ok"`
	Error *string    `json:"error"`
}

// noteReload takes note of what an update brought.
func (s *Supervisor) noteReload(u profile.Update) {
	var errs []error
	for _, c := range u.Changes {
		if c.Now.Err != nil {
			errs = append(errs, errors.New(c.Name+": "+strings.ReplaceAll(c.Now.Err.Error(), "\n", "; ")))
		}
	}
	errs = append(errs, u.Problems...)
	now := time.Now().UTC().Truncate(time.Millisecond)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reload = ReloadResult{At: &now, OK: len(errs) == 0}
	if err := errors.Join(errs...); err != nil {
		msg := err.Error()
		s.reload.Error = &msg
	}
}
