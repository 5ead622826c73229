//go:build 386 || arm

package ownerfs

import "golang.org/x/sys/unix"

// The older call of these machines takes ids of 16 bits.
const sysSetgroups = unix.SYS_SETGROUPS32
