package enroll

import (
	"errors"
	"os"

	"rcsupervisor/profile"
)

// A Registry is what is remembered of names beyond their homes. A change is on
// disk when Change returns nil.
type Registry interface {
	Entry(name string) (e profile.Entry, known bool, err error)
	Holders(server, bot string) ([]string, error)
	Paths() (map[string]string, error)
	// Change gives a name another entry; a nil one is forgotten.
	Change(name string, e *profile.Entry) error
}

// LedgerIn is the registry of a state directory in which no supervisor runs.
// Whoever changes it holds the directory's lock.
func LedgerIn(dir *os.Root) Registry { return ledgerIn{dir} }

type ledgerIn struct{ dir *os.Root }

func (l ledgerIn) open() (*profile.Ledger, error) {
	ledger, err := profile.OpenLedger(l.dir)
	if errors.Is(err, profile.ErrLedgerLost) {
		err = &Error{Text: err.Error(), Try: "rcsupervisor doctor", Err: err}
	}
	return ledger, err
}

func (l ledgerIn) Entry(name string) (profile.Entry, bool, error) {
	ledger, err := l.open()
	if err != nil {
		return profile.Entry{}, false, err
	}
	e, ok := ledger.Get(name)
	return e, ok, nil
}

func (l ledgerIn) Holders(server, bot string) ([]string, error) {
	ledger, err := l.open()
	if err != nil {
		return nil, err
	}
	return ledger.Holders(server, bot), nil
}

func (l ledgerIn) Paths() (map[string]string, error) {
	ledger, err := l.open()
	if err != nil {
		return nil, err
	}
	return ledger.Paths(), nil
}

func (l ledgerIn) Change(name string, e *profile.Entry) error {
	ledger, err := l.open()
	if err != nil {
		return err
	}
	if e == nil {
		ledger.Remove(name)
	} else {
		ledger.Put(name, *e)
	}
	return ledger.Save()
}
