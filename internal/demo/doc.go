// Package demo is everything at once on one machine with nothing to set up: a
// pretend Rocket.Chat, three bots sealed into a temporary root, their channels
// under a supervisor, and a page to chat on. [Script] plays a fixed
// conversation and says of each step what was expected and what happened.
//
// Nothing in it is a stand-in but the server: the homes, seals, stores and
// sockets are those of a real host.
package demo
