package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"syscall"
	"time"

	"github.com/urfave/cli/v2"
	"golang.org/x/sys/unix"

	"rcsupervisor/channel"
	"rcsupervisor/healthcheck"
	"rcsupervisor/internal/control"
	"rcsupervisor/internal/hostfile"
	"rcsupervisor/internal/observe"
	"rcsupervisor/internal/people"
	"rcsupervisor/internal/redact"
	"rcsupervisor/internal/supervisor"
	"rcsupervisor/internal/worker"
	"rcsupervisor/profile"
	"rcsupervisor/sealed"
)

func runVerb(s streams) *cli.Command {
	return &cli.Command{
		Name:      "run",
		Usage:     "the supervisor: run every profile's channel, and only begin those again that failed",
		UsageText: "rcsupervisor run [--isolation process|shared] [--require-all] [--drain 20s] [--allow-root] [--debug]",
		Description: `Runs until SIGTERM or Ctrl-C, which take nothing more in and let running turns
come to their end; a second one ends at once. SIGHUP looks at all homes anew.

   rcsupervisor run
   rcsupervisor run --root /srv/hermes --root owner=/home/*/.hermes

Exit: 75 another supervisor has this state directory (try again); 78 something
in the configuration is wrong (starting again would not help).`,
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "isolation", Usage: "`HOW` channels are kept apart: process, or shared for thousands of quiet bots of one owner", Value: string(worker.Process)},
			&cli.BoolFlag{Name: "require-all", Usage: "do not start unless every home can be used as it is"},
			&cli.DurationFlag{Name: "drain", Usage: "how `LONG` running turns may take at the end", Value: 20 * time.Second},
			&cli.BoolFlag{Name: "allow-root", Usage: "run homes that belong to root too (containers)"},
			&cli.BoolFlag{Name: "debug", Usage: "log what only a search for a mistake needs; it may hold names and what people wrote, and status says that it is on"},
		},
		OnUsageError: usageError,
		Action:       func(c *cli.Context) error { return supervise(c, s) },
	}
}

// supervise is the verb run.
func supervise(c *cli.Context, s streams) error {
	if err := noArgs(c); err != nil {
		return err
	}
	src, host, err := homesToRun(c)
	if err != nil {
		return err
	}
	kind, err := isolation(c, host)
	if err != nil {
		return err
	}
	if err := worker.Harden(); err != nil {
		return config(err, "rcsupervisor doctor")
	}
	state, unlock, err := ownState(c)
	if err != nil {
		return err
	}
	defer unlock()
	hide := redact.New()
	log := slog.New(hide.Handler(logHandler(s.err, logLevel(c))))
	broken := make(chan os.Signal, 1) // that nobody reads the log any more is no reason to end
	signal.Notify(broken, syscall.SIGPIPE)
	defer signal.Stop(broken)
	book := &people.Book{Dir: stateDir(c)}
	keys := supervisor.NewKeys(func() (*sealed.Identity, *sealed.Keyring, error) { return findKeys(c) })
	super, err := supervisor.New(supervisor.Config{
		Sources: src, State: state, Carrier: carrierFor(kind, log), Drain: c.Duration("drain"), Redact: hide, Log: log,
		Host: host, Root: c.Bool("allow-root"), Keys: keys,
		People: book, Jitter: func() float64 { return 2*rand.Float64() - 1 },
	})
	if err != nil {
		return config(err, "rcsupervisor doctor")
	}
	book.LetIn = func(ctx context.Context, name string, p profile.Person) error {
		return super.EditAccess(ctx, name, profile.LetIn(p))
	}
	if c.Bool("require-all") {
		if err := super.Preflight(c.Context); err != nil {
			return config(err, "rcsupervisor check NAME, or run without --require-all")
		}
	}
	socket, err := listen(c)
	if err != nil {
		return err
	}
	desk, err := deskVerbs(c, super, keys, state, book)
	if err != nil {
		return err
	}
	server := control.NewServer(control.Config{
		Supervisor: super, Verbs: append(control.Orders(super), desk...), Audit: control.NewAudit(state), Log: log,
		More: observe.Pages(super),
	})
	return runUntilTold(c, super, server, socket, log)
}

// logLevel is from which level on lines are written.
func logLevel(c *cli.Context) slog.Level {
	if c.Bool("debug") {
		return slog.LevelDebug
	}
	return slog.LevelInfo
}

// homesToRun are the places where homes are looked for, and what the host file
// says of them.
func homesToRun(c *cli.Context) (profile.Sources, hostfile.File, error) {
	host, err := hostFile(c)
	if err != nil {
		return profile.Sources{}, host, err
	}
	src, err := sources(c)
	return src, host, err
}

