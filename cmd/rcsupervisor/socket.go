package main

import (
	"errors"
	"fmt"
	"io/fs"
	"net"

	"github.com/urfave/cli/v2"

	"rcsupervisor/internal/control"
)

// rootSocket is where a host's own supervisor listens.
const rootSocket = "/run/rcsupervisor/" + control.SocketFile

// connect reaches the supervisor that runs: one of this user's, or else the
// host's own. Verbs that do without one ask [notRunning] of its error.
func connect(c *cli.Context) (*control.Client, error) {
	path := socketPath(c)
	client, err := control.Dial(c.Context, path)
	if notRunning(err) && given(c, "socket", "RCSUPERVISOR_SOCKET") == "" && path != rootSocket {
		if host, err := control.Dial(c.Context, rootSocket); err == nil {
			return host, nil
		}
	}
	if err != nil {
		return nil, remote(err)
	}
	return client, nil
}

// notRunning reports whether an error says that no supervisor runs.
func notRunning(err error) bool {
	e, ok := errors.AsType[*control.Error](err)
	return ok && e.Code == control.CodeNotRunning
}

// remote makes a failure of what a supervisor answered.
func remote(err error) error {
	if err == nil {
		return nil
	}
	if f, ok := errors.AsType[*failure](err); ok {
		return f
	}
	if e, ok := errors.AsType[*control.Error](err); ok {
		return &failure{e, e.Try, codeOf(e)}
	}
	return fail(err, "rcsupervisor status")
}

// listen listens on the control socket.
func listen(c *cli.Context) (net.Listener, error) {
	path := socketPath(c)
	l, err := control.Listen(path)
	switch {
	case errors.Is(err, control.ErrInUse):
		return nil, &failure{err, "rcsupervisor status", exitBusy}
	case errors.Is(err, fs.ErrPermission), errors.Is(err, control.ErrNotSocket):
		return nil, config(fmt.Errorf("the control socket: %w", err), "rcsupervisor run --socket SOCKET")
	case err != nil:
		return nil, config(fmt.Errorf("the control socket: %w", err), "rcsupervisor run --socket SOCKET")
	}
	return l, nil
}
