// Package aside does deep work for a goroutine that will wait for long, without
// making its stack large: a stack grows at once and is halved by a collection
// now and then, if ever. It is below everything else.
package aside
