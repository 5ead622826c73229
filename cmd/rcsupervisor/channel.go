package main

import (
	"os"

	"rcsupervisor/channel"
	"rcsupervisor/internal/worker"
)

// A worker is this program executed again as "channel". It is told apart before
// main, and before any flag or file is looked at: nothing may come before its
// walls. init runs on the process's first thread, which they need.
func init() {
	if worker.IsWorker(os.Args) {
		os.Exit(worker.Main(os.Args, channel.Env{}))
	}
}
