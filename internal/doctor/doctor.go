package doctor

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"rcsupervisor/internal/atomicfile"
	"rcsupervisor/internal/enroll"
	"rcsupervisor/internal/ownerfs"
	"rcsupervisor/profile"
	"rcsupervisor/sealed"
)

// A Host is what is looked over.
type Host struct {
	Desk     *enroll.Desk
	StateDir string
	Socket   string // where a supervisor would answer
	Proc     string // "" for /proc; tests have another
}

// Examine reports what is found, as it is found, and returns whether nothing
// is broken. The error is ctx's.
func Examine(ctx context.Context, h Host, report func(enroll.Finding)) (good bool, err error) {
	if h.Proc == "" {
		h.Proc = "/proc"
	}
	e := &examination{Host: h, report: report, good: true}
	e.keys()
	e.state()
	e.socket()
	if err := e.homes(ctx); err != nil {
		return false, err
	}
	e.kernel()
	e.clock()
	return e.good, nil
}

// An examination is one look at one host.
type examination struct {
	Host
	report  func(enroll.Finding)
	good    bool
	keyring *sealed.Keyring // nil where there is none
	homesIn int             // that take part
}

func (e *examination) ok(what, format string, args ...any) {
	e.report(enroll.Finding{What: what, OK: true, Text: fmt.Sprintf(format, args...)})
}

func (e *examination) warn(what, try, format string, args ...any) {
	e.report(enroll.Finding{What: what, Warn: true, Text: fmt.Sprintf(format, args...), Try: try})
}

func (e *examination) bad(what, try, format string, args ...any) {
	e.good = false
	e.report(enroll.Finding{What: what, Text: fmt.Sprintf(format, args...), Try: try})
}

// keys looks at the identity and at whom is sealed for.
func (e *examination) keys() {
	id, err := sealed.FindIdentity(e.Desk.Identity)
	if err != nil {
		e.bad("identity", enroll.Hint(err), "%s", strings.TrimPrefix(err.Error(), "identity "))
		return
	}
	e.ok("identity", "%s (%s)", strings.TrimPrefix(id.Source(), "identity "), id.Kind())
	if id.Kind() != sealed.Hybrid {
		e.warn("identity", "rcsupervisor reseal --all --new-identity", "it is no match for quantum computers, as hybrid ones are")
	}
	if id.Rotating() {
		e.warn("identity", "rcsupervisor reseal --all --new-identity", "a change of the identity was begun and not ended")
	}
	r, err := sealed.FindRecipients(id, e.Desk.Identity)
	if err == nil {
		e.keyring, err = sealed.NewKeyring(id, r, false)
	}
	switch {
	case err != nil:
		e.bad("recipients", enroll.Hint(err), "%v", err)
	case len(r.Keys()) == 1:
		e.warn("recipients", "rcsupervisor init --recovery RECIPIENT", "only this host can open what is sealed; without its identity all is lost")
	default:
		e.ok("recipients", "%d", len(r.Keys()))
	}
}

// state looks at the supervisor's own directory.
func (e *examination) state() {
	dir := e.StateDir
	info, err := os.Stat(dir)
	if err != nil {
		e.bad("state", "rcsupervisor init", "%v", err)
		return
	}
	st, _ := info.Sys().(*syscall.Stat_t)
	switch {
	case st != nil && int(st.Uid) != os.Geteuid():
		e.bad("state", "sudo chown "+fmt.Sprint(os.Geteuid())+" "+ownerfs.Quote(dir), "%s belongs to uid %d", dir, st.Uid)
	case info.Mode().Perm()&0o022 != 0:
		e.bad("state", "chmod go-w "+ownerfs.Quote(dir), "others may write to %s", dir)
	default:
		e.ok("state", "%s", dir)
	}
	if left, err := sealed.Unfinished(e.Desk.State); err == nil && left {
		e.bad("state", "rcsupervisor reseal --all", "a reseal was interrupted before its end")
	}
	ledger, err := profile.OpenLedger(e.Desk.State)
	switch {
	case errors.Is(err, profile.ErrLedgerLost):
		e.bad("ledger", "rcsupervisor start --all, with the supervisor running: what runs then is known anew", "%v", err)
	case err != nil:
		e.bad("ledger", "", "%v", err)
	case ledger.FromPrevious:
		e.warn("ledger", "rcsupervisor status", "its current copy was damaged, and the one before it is used: the last change may be missing")
	}
	e.stale(dir)
}

