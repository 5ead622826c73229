// Package worker carries runs of channels: as goroutines of this process, or
// each as a process of its own.
//
// A [Carrier] begins runs of [rcsupervisor/channel.Run]; the supervisor holds
// the other end of each, a [Run], and hears of it through an [Ear]. On that
// link neither side waits for the other: commands and reports are
// latest-wins, log lines are dropped with a count, and what has to be answered
// (a permit, a request) waits beside everything else.
//
// The package decides nothing: not when a run begins, ends, or counts as hung.
// It says when a run was last heard, which command it has not taken, and how
// it ended.
package worker
