package people

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// Asked reports whether somebody's request waits in a profile's page.
func (b *Book) Asked(name, id string) (bool, error) {
	requests, err := b.Requests(name)
	return slices.ContainsFunc(requests, func(r Request) bool { return r.ID == id }), err
}

// Settle drops the request of a person about whom somebody has decided.
func (b *Book) Settle(name, id string) error {
	return b.change(name, func(p *page) bool {
		before := len(p.Requests)
		p.Requests = slices.DeleteFunc(p.Requests, func(r Request) bool { return r.ID == id })
		return len(p.Requests) != before
	})
}

// Drop forgets all that is kept of a profile. One without a page is no error.
func (b *Book) Drop(name string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if _, err := b.read(name); err != nil && !errors.Is(err, errPage) {
		return err
	}
	err := os.Remove(filepath.Join(b.Dir, folder, name+".json"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
