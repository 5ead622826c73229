package ownerfs

import (
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// maxLinks is how many links a path may go through, as in the kernel.
const maxLinks = 40

// walk follows an absolute path to its end without opening anything for
// reading. A link on the way is followed only when its owner is root or this
// process's user: any other could lead root into a folder that the link's
// maker may not name as his own. A link at the end is followed only when
// through is set. It returns the path without links.
//
// The descriptor is the caller's to close; it can be asked about and be opened
// again through /proc, and nothing else.
func walk(path string, through bool) (fd int, real string, err error) {
	fd, err = openat(unix.AT_FDCWD, "/")
	if err != nil {
		return -1, "", wrap("/", err)
	}
	defer func() {
		if err != nil {
			unix.Close(fd)
			fd = -1
		}
	}()
	real = "/"
	rest := strings.Split(strings.Trim(filepath.Clean(path), "/"), "/")
	for links := 0; len(rest) > 0; {
		name := rest[0]
		rest = rest[1:]
		if name == "" || name == "." {
			continue
		}
		here := filepath.Join(real, name)
		next, e := openat(fd, name)
		if e != nil {
			return fd, "", wrap(here, e)
		}
		target, e := trustedLink(next, here, len(rest) > 0 || through)
		if e != nil || target != "" {
			unix.Close(next)
		}
		switch {
		case e != nil:
			return fd, "", e
		case target == "":
			unix.Close(fd)
			fd, real = next, here
			continue
		}
		if links++; links > maxLinks {
			return fd, "", wrap(here, unix.ELOOP)
		}
		if filepath.IsAbs(target) {
			root, e := openat(unix.AT_FDCWD, "/")
			if e != nil {
				return fd, "", wrap("/", e)
			}
			unix.Close(fd)
			fd, real = root, "/"
		}
		rest = append(strings.Split(strings.Trim(target, "/"), "/"), rest...)
	}
	return fd, real, nil
}

// trustedLink returns where a link leads, "" for what is no link.
func trustedLink(fd int, path string, follow bool) (string, error) {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return "", wrap(path, err)
	}
	if st.Mode&unix.S_IFMT != unix.S_IFLNK || !follow {
		return "", nil // a link at the end is the caller's to refuse
	}
	if st.Uid != 0 && int(st.Uid) != os.Geteuid() {
		return "", &Error{Path: path, Err: ErrLink, Detail: "and another user's, so it is not followed"}
	}
	buf := make([]byte, unix.PathMax)
	n, err := unix.Readlinkat(fd, "", buf)
	if err != nil {
		return "", wrap(path, err)
	}
	if n == 0 {
		return "", wrap(path, unix.ENOENT)
	}
	return string(buf[:n]), nil
}

func openat(dir int, name string) (fd int, err error) {
	for {
		fd, err = unix.Openat(dir, name, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
		if err != unix.EINTR {
			return fd, err
		}
	}
}

// Resolve returns path without symbolic links, following those alone that
// root or this process's user made. It is for folders that a person named.
func Resolve(path string) (string, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	fd, real, err := walk(abs, true)
	if err != nil {
		return "", err
	}
	unix.Close(fd)
	return real, nil
}
