package ownerfs

import (
	"errors"
	"fmt"
	"os"
	"os/user"
	"runtime"
	"strconv"
	"unsafe"

	"golang.org/x/sys/unix"
)

// An Owner is whom a folder is entered as.
type Owner struct {
	UID int
	GID int // his primary group
}

// nobodyGID is the group of a user that the host has no entry for. The
// folder's own group would be wrong: root may have given the folder a group
// its owner is not in.
const nobodyGID = 65534

// OwnerOf returns the user uid with the primary group that the host's user
// database gives him.
func OwnerOf(uid int) Owner {
	o := Owner{UID: uid, GID: nobodyGID}
	if uid == os.Geteuid() {
		o.GID = os.Getegid()
		return o
	}
	if u, err := user.LookupId(strconv.Itoa(uid)); err == nil {
		if gid, err := strconv.Atoi(u.Gid); err == nil && gid >= 0 {
			o.GID = gid
		}
	}
	return o
}

// self reports whether no change of identity is needed.
func (o Owner) self() bool { return o.UID == os.Geteuid() }

// As calls f with the file-system rights of o alone. f must do what it does on
// the calling goroutine and must not start processes. Descriptors it opened
// stay open and keep the rights they were opened with.
//
// Only root can act as another; others get [ErrCredentials].
func As(o Owner, f func() error) error {
	switch {
	case o.self():
		return f()
	case os.Geteuid() != 0:
		return fmt.Errorf("%w: uid %d", ErrCredentials, o.UID)
	}
	var (
		err      = errors.New("the access was given up")
		panicked any
		done     = make(chan struct{})
	)
	// A goroutine of its own, so that a thread that can't be restored is thrown
	// away with it: the runtime ends the thread of a goroutine that ends locked.
	// The runtime starts new threads from a clean one, never from a locked one.
	go func() {
		defer close(done)
		runtime.LockOSThread()
		before, e := assume(o)
		defer func() {
			panicked = recover()
			if before.restore() == nil {
				runtime.UnlockOSThread()
			}
		}()
		if e == nil {
			e = f()
		}
		err = e // not reached when f ends the goroutine
	}()
	<-done
	if panicked != nil {
		panic(panicked)
	}
	return err
}

// identity is what a thread had before it assumed another.
type identity struct {
	fsuid, fsgid int
	groups       []uint32
}

// assume gives the calling thread the rights of o over files and no more. The
// thread's supplementary groups count for files too, so they are dropped. The
// identity it returns can be restored also after an error.
func assume(o Owner) (identity, error) {
	before := identity{fsuid: os.Geteuid(), fsgid: os.Getegid()}
	groups, err := unix.Getgroups()
	if err != nil {
		return before, fmt.Errorf("%w: %w", ErrCredentials, err)
	}
	for _, g := range groups {
		before.groups = append(before.groups, uint32(g))
	}
	if err := setThreadGroups(nil); err != nil {
		return before, fmt.Errorf("%w: groups: %w", ErrCredentials, err)
	}
	if err := setFS(unix.SetfsgidRetGid, o.GID); err != nil {
		return before, err
	}
	// The kernel takes root's rights over files away with this one.
	if err := setFS(unix.SetfsuidRetUid, o.UID); err != nil {
		return before, err
	}
	return before, noFileRights()
}

func (i identity) restore() error {
	if err := setFS(unix.SetfsuidRetUid, i.fsuid); err != nil {
		return err
	}
	if err := setFS(unix.SetfsgidRetGid, i.fsgid); err != nil {
		return err
	}
	return setThreadGroups(i.groups)
}

// setFS sets and asks: these calls report no error, only what was.
func setFS(set func(int) (int, error), id int) error {
	if _, err := set(id); err != nil {
		return fmt.Errorf("%w: %w", ErrCredentials, err)
	}
	if now, err := set(-1); err != nil || now != id {
		return fmt.Errorf("%w: the kernel did not take id %d", ErrCredentials, id)
	}
	return nil
}

// setThreadGroups sets the groups of this thread alone; syscall.Setgroups would
// set those of all.
func setThreadGroups(groups []uint32) error {
	var p unsafe.Pointer
	if len(groups) > 0 {
		p = unsafe.Pointer(&groups[0])
	}
	_, _, errno := unix.RawSyscall(sysSetgroups, uintptr(len(groups)), uintptr(p), 0)
	runtime.KeepAlive(groups)
	if errno != 0 {
		return errno
	}
	return nil
}

// noFileRights makes sure that this thread may not overrule the permissions of
// files: under the secure bit no-setuid-fixup the kernel leaves it all rights.
func noFileRights() error {
	hdr := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	if err := unix.Capget(&hdr, &data[0]); err != nil {
		return fmt.Errorf("%w: %w", ErrCredentials, err)
	}
	const overFiles = 1<<unix.CAP_CHOWN | 1<<unix.CAP_DAC_OVERRIDE | 1<<unix.CAP_DAC_READ_SEARCH | 1<<unix.CAP_FOWNER
	if data[0].Effective&overFiles != 0 {
		return fmt.Errorf("%w: root's rights over files stay under the secure bits of this process", ErrCredentials)
	}
	return nil
}
