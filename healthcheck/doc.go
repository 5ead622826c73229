// Package healthcheck is the state of a channel and the rules by which it
// changes: the states and reasons that status shows, [Next], which decides
// what follows the end of a connection or a worker, and the coded warnings.
//
// It is pure: standard library only, no I/O, no clock of its own, no
// randomness of its own. Whoever calls it owns the history it is given.
package healthcheck
