package acp

import (
	"bufio"
	"errors"
	"io"
)

// maxLine bounds one message in bytes. Images and replayed histories make long
// lines; nothing makes longer ones that we need.
const maxLine = 32 << 20

// errLong is a line over the bound. It was skipped; the next one is whole.
var errLong = errors.New("a line over the bound")

// A lines reads a stream line by line. It keeps no long line's memory.
type lines struct {
	r   *bufio.Reader
	max int
}

func newLines(r io.Reader, max int) *lines {
	return &lines{r: bufio.NewReaderSize(r, 64<<10), max: max}
}

// next returns the next line without its end. It is valid until the call after.
// The last line may lack its end.
func (l *lines) next() ([]byte, error) {
	part, err := l.r.ReadSlice('\n')
	if err == nil {
		return part[:len(part)-1], nil
	}
	var long []byte
	skip := false
	for {
		if skip = skip || len(long)+len(part) > l.max; skip {
			long = nil
		} else {
			long = append(long, part...)
		}
		switch {
		case err == nil && skip:
			return nil, errLong
		case err == nil:
			return long[:len(long)-1], nil
		case errors.Is(err, bufio.ErrBufferFull):
		case len(long) > 0:
			return long, nil // the end of the stream comes with the next call
		default:
			return nil, err
		}
		part, err = l.r.ReadSlice('\n')
	}
}
