// Package dedup remembers, for one bot, what was heard and what is owed, so
// that a question is answered once: also after a crash, a restart, a lost
// reply, or the same message published again hours later.
//
// A question is one record with a [State]. Each step is on disk before the
// next begins: claimed → given → answered → done. See [Store] for who may take
// which step. [DB] keeps them in a bbolt file, [Memory] in memory alone; their
// rules are one piece of code.
//
// # What is kept
//
// A message id is known for 72 h after the UTC day of its message's own time,
// and as long as its question is not done. Of one that is done nothing is kept
// but half a SHA-256 of its id. Texts are kept only from answered to done; the
// package never looks at them.
//
// # Damage
//
// All that is known is held in memory too, about 40 bytes for a message. The
// file is read once, when it is opened, by code that trusts nothing in it
// (every record has a checksum, every bucket a tally of its records, and no
// page reaches bbolt before all were proven); after that it is only written.
// So nothing that happens to a file can make a known message new, or bring the
// process down: a fault in a mapped page is an error, damage is either noticed
// before the next commit or harms nobody, and [DB.Repair] writes all of it to
// a new file. What was damaged while no process ran is moved aside, and what
// can be proven of it is taken over.
//
// Left to the operating system: a disk that says it has synced and hasn't.
// Left to its users: that only one process opens a profile's file (the lock
// tells, and ErrLocked), and that somebody calls Repair and tells a person.
//
// # Quiet
//
// A store that no step was taken on for ten seconds holds its file's lock and
// nothing more: the file is no longer mapped. It is proven again, as when it was
// opened, before the next step.
//
// The package knows nothing of Rocket.Chat: ids are strings, times are the
// server's. It may be called from any goroutine; a store that is idle has none.
package dedup
