package worker

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// The walls around a worker, in the only order in which they hold: the change
// of user clears the signal of the parent's death, and a process that changes
// before it is executed can be looked into by its new user.

// walls are what a worker's command line says of them.
type walls struct {
	parent int
	drop   bool // of root to the owner
	uid    int
	gid    int
	groups []int
}

// args is the command line of a worker.
func (w walls) args(profile string) []string {
	args := []string{"rcsupervisor", "channel", profile, strconv.Itoa(w.parent)}
	if w.drop {
		args = append(args, strconv.Itoa(w.uid), strconv.Itoa(w.gid))
		for _, g := range w.groups {
			args = append(args, strconv.Itoa(g))
		}
	}
	return args
}

// parseWalls reads what follows the profile's name.
func parseWalls(args []string) (w walls, err error) {
	nums := make([]int, len(args))
	for i, a := range args {
		if nums[i], err = strconv.Atoi(a); err != nil || nums[i] < 0 {
			return w, errors.New("not a worker's command line")
		}
	}
	switch {
	case len(nums) == 1:
		return walls{parent: nums[0]}, nil
	case len(nums) >= 3 && nums[1] != 0 && nums[2] != 0:
		return walls{parent: nums[0], drop: true, uid: nums[1], gid: nums[2], groups: nums[3:]}, nil
	}
	return w, errors.New("not a worker's command line")
}

// raise puts the walls up. It is called first of all, on the process's first
// thread, which never ends.
func (w walls) raise() error {
	unix.Umask(0o077)
	if w.drop {
		if err := w.dropRoot(); err != nil {
			return err
		}
	}
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return fmt.Errorf("not dumpable: %w", err)
	}
	if err := unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(unix.SIGTERM), 0, 0, 0); err != nil {
		return fmt.Errorf("signal of the parent's death: %w", err)
	}
	if os.Getppid() != w.parent {
		return errors.New("the supervisor is gone")
	}
	if err := unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{}); err != nil {
		return fmt.Errorf("no core files: %w", err)
	}
	if err := noNewPrivileges(); err != nil {
		return err
	}
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("take in orphans: %w", err)
	}
	if err := unix.CloseRange(3, ^uint(0), unix.CLOSE_RANGE_CLOEXEC); err != nil {
		return closeOnExecEach(err)
	}
	return nil
}

// dropRoot becomes the owner, for good.
func (w walls) dropRoot() error {
	if err := syscall.Setgroups(w.groups); err != nil {
		return fmt.Errorf("set the owner's groups: %w", err)
	}
	if err := syscall.Setresgid(w.gid, w.gid, w.gid); err != nil {
		return fmt.Errorf("become group %d: %w", w.gid, err)
	}
	if err := syscall.Setresuid(w.uid, w.uid, w.uid); err != nil {
		return fmt.Errorf("become user %d: %w", w.uid, err)
	}
	r, e, s := unix.Getresuid()
	if r != w.uid || e != w.uid || s != w.uid {
		return fmt.Errorf("the kernel did not make this process user %d", w.uid)
	}
	if syscall.Setuid(0) == nil {
		return errors.New("root could be had back")
	}
	return nil
}

// noNewPrivileges makes sure that no program started from here gets any. The
// thread that forked us had that already, and we from it.
func noNewPrivileges() error {
	on, err := unix.PrctlRetInt(unix.PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0)
	if err == nil && on == 1 {
		return nil
	}
	_, _, errno := syscall.AllThreadsSyscall6(unix.SYS_PRCTL, unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0, 0)
	if errno != 0 {
		return fmt.Errorf("no new privileges: %w", errno)
	}
	return nil
}

// closeOnExecEach does what close_range does on kernels before 5.11.
func closeOnExecEach(cause error) error {
	if !errors.Is(cause, unix.ENOSYS) && !errors.Is(cause, unix.EINVAL) {
		return fmt.Errorf("close descriptors on exec: %w", cause)
	}
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return fmt.Errorf("close descriptors on exec: %w", err)
	}
	for _, e := range entries {
		if fd, err := strconv.Atoi(strings.TrimSpace(e.Name())); err == nil && fd >= 3 {
			unix.CloseOnExec(fd)
		}
	}
	return nil
}

// Harden makes the supervisor's own process one that no agent of its user can
// look into, that leaves no core, and that takes in what a worker leaves
// behind.
func Harden() error {
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return fmt.Errorf("not dumpable: %w", err)
	}
	if err := unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{}); err != nil {
		return fmt.Errorf("no core files: %w", err)
	}
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("take in orphans: %w", err)
	}
	return nil
}
