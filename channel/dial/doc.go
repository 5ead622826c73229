// Package dial is how a channel reaches its server: one way for both wires, the
// realtime socket and the REST API.
//
// It owns the network path and nothing above it: the TCP connection, the CONNECT
// proxy named in a profile's settings, and TLS with the system's roots and those
// of tls.ca_file. What it returns is a connection on which HTTP/1.1 can be
// spoken to exactly the server that was asked for.
//
// It never reads the environment (HTTP_PROXY and its kin are ignored), never
// follows a redirect, never skips verification, and never lets a proxy's user
// name or password into an error. It sends no credential of a bot: what is said
// on the connection is its caller's.
//
// A [Network] belongs to one profile. Its methods may be called from any
// goroutine.
package dial
