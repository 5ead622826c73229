package worker

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"rcsupervisor/channel"
	"rcsupervisor/internal/collector"
	"rcsupervisor/sealed"
)

// Verb is the first argument of a worker. It is no verb of people.
const Verb = "channel"

// IsWorker reports whether a command line is that of a worker.
func IsWorker(argv []string) bool { return len(argv) > 3 && argv[1] == Verb }

// Main is the whole of a worker's process, in the world env: it raises its
// walls, says hello, is given its credentials, and runs its channel until that
// ends, the link does, or it is told to. It must be called before anything
// else, on the process's first goroutine. It returns the exit status.
func Main(argv []string, env channel.Env) int {
	runtime.LockOSThread()
	w, err := parseWalls(argv[3:])
	if err == nil {
		err = w.raise()
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, ownWords+"%v\n", err)
		return 1
	}
	link, err := inherited()
	if err != nil {
		fmt.Fprintf(os.Stderr, ownWords+"%v\n", err)
		return 1
	}
	if err := attend(link, env); err != nil {
		fmt.Fprintf(os.Stderr, ownWords+"%v\n", err)
		return 1
	}
	return 0
}

// inherited is the link that the supervisor has left us as descriptor 3.
func inherited() (net.Conn, error) {
	f := os.NewFile(3, "link")
	if f == nil {
		return nil, errors.New("there is no link")
	}
	defer f.Close()
	c, err := net.FileConn(f)
	if err != nil {
		return nil, fmt.Errorf("the link: %w", err)
	}
	return c, nil
}

// attend is the worker's end of the link.
func attend(conn net.Conn, env channel.Env) error {
	in := bufio.NewReader(conn)
	start, err := introduce(conn, in)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	l := newChildLink(conn, start.Credentials)
	term := make(chan os.Signal, 1)
	signal.Notify(term, syscall.SIGTERM)
	signal.Ignore(syscall.SIGINT, syscall.SIGHUP, syscall.SIGPIPE)
	go func() {
		l.read(in)
		// The end of the link is our end: what runs has so long to end.
		hurry(cancel)
	}()
	go func() {
		<-term
		hurry(cancel)
	}()
	go l.write()
	go reapOrphans(ctx.Done(), func(int) bool { return false })
	go collector.Run(ctx.Done())
	err = locked(start.Home, func() error {
		return contained(func() error { return env.Run(ctx, start, l) })
	})
	endChildren(func(int) bool { return false })
	l.finish(endOf(err))
	return nil
}

// hurry ends the channel, and the process if that takes too long.
func hurry(cancel context.CancelFunc) {
	cancel()
	time.AfterFunc(exitWithin-500*time.Millisecond, func() {
		endChildren(func(int) bool { return false })
		os.Exit(1)
	})
}

// introduce says hello and takes what the run is to be.
func introduce(conn net.Conn, in *bufio.Reader) (channel.Start, error) {
	_ = conn.SetDeadline(time.Now().Add(helloWithin))
	defer conn.SetDeadline(time.Time{})
	if err := writeJSON(conn, kindHello, wireHello{linkVersion, build()}); err != nil {
		return channel.Start{}, err
	}
	credentials, err := receive(in)
	if err != nil {
		return channel.Start{}, err
	}
	k, body, err := readFrame(in, maxToWorker)
	if err != nil {
		return channel.Start{}, err
	}
	var s wireStart
	if k != kindStart {
		return channel.Start{}, fmt.Errorf("%w: no start", errNonsense)
	}
	if err := decode(body, &s); err != nil {
		return channel.Start{}, err
	}
	if s.Memory > 0 {
		boundMemory(s.Memory)
	}
	return channel.Start{
		Profile: s.Profile, Home: s.Home, Run: s.Run, Settings: s.Settings, Access: s.Access,
		Siblings: s.Siblings, CA: s.CA, Credentials: credentials,
	}, nil
}

// receive takes a hand-over of credentials.
func receive(in io.Reader) (sealed.Credentials, error) {
	k, body, err := readFrame(in, maxToWorker)
	if err != nil {
		return sealed.Credentials{}, err
	}
	if k != kindCredentials {
		return sealed.Credentials{}, fmt.Errorf("%w: no credentials", errNonsense)
	}
	defer clear(body)
	return sealed.UnmarshalHandover(body)
}

// boundMemory bounds what this process, and each that it starts, may have as
// data. It is what there is where no cgroup can bound all of them together.
func boundMemory(bytes int64) {
	_ = unix.Setrlimit(unix.RLIMIT_DATA, &unix.Rlimit{Cur: uint64(bytes), Max: uint64(bytes)})
	debug.SetMemoryLimit(bytes / 4 * 3)
}
