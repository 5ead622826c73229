// Package pretend is a pretend Rocket.Chat: a server in memory that speaks DDP
// and REST as real ones do, with their limits, their odd answers and their
// versions' differences, and with faults to be switched on.
//
// It owns users, rooms, memberships, messages, files and tokens, and forgets
// them when it is closed. It is no chat server: it checks passwords only for
// form's sake, gives every token to whoever asks at /_pretend/, and listens on
// loopback alone unless told otherwise.
//
// Tests of this program make one with [New], let clients in with
// [Server.Listen], [Server.ListenTLS] or [Server.Pipe] (which runs on the fake
// clock of testing/synctest), act with methods such as [Server.Say], and wait
// with [Server.Await]. People meet it as the verbs pretend and demo. Nothing
// else of the program may import it.
//
// What it does follows a real 3.4.0 that was watched, and the source of later
// versions; where a rule comes from a bug report or a source file, the code
// names it. The official JavaScript clients work against it, which is how we
// know that it isn't just our own idea.
//
// Methods that get a [User], a [Room] or a message id from another server, or
// a name that is taken, panic: such a test means nothing.
package pretend
