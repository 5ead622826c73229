package control

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// AuditFile is the audit file's name in the state directory. When it has grown
// to auditBytes it becomes the previous one, and another is begun.
const (
	AuditFile     = "audit.jsonl"
	auditPrevious = "audit.previous.jsonl"
	auditBytes    = 16 << 20
)

// An Act is one line of the audit file: an act that changed something, or was
// to.
type Act struct {
	Time    time.Time `json:"time"`
	UID     int       `json:"uid"`
	PID     int       `json:"pid"`
	Verb    string    `json:"verb"`
	Profile string    `json:"profile,omitempty"`
	Detail  string    `json:"detail,omitempty"` // what exactly, without secrets
	Outcome string    `json:"outcome"`          // done, or an error's code
	Error   string    `json:"error,omitempty"`
}

// An Audit writes the audit file. Its methods may be called from any
// goroutine.
type Audit struct {
	dir *os.Root
	mu  sync.Mutex
}

// NewAudit returns an Audit whose file lies in the state directory dir.
func NewAudit(dir *os.Root) *Audit { return &Audit{dir: dir} }

// Write adds a line. It is on its way to the disk when Write returns.
func (a *Audit) Write(act Act) error {
	if a == nil || a.dir == nil {
		return nil
	}
	act.Time = act.Time.UTC()
	line, err := json.Marshal(act)
	if err != nil {
		return err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if info, err := a.dir.Lstat(AuditFile); err == nil && info.Size() > auditBytes {
		if err := a.dir.Rename(AuditFile, auditPrevious); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	f, err := a.dir.OpenFile(AuditFile, os.O_WRONLY|os.O_APPEND|os.O_CREATE|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(append(line, '\n'))
	return errors.Join(err, f.Close())
}
