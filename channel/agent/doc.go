// Package agent is what a channel knows of the thing that answers: it gives a
// question and reads events until exactly one [Done]. The kinds live below
// (acp, exec); echo, which answers what it was asked, is here.
//
// Here too is what the kinds share: the environment an agent gets, its working
// directories and what may be sent from them, the queue of a turn's events, its
// standard error in the profile's log, and [Start], which starts a process on
// this machine and ends it with all it started.
//
// An agent never sees the bot's token: nothing here is given it.
package agent
