// Package healthcheck is the state of a profile and the rules by which it
// changes.
//
// It owns the words that status shows ([State], [Reason], the coded warnings
// and every sentence a person reads about them) and the rules behind them:
//
//   - [Next] and the methods of [History] decide what follows when a
//     connection or a worker has ended, when something keeps a profile from
//     running, when a file has changed and when a person has spoken.
//   - [Server] is what profiles of one server share: one probe while it can't
//     be reached, and the doubt when it refuses several of them at once.
//   - [Dials] shares out connection attempts so that no server is stormed.
//   - [Explain] says of a profile what it is, why, what comes next, when, and
//     which command mends it.
//
// It is pure: standard library only, no I/O, no goroutine, no clock of its own
// and no randomness of its own. The time and the jitter are arguments. It
// never decides whether a 401 was a refusal, whose bot a profile is, or what a
// changed file means; it is told.
//
// The supervisor calls it, from the one goroutine that owns the profile (for
// History, a value) or the server (for Server and Dials, which are not safe
// for concurrent use). Verbs call Explain and the tables of words.
//
// # Clocks
//
// Pass time.Now() as it is. Its monotonic reading makes every rule immune to
// steps of the wall clock, and a suspended host merely lengthens what was
// running. Without that reading (a History that went through JSON) a step
// costs at most one wait too many or one counted too soon: a wait is never
// longer than it was when it was decided, and the streak is a count, which no
// clock can turn back.
package healthcheck
