package main

import (
	"errors"
	"os"
	"path/filepath"
	"runtime/debug"
	"strconv"

	"github.com/urfave/cli/v2"

	"rcsupervisor/internal/control"
)

func globalFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringSliceFlag{Name: "root", Usage: "where homes are found, `[PREFIX=]DIR`; repeatable ($RCSUPERVISOR_ROOT: with colons between; else the host file's, $HERMES_HOME, ~/.hermes)"},
		&cli.StringSliceFlag{Name: "home", Usage: "one more home, anywhere, `NAME=DIR`; repeatable ($RCSUPERVISOR_HOME: with colons between)"},
		&cli.StringFlag{Name: "identity", Usage: "the `FILE` that opens the seals ($RCSUPERVISOR_IDENTITY_FILE, else ~/.config/rcsupervisor/identity.txt)"},
		&cli.IntFlag{Name: "identity-fd", Usage: "the descriptor `N` that the identity is read from ($RCSUPERVISOR_IDENTITY_FD)", Value: -1, DefaultText: "none"},
		&cli.StringFlag{Name: "state-dir", Usage: "the supervisor's own `DIR` ($RCSUPERVISOR_STATE_DIR, $STATE_DIRECTORY, else ~/.local/state/rcsupervisor)"},
		&cli.StringFlag{Name: "socket", Usage: "the control `SOCKET` ($RCSUPERVISOR_SOCKET, else control.sock in $RUNTIME_DIRECTORY, $XDG_RUNTIME_DIR/rcsupervisor or the state directory)"},
		&cli.StringFlag{Name: "config", Usage: "the host `FILE` ($RCSUPERVISOR_CONFIG)"},
	}
}

// given is the value of a flag, or else of its variable.
func given(c *cli.Context, flag, variable string) string {
	if v := c.String(flag); v != "" || c.IsSet(flag) {
		return v
	}
	return os.Getenv(variable)
}

// identityFDVariable names the descriptor of the identity where no flag names a
// descriptor or a file.
const identityFDVariable = "RCSUPERVISOR_IDENTITY_FD"

// identityFD is the descriptor named by the flag, or else by its variable; -1
// for none.
func identityFD(c *cli.Context) int {
	if c.IsSet("identity-fd") || c.IsSet("identity") {
		return c.Int("identity-fd")
	}
	if n, err := strconv.Atoi(os.Getenv(identityFDVariable)); err == nil {
		return n
	}
	return -1
}

// soundVariables fails for a variable that can't mean anything.
func soundVariables(*cli.Context) error {
	v := os.Getenv(identityFDVariable)
	if n, err := strconv.Atoi(v); v != "" && (err != nil || n < 0) {
		return usage(errors.New(identityFDVariable+" is no number"), "unset "+identityFDVariable)
	}
	return nil
}

// roots are the places named by flags, or else by the variable.
func roots(c *cli.Context) []string {
	if flags := c.StringSlice("root"); len(flags) > 0 {
		return flags
	}
	return filepath.SplitList(os.Getenv("RCSUPERVISOR_ROOT"))
}

// namedHomes are those named by flags, or else by the variable.
func namedHomes(c *cli.Context) []string {
	if flags := c.StringSlice("home"); len(flags) > 0 {
		return flags
	}
	return filepath.SplitList(os.Getenv("RCSUPERVISOR_HOME"))
}

// stateDir returns where the supervisor keeps its own state.
func stateDir(c *cli.Context) string {
	if dir := given(c, "state-dir", "RCSUPERVISOR_STATE_DIR"); dir != "" {
		return dir
	}
	if dir := os.Getenv("STATE_DIRECTORY"); dir != "" {
		return dir
	}
	return filepath.Join(homeDir(), ".local", "state", "rcsupervisor")
}

// socketPath is where a supervisor is asked, and where one that runs answers.
func socketPath(c *cli.Context) string {
	if path := given(c, "socket", "RCSUPERVISOR_SOCKET"); path != "" {
		return path
	}
	dir := stateDir(c)
	switch {
	case os.Getenv("RUNTIME_DIRECTORY") != "":
		dir = os.Getenv("RUNTIME_DIRECTORY")
	case os.Geteuid() == 0:
		dir = "/run/rcsupervisor"
	case os.Getenv("XDG_RUNTIME_DIR") != "":
		dir = filepath.Join(os.Getenv("XDG_RUNTIME_DIR"), "rcsupervisor")
	}
	return filepath.Join(dir, control.SocketFile)
}

// homeDir is the invoking user's; "." where there is none, so that no path is
// ever made at the root of the file system by accident.
func homeDir() string {
	if dir, err := os.UserHomeDir(); err == nil {
		return dir
	}
	return "."
}

// version names the build as Go recorded it.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	v, revision := info.Main.Version, ""
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" && len(s.Value) >= 12 {
			revision = " (" + s.Value[:12] + ")"
		}
	}
	if v == "" {
		v = "(devel)"
	}
	return v + revision
}
