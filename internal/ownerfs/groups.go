//go:build !386 && !arm

package ownerfs

import "golang.org/x/sys/unix"

const sysSetgroups = unix.SYS_SETGROUPS
