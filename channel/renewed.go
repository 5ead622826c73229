package channel

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"rcsupervisor/internal/atomicfile"
)

// renewedName is the file, in a profile's state directory, of when conversations
// were begun anew: what was said in them before is shown to no agent, in no run.
const renewedName = "renewed.json"

// Bounds of that file. Of more conversations the ones begun anew longest ago are
// forgotten.
const (
	maxRenewed     = 1000
	maxRenewedFile = 1 << 20
)

// renewedFile is its form: server times by conversation.
type renewedFile struct {
	V  int                  `json:"v"`
	At map[string]time.Time `json:"at"`
}

// anew remembers that a conversation is begun anew now. Any goroutine.
func (l *life) anew(conversation string) {
	l.renewed.mu.Lock()
	defer l.renewed.mu.Unlock()
	at := l.cuts()
	at[conversation] = l.serverNow()
	for len(at) > maxRenewed {
		oldest := conversation
		for name, when := range at {
			if when.Before(at[oldest]) {
				oldest = name
			}
		}
		delete(at, oldest)
	}
	data, err := json.Marshal(renewedFile{V: 1, At: at})
	if err == nil {
		err = atomicfile.ReplacePath(filepath.Join(stateDir(l.files.home), renewedName), data, 0o600, nil)
	}
	if err != nil {
		l.log.Warn("that a conversation was begun anew can't be written down; after a restart what was said before is shown to the agent again", "err", err)
	}
}

// since is when a conversation was last begun anew, the zero time for never.
func (l *life) since(conversation string) time.Time {
	l.renewed.mu.Lock()
	defer l.renewed.mu.Unlock()
	return l.cuts()[conversation]
}

// cuts are read from the file when they are first asked for; the caller holds
// l.renewed.mu. A file that can't be read is as none.
func (l *life) cuts() map[string]time.Time {
	if l.renewed.at != nil {
		return l.renewed.at
	}
	l.renewed.at = make(map[string]time.Time)
	root, err := os.OpenRoot(stateDir(l.files.home))
	var data []byte
	if err == nil {
		data, err = atomicfile.Read(root, renewedName, maxRenewedFile)
		root.Close()
	}
	var f renewedFile
	if err == nil {
		if err = json.Unmarshal(data, &f); err == nil && f.V != 1 {
			err = errors.New("it is of another version")
		}
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		l.log.Warn("which conversations were begun anew can't be read; what was said before is shown to the agent again", "err", err)
	case f.At != nil:
		l.renewed.at = f.At
	}
	return l.renewed.at
}
