// Package agent is what a channel knows of the thing that answers: it gives a
// question and reads events until exactly one [Done]. The kinds live below
// (acp, exec); echo, which answers what it was asked, is here.
//
// An agent never sees the bot's token.
package agent
