// Package rest is the REST wire of one bot: the calls a channel makes to its
// Rocket.Chat server beside the realtime socket.
//
// It owns how a call is made and what its answer means. Every failure is an
// [*Error] whose [Kind] says what it is; the shapes in which the servers of
// 3.4, 7, 8 and 9 say the same thing are known here and nowhere else. Bodies
// are bounded in bytes and in time, redirects are never followed, and the
// credentials go to the sealed server in two headers and nowhere else: not into
// an address, an error or a log.
//
// It never decides: whether a message is sent again, a channel stopped or a
// question dropped is the caller's to say. It repeats a call by itself only
// where a repeat can't double anything. A 401 is a suspicion of a refused
// token; only [Client.Refusal] confirms it.
//
// A [Client] belongs to one bot and may be used from any goroutine of its
// channel. An idle one holds no connection and no goroutine.
package rest
