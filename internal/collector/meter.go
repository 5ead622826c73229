package collector

import (
	"runtime/metrics"
	"syscall"
	"time"
)

// A reading is what a process has used since it began. Of Go's own figures the
// collector's and the sum move at the end of each collection.
type reading struct {
	collecting time.Duration // by Go's reckoning
	working    time.Duration // all but idle, by Go's reckoning
	used       time.Duration // of processors, by the system's
	live       uint64        // bytes, at the end of the last collection
}

// read returns the present reading.
func read() reading {
	s := []metrics.Sample{
		{Name: "/cpu/classes/gc/total:cpu-seconds"},
		{Name: "/cpu/classes/total:cpu-seconds"},
		{Name: "/cpu/classes/idle:cpu-seconds"},
		{Name: "/gc/heap/live:bytes"},
	}
	metrics.Read(s)
	seconds := func(i int) time.Duration { return time.Duration(s[i].Value.Float64() * float64(time.Second)) }
	r := reading{collecting: seconds(0), working: seconds(1) - seconds(2), live: s[3].Value.Uint64()}
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) == nil {
		r.used = time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	return r
}

// cost is the processor time that collections took between two readings. Go
// reckons with the clock, so that on a host where others run too its figures are
// too large, all by the same factor; the system says by which.
func (r reading) cost(was reading) time.Duration {
	collecting, working, used := r.collecting-was.collecting, r.working-was.working, r.used-was.used
	if working <= 0 || used >= working {
		return collecting
	}
	return time.Duration(collecting.Seconds() / working.Seconds() * float64(used))
}
