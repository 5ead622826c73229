package people

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"rcsupervisor/channel"
	"rcsupervisor/internal/atomicfile"
	"rcsupervisor/profile"
)

// Bounds of what is kept for a profile.
const (
	requestsKept = 20
	triersKept   = 200
	pageBytes    = 1 << 20
	maxID        = 255
	folder       = "people"
)

// A Book keeps a page for each profile in a directory. Its methods may be
// called from any goroutine of one process; other processes that hold the same
// directory see whole pages.
type Book struct {
	Dir string // the state directory
	// LetIn writes a person who has proved himself into a profile's
	// access.yaml.
	LetIn func(ctx context.Context, name string, p profile.Person) error

	mu sync.Mutex
}

// A Request is a stranger's wish to be let in: one per person and day, the
// newest 20 of a profile.
type Request struct {
	ID   string    `json:"id"`
	Name string    `json:"name"`
	At   time.Time `json:"at"`
}

// A page is what is kept of one profile.
type page struct {
	V        int            `json:"v"`
	Code     *code          `json:"code,omitempty"`
	Tries    map[string]int `json:"tries,omitempty"` // wrong codes, by user id
	Requests []Request      `json:"requests,omitempty"`
}

// Ask answers what a channel asks about a person.
func (b *Book) Ask(ctx context.Context, name string, r channel.Request) (channel.Reply, error) {
	if r.Kind != "code" {
		return channel.Reply{OK: true}, b.request(name, r, time.Now())
	}
	spent, err := b.prove(name, r.User, r.Code, time.Now())
	if err != nil || spent == nil {
		return channel.Reply{}, err
	}
	err = b.LetIn(ctx, name, profile.Person{ID: r.User, Name: profile.ShownName(r.Name), Role: profile.Owner})
	if err != nil {
		// Nobody became an owner, so the code is not used up.
		err = errors.Join(err, b.giveBack(name, spent))
	}
	return channel.Reply{OK: err == nil}, err
}

// NewCode makes the one-time code of a profile, in the place of any before it.
func (b *Book) NewCode(name string, now time.Time) (string, error) {
	plain, kept := newCode(now)
	return plain, b.change(name, func(p *page) bool {
		p.Code, p.Tries = &kept, nil
		return true
	})
}

// Requests are those of a profile that wait for a person, newest first.
func (b *Book) Requests(name string) ([]Request, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	p, err := b.read(name)
	return p.Requests, err
}

// prove returns the code that was given out if somebody wrote it, and nil
// otherwise. It works once; a person has five tries, and what can't be an id
// has none.
func (b *Book) prove(name, user, written string, now time.Time) (spent *code, err error) {
	if !isID(user) {
		return nil, nil
	}
	err = b.change(name, func(p *page) bool {
		if p.Code == nil || now.After(p.Code.Expires) || p.Tries[user] >= triesEach {
			return false
		}
		if p.Code.is(written) {
			spent, p.Code, p.Tries = p.Code, nil, nil
			return true
		}
		if p.Tries == nil {
			p.Tries = make(map[string]int)
		}
		if len(p.Tries) >= triersKept && p.Tries[user] == 0 {
			p.Code = nil // so many people guess: nobody shall win
			return true
		}
		p.Tries[user]++
		return true
	})
	if err != nil {
		return nil, err // it may not be written down that it was used
	}
	return spent, nil
}

// giveBack makes a code good again, unless another was given out since.
func (b *Book) giveBack(name string, spent *code) error {
	return b.change(name, func(p *page) bool {
		if p.Code != nil {
			return false
		}
		p.Code = spent
		return true
	})
}

// request keeps a stranger's request. What he calls himself is made fit to be
// shown; what can't be an id is no request.
func (b *Book) request(name string, r channel.Request, now time.Time) error {
	if !isID(r.User) {
		return nil
	}
	return b.change(name, func(p *page) bool {
		for _, had := range p.Requests {
			if had.ID == r.User && now.Sub(had.At) < 24*time.Hour {
				return false
			}
		}
		p.Requests = slices.DeleteFunc(p.Requests, func(had Request) bool { return had.ID == r.User })
		p.Requests = slices.Insert(p.Requests, 0, Request{ID: r.User, Name: profile.ShownName(r.Name), At: now.UTC()})
		p.Requests = p.Requests[:min(len(p.Requests), requestsKept)]
		return true
	})
}

// isID reports whether something can be a user's id. It comes from a server that
// may be anybody's, and a person is going to see it.
func isID(s string) bool {
	return s != "" && len(s) <= maxID && utf8.ValidString(s) && !strings.ContainsFunc(s, func(r rune) bool { return r == ' ' || !unicode.IsPrint(r) })
}

// change reads a profile's page, and writes it when f says that it changed.
func (b *Book) change(name string, f func(*page) bool) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	p, err := b.read(name)
	if errors.Is(err, errPage) {
		p, err = page{V: 1}, nil // a code and some requests are less than a profile that can't have any again
	}
	if err != nil {
		return err
	}
	if !f(&p) {
		return nil
	}
	data, err := json.MarshalIndent(p, "", "  ")
	if err != nil {
		return err
	}
	dir := filepath.Join(b.Dir, folder)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	return atomicfile.ReplacePath(filepath.Join(dir, name+".json"), append(data, '\n'), 0o600, nil)
}

// errNewer is a page that this version must not rewrite; errPage is one that
// can't be read.
var (
	errNewer = errors.New("written by a newer version of rcsupervisor")
	errPage  = errors.New("is no page of people")
)

func (b *Book) read(name string) (page, error) {
	p := page{V: 1}
	if !profile.ValidName(name) {
		return p, fmt.Errorf("%q is no profile's name", name)
	}
	path := filepath.Join(b.Dir, folder, name+".json")
	root, err := os.OpenRoot(filepath.Dir(path))
	if errors.Is(err, fs.ErrNotExist) {
		return p, nil
	}
	if err != nil {
		return p, err
	}
	defer root.Close()
	data, err := atomicfile.Read(root, filepath.Base(path), pageBytes)
	if errors.Is(err, fs.ErrNotExist) {
		return p, nil
	}
	if err != nil {
		return p, fmt.Errorf("%s: %w", path, err)
	}
	if json.Unmarshal(data, &p) != nil {
		return page{}, fmt.Errorf("%s %w", path, errPage)
	}
	if p.V != 1 {
		return page{}, fmt.Errorf("%s: %w", path, errNewer)
	}
	return p, nil
}
