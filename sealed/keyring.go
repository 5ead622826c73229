package sealed

import (
	"fmt"
	"slices"
)

// A Keyring is what sealing takes: the recipients, and the identity that
// opens what lay there before and checks that what was sealed opens again.
type Keyring struct {
	recipients Recipients
	identity   *Identity // nil only when forced
	verifies   bool      // the identity opens what is sealed for the recipients
}

// NewKeyring joins an identity with the recipients to seal for. Recipients
// without a key of the identity's own are refused with [ErrLockout], since
// what is sealed for them this host can't open again; force allows them, and
// also an id of nil.
func NewKeyring(id *Identity, r Recipients, force bool) (*Keyring, error) {
	if len(r.keys) == 0 {
		return nil, &Error{Kind: ErrNoRecipients, Text: "no recipients to seal for", Try: "rcsupervisor init"}
	}
	if id == nil && !force {
		return nil, &Error{Kind: ErrNoIdentity, Text: "no identity to check the seal with", Try: "rcsupervisor init"}
	}
	opens := id != nil && slices.ContainsFunc(id.public, r.Contains)
	if !opens && !force {
		return nil, lockout(id, r)
	}
	return &Keyring{recipients: r, identity: id, verifies: opens}, nil
}

func lockout(id *Identity, r Recipients) error {
	text := fmt.Sprintf("the recipients don't hold this host's own key %s", short(id.Recipient()))
	if r.Kind() != id.Kind() {
		text += fmt.Sprintf(", and are of another kind (%s, this host's is %s)", r.Kind(), id.Kind())
	}
	return &Error{Kind: ErrLockout, Text: text, Try: "rcsupervisor init, which adds it to recipients.txt"}
}

// Recipients returns who the keyring seals for.
func (k *Keyring) Recipients() Recipients { return k.recipients }

// Identity returns the identity it was made with, nil when forced to none.
func (k *Keyring) Identity() *Identity { return k.identity }
