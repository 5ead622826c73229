// Package ddp is the realtime wire: one connection to a Rocket.Chat server,
// from dial to last frame, as one blocking call, [Run].
//
// It owns the socket and everything that is true of the socket alone: the order
// of its first frames (connect, login, one subscription), who is logged in on
// it, its signs of life, and the typed [End] it ends with. It speaks to both
// dialects, Meteor's own server and the ddp-streamer service, and takes any odd
// frame for what it is: counted and ignored.
//
// It never makes a second attempt: when the next connection is made is decided
// elsewhere, and every one is a new login and a new subscription. It never reads
// what a message says: an [Event] carries the server's JSON as it came. It does
// not confirm a refused login, which takes the REST API, and the token appears
// in one frame and nowhere else.
//
// Run's caller lends it the goroutine that reads. Writing is done by one
// goroutine at a time, which is there only while something is to be written, so
// that a quiet connection costs one goroutine. Reading never waits for writing,
// nor for work: a [Handler] is called by the reading goroutine and must not
// block.
package ddp