// tempAge is how old a temporary file is that nobody writes any more.
const tempAge = time.Minute

// stale looks for temporary files that killed writers left.
func (e *examination) stale(dir string) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	for _, f := range entries {
		if i, err := f.Info(); err == nil && atomicfile.IsTemp(f.Name()) && time.Since(i.ModTime()) > tempAge {
			path := filepath.Join(dir, f.Name())
			e.warn("stale", "rm "+ownerfs.Quote(path), "a killed process left %s", path)
		}
	}
}

// homes looks at all homes.
func (e *examination) homes(ctx context.Context) error {
	snap, err := e.Desk.Scan(ctx)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		return nil // the ledger, of which was told
	}
	e.homesIn = len(snap.Profiles)
	for _, err := range snap.Problems {
		e.bad("roots", enroll.Hint(err), "%v", err)
	}
	for _, u := range snap.Unnamed {
		e.warn("unnamed", u.Try, "%s: %s", u.Home, u.Text)
	}
	refused := 0
	for _, r := range snap.Profiles {
		if r.Err != nil {
			refused++
			e.bad("home", enroll.Hint(r.Err), "%s: %v", r.Name, r.Err)
		}
	}
	if n := len(snap.Profiles) - refused; n > 0 || refused == 0 {
		e.ok("homes", "%d can be used as they are", n)
	}
	e.envelopes(snap.Profiles)
	e.plain(snap.Profiles)
	e.oneUser(snap.Profiles)
	return nil
}

// envelopes opens all of them: each must open, for whom is sealed now, and no
// two of them may hold one bot.
func (e *examination) envelopes(all []profile.Reading) {
	if e.keyring == nil {
		return
	}
	holders := map[string][]string{}
	var staleNames []string
	for _, r := range all {
		if r.Err != nil {
			continue
		}
		if r.Sealed == nil {
			e.bad("seal", "rcsupervisor add "+r.Name+" --server URL", "%s has no sealed credentials", r.Name)
			continue
		}
		env, err := sealed.Unseal(r.Sealed, e.keyring.Identity(), r.Name)
		if err != nil {
			e.bad("seal", enroll.Hint(err), "%v", err)
			continue
		}
		bot := env.UserID + " on " + env.Server
		holders[bot] = append(holders[bot], r.Name)
		if env.Stale(e.keyring.Recipients()) {
			staleNames = append(staleNames, r.Name)
		}
	}
	if len(staleNames) > 0 {
		e.warn("seal", "rcsupervisor reseal --all", "sealed for other recipients than recipients.txt names now: %s", some(staleNames))
	}
	for bot, names := range holders {
		if len(names) > 1 {
			e.warn("seal", "rcsupervisor remove "+names[1], "one bot (%s) is sealed for several: %s", bot, some(names))
		}
	}
}

// some names a few of many.
func some(names []string) string {
	const few = 8
	if len(names) <= few {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:few], ", "), len(names)-few)
}

// plain looks for tokens that lie in homes as they are: where Hermes would read
// them, and in the copies that editors leave.
func (e *examination) plain(all []profile.Reading) {
	for _, r := range all {
		if len(r.Hermes) > 0 {
			e.bad("plain", "rcsupervisor import "+r.Name+" --scrub", "%s holds a token in plain text: %s", r.Name, strings.Join(r.Hermes, "; "))
		}
		dir, err := ownerfs.Open(r.Home)
		if err != nil {
			continue
		}
		for _, name := range enroll.EnvCopies(dir) {
			path := filepath.Join(r.Home, name)
			e.bad("plain", "shred -u "+ownerfs.Quote(path), "%s holds a token in plain text", path)
		}
		dir.Close()
	}
}

// oneUser tells of profiles whose agents can read each other's homes.
func (e *examination) oneUser(all []profile.Reading) {
	byOwner := map[int][]string{}
	for _, r := range all {
		if r.Err == nil && r.Settings.Agent.Kind != "echo" {
			byOwner[r.Owner] = append(byOwner[r.Owner], r.Name)
		}
	}
	for _, names := range byOwner {
		if len(names) > 1 {
			slices.Sort(names)
			e.warn("one-uid", "give each tenant a user of his own, and run the supervisor as root", "the agents of these run as one user and can read each other's homes: %s", some(names))
		}
	}
}
