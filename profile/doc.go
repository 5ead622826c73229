// Package profile is a tenant's home: where it is found, how it is read, what
// its settings and access files mean, and what a change of them means.
//
// A [Scanner] finds homes and gives them their names; a [Watcher] runs one,
// sees homes come, go and change, and tells the difference from what was told
// last. [Load] reads a single home, for verbs. [DiffSettings], [Diff] and
// [Narrow] say what a change means; the [Ledger] remembers what a name was
// bound to; [WriteAccess] is the only thing that writes into a home.
//
// A home is never trusted: it is read as its owner, in bounded time, size and
// number, without following links out of it, and each on a goroutine of its
// own, so that one on a hanging file system is its own trouble. What its files
// give more than before is told apart from the rest, for an agent can write
// them ([Grants]). Errors name the file and line and never quote it.
//
// channel.yaml and access.yaml are each described by one table of keys, from
// which validation, defaults, classes of change and the reference for people
// are made. What is in YAML here is the YAML of today: yes, no, on and off are
// text.
//
// The package knows nothing of Rocket.Chat or of what is sealed: secrets.age is
// bytes to it. The supervisor and the verbs call it; a channel is given
// [Settings] and [Access] as values. A Scanner and a Ledger belong to one
// goroutine each; a Watcher's methods may be called from any; all other
// functions are pure or do their I/O on the calling goroutine.
package profile
