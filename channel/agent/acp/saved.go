package acp

import (
	"cmp"
	"encoding/json"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"rcsupervisor/internal/atomicfile"
)

// maxSaved bounds how many conversations are remembered: under reply: thread
// every question begins one.
const maxSaved = 1000

// A saved is the file of session ids. Its methods may be called from any
// goroutine; each change is on disk when its method returns, or logged.
type saved struct {
	path    string
	command string
	log     *slog.Logger

	mu       sync.Mutex
	sessions map[string]savedSession
}

// A savedSession is one conversation's.
type savedSession struct {
	ID   string    `json:"id"`
	Used time.Time `json:"used"`
}

// savedFile is the file's form. Sessions of another command mean nothing.
type savedFile struct {
	V        int                     `json:"v"`
	Command  string                  `json:"command"`
	Sessions map[string]savedSession `json:"sessions"`
}

// loadSaved reads the file. One that can't be read is as none: conversations
// then begin anew.
func loadSaved(path string, command []string, log *slog.Logger) *saved {
	s := &saved{path: path, command: strings.Join(command, "\x00"), log: log, sessions: make(map[string]savedSession)}
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return s
	}
	var f savedFile
	if err == nil {
		err = json.Unmarshal(data, &f)
	}
	switch {
	case err != nil || f.V != 1:
		log.Warn("the agent's sessions can't be read; conversations begin anew", "file", path, "err", err)
	case f.Command == s.command:
		for conversation, one := range f.Sessions {
			if len(one.ID) <= maxID {
				s.sessions[conversation] = one
			}
		}
	}
	return s
}

// id is a conversation's session: "" for one that had a session whose id is
// another one's by now.
func (s *saved) id(conversation string) (id string, known bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	one, known := s.sessions[conversation]
	return one.ID, known
}

// put notes a conversation's session. Whatever other one had the same id has
// lost its own.
func (s *saved) put(conversation, id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for name, one := range s.sessions {
		if name != conversation && one.ID == id {
			one.ID = ""
			s.sessions[name] = one
		}
	}
	s.sessions[conversation] = savedSession{ID: id, Used: time.Now().UTC().Truncate(time.Second)}
	s.prune()
	s.write()
}

func (s *saved) forget(conversation string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, known := s.sessions[conversation]; known {
		delete(s.sessions, conversation)
		s.write()
	}
}

// prune forgets the conversations that were taken up longest ago.
func (s *saved) prune() {
	if len(s.sessions) <= maxSaved {
		return
	}
	names := make([]string, 0, len(s.sessions))
	for name := range s.sessions {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b string) int {
		return cmp.Or(s.sessions[a].Used.Compare(s.sessions[b].Used), cmp.Compare(a, b))
	})
	for _, name := range names[:len(names)-maxSaved] {
		delete(s.sessions, name)
	}
}

func (s *saved) write() {
	data, err := json.MarshalIndent(savedFile{V: 1, Command: s.command, Sessions: s.sessions}, "", "\t")
	if err == nil {
		err = atomicfile.ReplacePath(s.path, append(data, '\n'), 0o600, nil)
	}
	if err != nil {
		s.log.Warn("the agent's sessions can't be written; after a restart conversations begin anew", "err", err)
	}
}
