package agent

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// WorkDir is the working directory of a conversation below a profile's home. It
// is the same for the same conversation, and another for every other: the
// readable part is for people, the rest tells conversations apart. That of the
// conversation "" is the folder of them all, where a process itself may run.
func WorkDir(home, conversation string) string {
	return filepath.Join(home, "rocketchat", "state", "work", folderName(conversation))
}

func folderName(conversation string) string {
	if conversation == "" {
		return ""
	}
	readable := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '-':
			return r
		}
		return '_'
	}, conversation)
	sum := sha256.Sum256([]byte(conversation))
	return strings.Trim(readable[:min(len(readable), 60)], "_-") + "." + hex.EncodeToString(sum[:6])
}

// MakeWorkDir makes a conversation's working directory, and returns it. A home
// that vanished is not made again.
func MakeWorkDir(home, conversation string) (string, error) {
	root, err := os.OpenRoot(filepath.Join(home, "rocketchat"))
	if err != nil {
		return "", fmt.Errorf("make a working directory: %w", err)
	}
	defer root.Close()
	if err := root.MkdirAll(filepath.Join("state", "work", folderName(conversation)), 0o700); err != nil {
		return "", fmt.Errorf("make a working directory: %w", err)
	}
	return WorkDir(home, conversation), nil
}

// ErrOutside is what reading a file ends with that an agent may not send.
var ErrOutside = errors.New("not a file of the agent's own workspace")

// OpenOut opens a file that an agent sends. It lies in the agent's workspace,
// is a regular file with one name, and no link leads out: what an agent was
// talked into naming is not read for it.
func OpenOut(f FileOut) (*os.File, error) {
	rel, ok := within(f.Dir, f.Path)
	if !ok {
		return nil, ErrOutside
	}
	root, err := os.OpenRoot(f.Dir)
	if err != nil {
		return nil, fmt.Errorf("open the agent's workspace: %w", err)
	}
	defer root.Close()
	file, err := root.OpenFile(rel, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, fmt.Errorf("%w: it can't be opened there", ErrOutside)
	}
	info, err := file.Stat()
	if err == nil && info.Mode().IsRegular() && info.Sys().(*syscall.Stat_t).Nlink == 1 {
		return file, nil
	}
	file.Close()
	return nil, ErrOutside
}

// within returns where path lies below dir, both as they are written and as
// they are once dir's own links are followed.
func within(dir, path string) (rel string, ok bool) {
	if dir == "" || path == "" || strings.ContainsRune(path, 0) {
		return "", false
	}
	if !filepath.IsAbs(path) {
		return path, filepath.IsLocal(path)
	}
	dirs := []string{dir}
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dirs = append(dirs, real)
	}
	for _, d := range dirs {
		if rel, err := filepath.Rel(d, path); err == nil && rel != "." && filepath.IsLocal(rel) {
			return rel, true
		}
	}
	return "", false
}
