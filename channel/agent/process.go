package agent

import "io"

// A Spec is a process that an agent wants started. Env is the whole of its
// environment.
type Spec struct {
	Argv []string
	Env  []string
	Dir  string
}

// A Process that was started by whoever may: the seam at which another uid or
// a cgroup can be put around it. Its descriptors are these three and no others.
type Process interface {
	Stdin() io.WriteCloser
	Stdout() io.Reader
	Stderr() io.Reader
	// Kill ends the process and all it started.
	Kill() error
	// Wait returns once it is gone; nil for exit status 0.
	Wait() error
}
