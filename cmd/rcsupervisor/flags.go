package main

import (
	"os"
	"path/filepath"
	"runtime/debug"

	"github.com/urfave/cli/v2"
)

func globalFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringSliceFlag{Name: "root", Usage: "where homes are found, as `[PREFIX=]DIR`; repeatable, or a colon-separated $RCSUPERVISOR_ROOT"},
		&cli.StringSliceFlag{Name: "home", Usage: "one more home, anywhere, as `NAME=DIR`; repeatable"},
		&cli.StringFlag{Name: "identity", Usage: "the `FILE` that opens the seals", EnvVars: []string{"RCSUPERVISOR_IDENTITY_FILE"}},
		&cli.IntFlag{Name: "identity-fd", Usage: "the file descriptor `N` that the identity is read from", Value: -1, DefaultText: "none"},
		&cli.StringFlag{Name: "state-dir", Usage: "`DIR` of the supervisor's own state", EnvVars: []string{"RCSUPERVISOR_STATE_DIR"}, DefaultText: "$STATE_DIRECTORY, else ~/.local/state/rcsupervisor"},
		&cli.StringFlag{Name: "socket", Usage: "the control `SOCKET`", EnvVars: []string{"RCSUPERVISOR_SOCKET"}, DefaultText: "control.sock in $RUNTIME_DIRECTORY, $XDG_RUNTIME_DIR/rcsupervisor or the state directory"},
		&cli.StringFlag{Name: "config", Usage: "the host `FILE`"},
	}
}

// roots are the places named by flags, or else by the variable.
func roots(c *cli.Context) []string {
	if flags := c.StringSlice("root"); len(flags) > 0 {
		return flags
	}
	return filepath.SplitList(os.Getenv("RCSUPERVISOR_ROOT"))
}

// stateDir returns where the supervisor keeps its own state.
func stateDir(c *cli.Context) string {
	if dir := c.String("state-dir"); dir != "" {
		return dir
	}
	if dir := os.Getenv("STATE_DIRECTORY"); dir != "" {
		return dir
	}
	return filepath.Join(homeDir(), ".local", "state", "rcsupervisor")
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
