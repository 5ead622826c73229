package channel

// serveForBenchmark serves a pretend server when this process was started to.
func serveForBenchmark() bool { return false }
