// Package gate decides what a message means: nothing, a question, a command, a
// decision that was waited for, or something that has to be refused.
//
// [Decide] is pure. It does no I/O, has no clock and no randomness: the
// message, what is known of its room, and the moment are given to it, and the
// same facts give the same [Verdict]. Any goroutine may call it, as long as
// nobody changes the facts meanwhile; a [Policy] never changes once compiled.
//
// The order of its steps is the contract of the whole product (who may talk to
// a bot, and where), so it stands in one function and is tested exhaustively:
//
//	own → system → bot or ignored sender → re-emit → age → membership → kind →
//	room on → awaited → woken → person let in → command → rate
//
// The step that ended a message's way is named in its verdict and is the label
// under which it is counted. What does not concern this package: whether an id
// is known already (the store says so), how often a stranger is spoken to, and
// the words in which anything is said.
package gate
