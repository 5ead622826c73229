package worker

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// On the link each side writes frames: four bytes of length, one that says
// what it is, and as a rule JSON. The length counts the last two.

// A kind of frame.
type kind byte

// What the supervisor sends.
const (
	kindStart       kind = 's' // wireStart; after hello, once
	kindCredentials kind = 'k' // sealed's hand-over, as it is; before start, and before an apply with others
	kindCommand     kind = 'c' // wireCommand
	kindReply       kind = 'r' // wireReply
)

// What a worker sends.
const (
	kindHello  kind = 'h' // wireHello; the first
	kindTaken  kind = 't' // wireTaken: the channel took a command
	kindReport kind = 'R' // channel.Report
	kindLog    kind = 'l' // channel.Record
	kindAsk    kind = 'a' // wireAsk: to be answered
	kindCancel kind = 'x' // wireCancel: an answer is no longer waited for
	kindOver   kind = 'o' // End; the last
)

// Bounds of frames. A start holds two files of 1 MiB each as JSON.
const (
	maxToWorker   = 16 << 20
	maxFromWorker = 1 << 20
)

// errNonsense is a peer that does not keep to the form.
var errNonsense = errors.New("what came over the link makes no sense")

// writeFrame writes one frame whose body is already bytes.
func writeFrame(w io.Writer, k kind, body []byte) error {
	buf := make([]byte, 5, 5+len(body))
	binary.BigEndian.PutUint32(buf, uint32(len(body)+1))
	buf[4] = byte(k)
	buf = append(buf, body...)
	_, err := w.Write(buf)
	if k == kindCredentials {
		clear(buf)
	}
	return err
}

// writeJSON writes one frame.
func writeJSON(w io.Writer, k kind, v any) error {
	body, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return writeFrame(w, k, body)
}

// readFrame reads one frame of at most limit bytes. The body is the caller's.
func readFrame(r io.Reader, limit int) (kind, []byte, error) {
	var head [5]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return 0, nil, err
	}
	n := int64(binary.BigEndian.Uint32(head[:4]))
	if n < 1 || n > int64(limit) {
		return 0, nil, fmt.Errorf("%w: a frame of %d bytes", errNonsense, n)
	}
	body := make([]byte, n-1)
	if _, err := io.ReadFull(r, body); err != nil {
		if err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		return 0, nil, err
	}
	return kind(head[4]), body, nil
}

// decode reads the JSON of a frame.
func decode(body []byte, into any) error {
	if err := json.Unmarshal(body, into); err != nil {
		return fmt.Errorf("%w: %w", errNonsense, err)
	}
	return nil
}
