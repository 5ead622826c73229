package rest

import (
	"io"
	"sync/atomic"
)

// exactly reads a content that has to have the length it was announced with:
// of a longer one a part would arrive and look whole.
type exactly struct {
	r       io.Reader
	left    int64
	moved   func()
	changed atomic.Bool // read by the caller while the transport may still read
}

func (e *exactly) Read(p []byte) (int, error) {
	if e.left == 0 {
		var one [1]byte
		if n, _ := io.ReadFull(e.r, one[:]); n > 0 {
			return 0, e.wrong()
		}
		return 0, io.EOF
	}
	if int64(len(p)) > e.left {
		p = p[:e.left]
	}
	n, err := e.r.Read(p)
	e.left -= int64(n)
	if n > 0 {
		e.moved()
	}
	switch {
	case err == io.EOF && e.left > 0:
		return n, e.wrong()
	case err == io.EOF:
		err = nil // the next read looks for what is beyond
	}
	return n, err
}

func (e *exactly) wrong() error {
	e.changed.Store(true)
	return ErrFileChanged
}
