// Package catchup decides what is read after messages may have been missed:
// which rooms, from where, in which order, and what of them is kept. It is
// pure: no I/O, no clock, no goroutine. Reading the pages and leading what was
// missed through the gate is its caller's.
//
// The rules, and why:
//
//   - A room is read from its cursor, less [Grace]: a server orders messages by
//     a time that a client may have set up to ten seconds early, and federated
//     ones arrive late. Up to the cursor everything was ignored or claimed.
//   - A room without a cursor was never heard. It is read from when the bot
//     joined it, or from when the profile was last online if that is later, and
//     exactly so: what was said before is not the bot's to answer.
//   - Direct rooms come first, since somebody waits there for an answer; then
//     the room that has waited longest.
//   - Pages go back from the newest message ([Pass]), since that is how servers
//     give them; what is kept is asked oldest first.
//   - Of more than may be kept, the newest is. What lies beyond the bounds is
//     counted as missed, with the [Span] it lies in, never silently left out.
package catchup
