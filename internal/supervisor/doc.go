// Package supervisor decides which channels run, and when each connects. One
// goroutine owns each profile: it hears what its channel reports, asks
// healthcheck what follows, and does it. What profiles share (a server that
// can't be reached, the places to dial from) is asked of one [servers].
//
// A fault of one profile is that profile's state. Nothing here waits for a
// channel: commands and reports pass over a link that drops rather than blocks.
//
// The channels run as goroutines of this process.
package supervisor
