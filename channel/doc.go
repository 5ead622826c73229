// Package channel is one bot on one server. [Run] is the whole life of a
// channel: its store, its conversations, its agent, and one connection after
// another.
//
// A message's way through it has no turning back:
//
//	socket ─ddp→ Message ─gate→ Verdict ─dedup.Claim→ conversation ─prompt→ agent ─→ answer ─dedup→ deliver ─post→ done
//
// A connection runs from dial to last frame, ends with a typed reason, and
// costs the socket alone: turns go on without one and answers wait in the
// store. The channel reports that a connection ended; its supervisor, on the
// other side of a [Link], decides when the next is made.
//
// Who owns what:
//
//   - The goroutine of Run owns the life: its phase, its connection, its
//     settings. It obeys commands and reports, and waits for nothing; others
//     tell it through a mailbox.
//   - The goroutine that reads the socket parses a message and puts it into the
//     intake. It waits for nothing either.
//   - The intake's lane owns what is known of rooms and people. It judges
//     messages in their order, claims them, settles the cursors, and hands
//     them on. What it has to ask the server is asked beside it, and the
//     messages of that room wait.
//   - One goroutine a connection reads what was missed and feeds the same lane.
//     Until it knows what that is, and then in the rooms concerned, live
//     messages wait behind it, for a minute at most; cursors stay until it is
//     done.
//
// What is asked of a store in trouble is tried again; nothing new is taken in
// meanwhile. A cursor never passes what is not ignored or claimed. The cursor
// "" is up to when the whole profile is known to have missed nothing: it moves
// when catching up is done, and when a check has proven that the socket brings
// what the rooms have.
//
// A channel knows one profile. It reads no file of the home but its state
// directory and its agent's workspace, and gets settings, access and
// credentials over its link.
package channel