// runUntilTold runs the supervisor and obeys the signals.
func runUntilTold(c *cli.Context, super *supervisor.Supervisor, server *control.Server, socket net.Listener, log *slog.Logger) error {
	serving, stopServing := context.WithCancel(context.WithoutCancel(c.Context))
	served := make(chan error, 1)
	go func() { served <- server.Serve(serving, socket) }()
	notifier := observe.NewNotifier(super, log)
	notified := make(chan struct{})
	go func() {
		defer close(notified)
		notifier.Run(c.Context)
	}()
	defer func() {
		stopServing()
		<-served
		<-notified
	}()
	hurry := make(chan struct{})
	again := make(chan os.Signal, 2)
	signal.Notify(again, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(again)
	hup := make(chan os.Signal, 1)
	signal.Notify(hup, syscall.SIGHUP)
	defer signal.Stop(hup)
	over := make(chan struct{})
	defer close(over)
	go func() {
		ready, still := super.Ready(), new(time.Ticker)
		for told := 0; ; {
			select {
			case <-over:
				return
			case <-ready:
				ready = nil
				sayReady(c, super, log)
			case <-hup:
				done := notifier.Reloading()
				if err := super.Rescan(c.Context); err != nil {
					log.Warn("looked at all homes; not all can be used", "err", err)
				}
				done()
			case <-still.C:
				sayStill(super, log)
			case <-again:
				if told++; told == 2 {
					close(hurry)
					return
				}
				log.Info("ending: what runs may come to its end; another signal ends it at once", "within", c.Duration("drain"))
				still = time.NewTicker(stillEvery)
				defer still.Stop()
			}
		}
	}()
	return super.Run(c.Context, hurry)
}

// stillEvery is how often it is said what an end waits for.
const stillEvery = 5 * time.Second

// sayReady says that all homes were looked at, and where to ask.
func sayReady(c *cli.Context, super *supervisor.Supervisor, log *slog.Logger) {
	st, _ := super.Status(supervisor.Everybody)
	log.Info("ready", "profiles", st.Supervisor.Profiles, "isolation", st.Supervisor.Isolation, "socket", socketPath(c), "pid", os.Getpid())
	if st.Supervisor.Profiles == 0 {
		log.Warn("there is no profile yet", "try", "rcsupervisor add NAME --server URL")
	}
}

// sayStill says which profiles an end still waits for.
func sayStill(super *supervisor.Supervisor, log *slog.Logger) {
	st, _ := super.Status(supervisor.Everybody)
	var names []string
	for _, p := range st.Profiles {
		if p.State == healthcheck.Stopping {
			names = append(names, p.Name)
		}
	}
	if len(names) > 0 {
		log.Info("waiting for what runs", "profiles", len(names), "first", names[0])
	}
}

// findKeys loads the identity, and the recipients if there are any.
func findKeys(c *cli.Context) (*sealed.Identity, *sealed.Keyring, error) {
	o := identityOptions(c)
	id, err := sealed.FindIdentity(o)
	if err != nil {
		return nil, nil, err
	}
	recipients, err := sealed.FindRecipients(id, o)
	if err != nil {
		return id, nil, nil
	}
	keyring, err := sealed.NewKeyring(id, recipients, false)
	if err != nil {
		return id, nil, nil
	}
	return id, keyring, nil
}

// ownState opens the state directory and takes its lock.
func ownState(c *cli.Context) (*os.Root, func(), error) {
	dir := stateDir(c)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, nil, config(fmt.Errorf("the state directory: %w", err), "rcsupervisor run --state-dir DIR")
	}
	lock, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_RDWR|os.O_CREATE|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return nil, nil, config(fmt.Errorf("the state directory: %w", err), "rcsupervisor run --state-dir DIR")
	}
	if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		lock.Close()
		if errors.Is(err, unix.EWOULDBLOCK) {
			return nil, nil, &failure{fmt.Errorf("another supervisor runs on %s", dir), "rcsupervisor status", exitBusy}
		}
		return nil, nil, config(fmt.Errorf("lock %s: %w", lock.Name(), err), "rcsupervisor run --state-dir DIR")
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		lock.Close()
		return nil, nil, config(err, "rcsupervisor run --state-dir DIR")
	}
	return root, func() {
		root.Close()
		lock.Close()
	}, nil
}

// isolation is how channels are to be kept apart: by the flag, else the host
// file.
func isolation(c *cli.Context, host hostfile.File) (worker.Kind, error) {
	kind := worker.Kind(c.String("isolation"))
	if !c.IsSet("isolation") && host.Isolation != "" {
		kind = worker.Kind(host.Isolation)
	}
	switch {
	case kind != worker.Process && kind != worker.Shared:
		return "", usage(fmt.Errorf("no isolation %q: process or shared", string(kind)), "rcsupervisor run --isolation process")
	case kind == worker.Shared && os.Geteuid() == 0 && !c.Bool("allow-root"):
		return "", config(errors.New("shared isolation would run every tenant's channel as root"), "rcsupervisor run --isolation process")
	}
	return kind, nil
}

// carrierFor is how channels are carried.
func carrierFor(kind worker.Kind, log *slog.Logger) worker.Carrier {
	if kind == worker.Process {
		return worker.NewProcesses(worker.FindCgroups(log))
	}
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(50) // a thousand quiet channels are mostly memory
	}
	return worker.NewShared(channel.Env{})
}
