package supervisor

import (
	"sync"

	"rcsupervisor/sealed"
)

// Keys are what opens envelopes, and what seals one for a profile's new name.
// They are found again when somebody says that they may be others, or when
// there were none. Its methods may be called from any goroutine.
type Keys struct {
	find func() (*sealed.Identity, *sealed.Keyring, error)

	mu      sync.Mutex
	found   bool
	id      *sealed.Identity
	keyring *sealed.Keyring // nil where recipients are missing or unusable
	err     error           // why there is no id
}

// NewKeys returns Keys that are found by find: an identity, and a keyring where
// there is one. An identity without a keyring is none of its errors.
func NewKeys(find func() (*sealed.Identity, *sealed.Keyring, error)) *Keys { return &Keys{find: find} }

// Identity returns what opens envelopes.
func (k *Keys) Identity() (*sealed.Identity, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.look()
	return k.id, k.err
}

// Keyring returns what seals, nil if there is none.
func (k *Keys) Keyring() *sealed.Keyring {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.look()
	return k.keyring
}

func (k *Keys) look() {
	if !k.found {
		k.id, k.keyring, k.err = k.find()
		k.found = true
	}
}

// Refresh looks again and reports whether the identity is another than before.
// One that was there and is not any more stays in use: what it opened lives on
// anyhow, and its file may be in the middle of being replaced.
func (k *Keys) Refresh() (changed bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	id, keyring, err := k.find()
	had := k.found && k.id != nil
	if err != nil && had {
		return false
	}
	changed = k.found && (k.id == nil) != (id == nil) || had && id != nil && k.id.Recipient() != id.Recipient()
	k.found, k.id, k.keyring, k.err = true, id, keyring, err
	return changed
}

// Missing reports whether there is no identity.
func (k *Keys) Missing() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.look()
	return k.id == nil
}
