// Package control is how people and their tools speak to a running supervisor:
// HTTP with JSON over a unix socket (`curl --unix-socket` works).
//
// A [Server] answers; a [Client] asks. Who is asking is told by the kernel for
// each connection, never by what he sends: root and the supervisor's own user
// may do all, the owner of a home sees and drives what is his, and a process
// that descends from the supervisor, as every agent does, gets nothing but
// status. Each act that changes something is one line in the audit file.
//
// The package carries out nothing itself. What a verb does is a [Verb], given
// to the server; those of the supervisor are given by [Orders].
package control
