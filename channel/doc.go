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
// A channel knows one profile. It reads no file of the home but its state
// directory, and gets settings, access and credentials over its link.
package channel
