package dial_test

import (
	"io"
	"log"
)

// nopLog takes what httptest's servers complain about: the handshakes that a
// test fails on purpose.
func nopLog() *log.Logger { return log.New(io.Discard, "", 0) }
