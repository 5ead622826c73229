// Package ownerfs enters a tenant's folder as its owner.
//
// A supervisor that runs as root reads and writes in folders that other users
// own and may change at any moment. It must never do there what the owner
// could not: a link, a hard link or a swapped folder would otherwise have root
// read or overwrite a file for him. So each access is made on a thread that
// has the owner's file-system uid and gid, none of root's groups and none of
// root's rights over files, and inside an [os.Root]. For an ordinary user the
// same checks hold without a change of identity.
//
// What is opened is a regular file of that owner with one name, never a link,
// FIFO, socket or device, and at most of the size the caller says. Nothing here
// creates the folder itself: one that vanished stays gone.
//
// The package imports nothing of ours but atomicfile and knows nothing of what
// the files mean. Any goroutine may call it; a call may hang as long as the
// file system does, and has no deadline of its own: see [rcsupervisor/profile]
// for one.
package ownerfs
