// Package atomicfile replaces a file whole or not at all.
//
// A replacement is written to a temporary file in the same folder, synced,
// read back and compared, shown to the caller's own check, and only then
// renamed over the old file; the folder is synced last. A crash between any
// two of these steps leaves the old file or the new one, never a part of
// either, and at most a temporary file that [Sweep] recognises and the next
// writer in the folder removes.
//
// Everything happens inside an [os.Root] and on the calling goroutine, so a
// caller may have changed his thread's file-system credentials around the
// call. No name is followed through a symbolic link.
//
// The package knows nothing of what it writes. It imports nothing of ours and
// may be used by everything above it.
package atomicfile
