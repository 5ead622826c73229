// Package chat holds the nouns of Rocket.Chat: messages, users, rooms and the
// server's time, in both of their JSON forms. It does no I/O and decides
// nothing; a message decoded here is exactly what the server said, with every
// field that was absent, null or of an unexpected type left at its zero value.
//
// The realtime socket (DDP) writes a time as {"$date": milliseconds}, the REST
// API as an ISO 8601 string; [Stamp] reads both.
package chat
