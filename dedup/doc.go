// Package dedup remembers, for one bot, what was heard and what is owed, so
// that a question is answered once: also after a crash, a restart, a lost
// reply, or the same message published again hours later.
//
// A question is one record with a [State]. Each step is on disk before the
// next begins: claimed → given → answered → done. See [Store] for who may take
// which step, and [Open] for how a damaged file is contained.
//
// The package knows nothing of Rocket.Chat: ids are strings, times are the
// server's, and a text it keeps (only between answered and done) is never
// looked at.
package dedup
