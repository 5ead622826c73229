package channel

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"rcsupervisor/channel/agent"
	"rcsupervisor/profile"
)

// Where files lie below a profile's state directory: those that came with a
// question until its turn is over, and those of an answer until they were sent.
const (
	downloadsName = "downloads"
	outgoingName  = "outgoing"
)

// What a room is told of a file that it does not get.
const (
	sayOutside  = "A file that belongs to this was not sent: it does not lie in the agent's own workspace."
	sayTooLarge = "A file that belongs to this was not sent: it is larger than I may send."
	sayNoSpace  = "A file that belongs to this was not sent: there is no room to keep it until it is."
)

// errNoSpace is limits.download_bytes.
var errNoSpace = errors.New("the profile's files take up as much as they may")

// files are those of a profile that lie with us for a while, bounded in all.
// Its methods may be called from any goroutine.
type files struct {
	home   string
	limits func() profile.Limits
	log    *slog.Logger

	mu   sync.Mutex
	used map[string]int64 // bytes by folder below the state directory; guarded by mu
	sum  int64
}

func newFiles(home string, limits func() profile.Limits, log *slog.Logger) *files {
	return &files{home: home, limits: limits, log: log, used: make(map[string]int64)}
}

// folderOf is a question's: ids are the server's.
func folderOf(question string) string {
	sum := sha256.Sum256([]byte(question))
	return hex.EncodeToString(sum[:10])
}

// reserve counts n bytes as a folder's, which may be given back with a negative
// n.
func (f *files) reserve(folder string, n int64) error {
	bound := f.limits().DownloadBytes
	f.mu.Lock()
	defer f.mu.Unlock()
	if n > 0 && f.sum+n > bound {
		return errNoSpace
	}
	f.sum += n
	f.used[folder] += n
	return nil
}

// drop removes a folder and all that is in it.
func (f *files) drop(folder string) {
	root, err := os.OpenRoot(stateDir(f.home))
	if err == nil {
		err = root.RemoveAll(filepath.FromSlash(folder))
		root.Close()
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		f.log.Warn("files can't be removed", "err", err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.sum -= f.used[folder]
	delete(f.used, folder)
}

// release removes what came with a question.
func (f *files) release(question string) {
	folder := path.Join(downloadsName, folderOf(question))
	f.mu.Lock()
	_, some := f.used[folder]
	f.mu.Unlock()
	if some {
		f.drop(folder)
	}
}

// create makes a file in a folder below the state directory.
func (f *files) create(folder, name string) (*os.File, error) {
	root, err := os.OpenRoot(stateDir(f.home))
	if err != nil {
		return nil, err
	}
	defer root.Close()
	if err := root.MkdirAll(folder, 0o700); err != nil {
		return nil, err
	}
	return root.OpenFile(path.Join(folder, name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
}

// keep copies a file of an answer to where it lies until it was sent, whatever
// the agent does with its own meanwhile. index tells the files of one answer
// apart. It returns what [files.open] takes, or what the room is told.
func (f *files) keep(question string, index int, out agent.FileOut) (kept, problem string) {
	source, err := agent.OpenOut(out)
	if err != nil {
		f.log.Info("a file of an answer is not sent", "message", question, "err", err)
		return "", sayOutside
	}
	defer source.Close()
	info, err := source.Stat()
	if err != nil {
		return "", sayTooLarge
	}
	return f.put(folderOf(question)+"-"+strconv.Itoa(index), keptName(out.Path), source, info.Size())
}

// put keeps size bytes of source in a folder of its own until they were sent. It
// returns what [files.open] takes, or what the room is told.
func (f *files) put(folder, name string, source io.Reader, size int64) (kept, problem string) {
	if size > f.limits().FileBytes {
		return "", sayTooLarge
	}
	folder = path.Join(outgoingName, folder)
	if f.reserve(folder, size) != nil {
		return "", sayNoSpace
	}
	if err := f.copy(folder, name, source, size); err != nil {
		f.log.Warn("a file that belongs to an answer could not be kept", "folder", folder, "err", err)
		f.drop(folder)
		return "", sayNoSpace
	}
	return path.Join(folder, name), ""
}

// copy takes the first size bytes of a file; one that grows meanwhile is cut,
// one that shrinks an error.
func (f *files) copy(folder, name string, source io.Reader, size int64) error {
	to, err := f.create(folder, name)
	if err != nil {
		return err
	}
	_, err = io.CopyN(to, source, size)
	if err == nil {
		err = to.Sync()
	}
	return errors.Join(err, to.Close())
}

// keptName is the name that a file is sent under, as it can be on any disk.
func keptName(p string) string {
	name := strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r == '/' || r == '\\' {
			return '_'
		}
		return r
	}, strings.ToValidUTF8(path.Base(p), "_"))
	for len(name) > 200 {
		name = strings.ToValidUTF8(name[len(name)-200:], "")
	}
	if name == "" || name == "." || name == ".." {
		return "file"
	}
	return name
}

// open opens a file of an answer.
func (f *files) open(kept string) (*os.File, error) {
	root, err := os.OpenRoot(stateDir(f.home))
	if err != nil {
		return nil, err
	}
	defer root.Close()
	return root.Open(kept)
}

// sent removes a file of an answer.
func (f *files) sent(kept string) {
	if folder := path.Dir(kept); path.Dir(folder) == outgoingName {
		f.drop(folder)
	}
}

// begin takes over what an earlier run left: of answers that are still owed the
// files, of anything else nothing. It comes before the first download.
func (f *files) begin(owed []string) {
	keep := make(map[string]bool)
	for _, kept := range owed {
		folder := path.Dir(kept)
		keep[path.Base(folder)] = true
		if file, err := f.open(kept); err == nil {
			if info, err := file.Stat(); err == nil {
				f.mu.Lock()
				f.sum += info.Size()
				f.used[folder] += info.Size()
				f.mu.Unlock()
			}
			file.Close()
		}
	}
	entries, err := os.ReadDir(filepath.Join(stateDir(f.home), outgoingName))
	if err != nil {
		return
	}
	for _, e := range entries {
		folder := path.Join(outgoingName, e.Name())
		f.mu.Lock()
		_, ours := f.used[folder] // of an answer of this run, already
		f.mu.Unlock()
		if !ours && !keep[e.Name()] {
			f.drop(folder)
		}
	}
}
