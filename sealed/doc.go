// Package sealed keeps secrets at rest and in memory: the host's identity and
// recipients, the envelope each profile's credentials are sealed in, and
// [Secret], a value that never prints.
//
// An envelope is age over versioned JSON. It opens only for the profile it
// names, and its token goes only to the server it names: age does not say who
// wrote a file, so whoever can write into a home could otherwise swap one
// tenant's envelope for another's. Its generation rises with every change of
// what is sealed; that it has not fallen is for whoever remembers the highest
// one to see.
//
// [FindIdentity] loads what opens envelopes, [FindKeyring] also whom to seal
// for. A [Store] reads and writes one profile's envelope in its [Folder], which
// for a tenant's home is one that works with the tenant's rights. [Rekey] seals
// many anew, all or none, and [Resume] ends one that was interrupted.
// [Envelope.Credentials] is what a channel gets, once, by
// [Credentials.MarshalHandover]; a channel never holds the identity.
//
// The supervisor and the verbs that must call the package to open and seal;
// everybody else uses [Secret], [Credentials] and [Server] alone. The package
// takes no lock, starts no goroutine, asks nobody anything but by a callback,
// logs nothing, and reads no key from arguments or environment. It knows
// nothing of Rocket.Chat and nothing of where a home lies.
package sealed
