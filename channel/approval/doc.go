// Package approval is what becomes of an agent's requests: who is asked, under
// which numbers, until when, and what the room is shown of it.
//
// A [Book] holds the requests of a profile. It is a pure state machine: it
// knows no clock, no goroutine and no server; each call returns the [Effect]s
// that have to follow. A [Desk] is its keeper in a running channel: it has the
// lock and the timer, posts and edits, and sees to it that what is open is
// written down before anybody sees it.
//
// The rules, in short. What is asked is shown whole, in messages or as a file, or
// refused. One request is open in a conversation, the next waits. A number means
// one thing in a profile for 24 hours. An answer counts that was sent after its
// request by the server's time; one that comes before that time is known is held
// until it is. A request expires before the agent gives up on it, and is then
// refused; so it is when the turn is stopped, the agent is gone, or the channel
// starts anew. What would outlive the turn is never offered. Who may decide,
// and what counts as a decision, is the gate's: see [Book.Requests].
package approval
