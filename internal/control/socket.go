package control

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// SocketFile is the socket's name in its folder.
const SocketFile = "control.sock"

// What keeps a socket from being listened on.
var (
	ErrInUse     = errors.New("another supervisor answers there")
	ErrNotSocket = errors.New("something that is no socket lies there")
)

// maxPath is what the kernel takes as a socket's address.
const maxPath = 107

// maxConns is how many connections one user may have who is no administrator:
// everybody on the host can reach root's socket.
const maxConns = 32

// A listener is a socket that is ours.
type listener struct {
	*net.UnixListener
	path string
	id   unix.Stat_t

	mu   sync.Mutex
	open map[int]int // connections, by uid
}

// Listen listens at path. A socket that nobody answers on is a stale one and
// is replaced; one that somebody answers on is [ErrInUse], and anything else
// that lies there stays ([ErrNotSocket]). The folder is made if it is missing.
// As root everybody may connect, and who he is decides; else only the user
// himself can.
func Listen(path string) (net.Listener, error) {
	if len(path) > maxPath {
		return nil, fmt.Errorf("the socket's path %s is longer than the %d bytes the kernel takes", path, maxPath)
	}
	folder, file := fs.FileMode(0o700), fs.FileMode(0o600)
	if os.Geteuid() == 0 {
		folder, file = 0o755, 0o666
	}
	if err := os.MkdirAll(filepath.Dir(path), folder); err != nil {
		return nil, err
	}
	if err := removeStale(path); err != nil {
		return nil, err
	}
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		return nil, err
	}
	l.SetUnlinkOnClose(false)
	own := &listener{UnixListener: l, path: path, open: make(map[int]int)}
	err = os.Chmod(path, file)
	if err == nil {
		err = unix.Lstat(path, &own.id)
	}
	if err != nil {
		l.Close()
		return nil, err
	}
	return own, nil
}

// removeStale removes a socket that nobody answers on.
func removeStale(path string) error {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if info.Mode().Type() != fs.ModeSocket {
		return fmt.Errorf("%s: %w", path, ErrNotSocket)
	}
	c, err := net.DialTimeout("unix", path, 2*time.Second)
	if err == nil {
		c.Close()
		return fmt.Errorf("%s: %w", path, ErrInUse)
	}
	if !errors.Is(err, unix.ECONNREFUSED) {
		return fmt.Errorf("%s: %w", path, err)
	}
	return os.Remove(path)
}

// Close stops listening, and removes the socket unless another has taken its
// place.
func (l *listener) Close() error {
	err := l.UnixListener.Close()
	var now unix.Stat_t
	if unix.Lstat(l.path, &now) == nil && now.Ino == l.id.Ino && now.Dev == l.id.Dev {
		_ = os.Remove(l.path)
	}
	return err
}

// Accept says of each connection whose it is. Of somebody who has too many the
// next one is closed at once.
func (l *listener) Accept() (net.Conn, error) {
	for {
		c, err := l.UnixListener.Accept()
		if err != nil {
			return nil, err
		}
		p := identify(c)
		if l.admit(p) {
			return p, nil
		}
		p.Close()
	}
}

func (l *listener) admit(p *peerConn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.open[p.uid] >= maxConns && !(Peer{UID: p.uid, own: os.Geteuid()}).Admin() {
		return false
	}
	l.open[p.uid]++
	p.over = func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.open[p.uid]--; l.open[p.uid] == 0 {
			delete(l.open, p.uid)
		}
	}
	return true
}
