package ownerfs

import (
	"fmt"
	"io/fs"
	"syscall"
	"time"
)

// An ID tells one file from another on this host, whatever it is called.
type ID struct{ Dev, Ino uint64 }

// Info is what a folder says of an entry, links not followed.
type Info struct {
	ID      ID
	Owner   int
	Mode    fs.FileMode // type and permissions
	Size    int64
	Links   uint64
	Changed time.Time // of the inode: nobody can set it back
}

func infoOf(fi fs.FileInfo) (Info, error) {
	st, ok := fi.Sys().(*syscall.Stat_t)
	if !ok {
		return Info{}, fmt.Errorf("no owner is known of %s", fi.Name())
	}
	return Info{
		ID:      ID{Dev: uint64(st.Dev), Ino: st.Ino},
		Owner:   int(st.Uid),
		Mode:    fi.Mode(),
		Size:    fi.Size(),
		Links:   uint64(st.Nlink),
		Changed: time.Unix(st.Ctim.Unix()),
	}, nil
}

// kind names a type of file for people.
func kind(m fs.FileMode) string {
	switch {
	case m.IsRegular():
		return "a file"
	case m.IsDir():
		return "a folder"
	case m&fs.ModeSymlink != 0:
		return "a symbolic link"
	case m&fs.ModeNamedPipe != 0:
		return "a FIFO"
	case m&fs.ModeSocket != 0:
		return "a socket"
	case m&fs.ModeDevice != 0:
		return "a device"
	}
	return "something else"
}

const writableByOthers = 0o022

// checkFile holds the rules for a file that is to be read.
func checkFile(path string, i Info, owner Owner, limit int64) error {
	e := &Error{Path: path}
	switch {
	case i.Mode&fs.ModeSymlink != 0:
		e.Err, e.Detail, e.Try = ErrLink, "the file itself must lie there", aside(path)
	case !i.Mode.IsRegular():
		e.Err, e.Detail, e.Try = ErrNotRegular, "it is "+kind(i.Mode), aside(path)
	case i.Owner != owner.UID:
		e.Err = ErrForeign
		e.Detail = fmt.Sprintf("uid %d, and the folder's is %d", i.Owner, owner.UID)
		e.Try = fmt.Sprintf("chown %d %s", owner.UID, Quote(path))
	case i.Links > 1:
		e.Err = ErrHardLink
		e.Try = fmt.Sprintf("cp %[1]s %[1]s.new && mv %[1]s.new %[1]s", Quote(path))
	case i.Mode.Perm()&writableByOthers != 0:
		e.Err, e.Try = ErrWritable, "chmod go-w "+Quote(path)
	case i.Size > limit:
		e.Err, e.Detail = ErrTooLarge, fmt.Sprintf("%d bytes, at most %d", i.Size, limit)
	default:
		return nil
	}
	return e
}

// aside keeps what lies in a file's place. Nobody is told to copy what a link
// points to: that may be the reader's own, which the folder's owner can't read.
func aside(path string) string {
	return fmt.Sprintf("mv %[1]s %[1]s.aside, and put the file itself there", Quote(path))
}

// checkFolder holds the rules for a folder that is to be entered.
func checkFolder(path string, i Info) error {
	e := &Error{Path: path}
	switch {
	case i.Mode&fs.ModeSymlink != 0:
		e.Err, e.Detail = ErrLink, "the folder itself must lie there"
	case !i.Mode.IsDir():
		e.Err, e.Detail = ErrNotFolder, "it is "+kind(i.Mode)
	case i.Mode.Perm()&writableByOthers != 0:
		e.Err, e.Try = ErrWritable, "chmod go-w "+Quote(path)
	default:
		return nil
	}
	return e
}
