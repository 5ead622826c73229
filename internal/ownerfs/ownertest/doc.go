// Package ownertest is for tests of what holds between two users of a host. It
// is imported by tests alone.
package ownertest
