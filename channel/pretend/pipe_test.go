package pretend

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

func TestPipeCarries(t *testing.T) {
	a, b := newPipe()
	want := make([]byte, 1<<20)
	for i := range want {
		want[i] = byte(rand.Uint32())
	}
	var wg sync.WaitGroup
	for _, c := range []*pipeConn{a, b} { // both write at once, and neither waits for the other
		wg.Go(func() {
			var reading sync.WaitGroup
			var got []byte
			reading.Go(func() { got, _ = io.ReadAll(c) })
			if n, err := c.Write(want); n != len(want) || err != nil {
				t.Error(n, err)
			}
			c.out.change(func(s *stream) { s.eof = true })
			reading.Wait()
			if !bytes.Equal(got, want) {
				t.Errorf("%d bytes came", len(got))
			}
		})
	}
	wg.Wait()
}

func TestPipeEnds(t *testing.T) {
	one := make([]byte, 1)
	a, b := newPipe()
	a.Write([]byte("x"))
	a.Close()
	if n, err := b.Read(one); n != 1 || err != nil {
		t.Error("what was written is read first:", n, err)
	}
	if _, err := b.Read(one); err != io.EOF {
		t.Error("then the end:", err)
	}
	if _, err := b.Write(one); !errors.Is(err, syscall.EPIPE) {
		t.Error("nobody reads:", err)
	}
	if _, err := a.Read(one); !errors.Is(err, net.ErrClosed) {
		t.Error("read after close:", err)
	}
	if _, err := a.Write(one); !errors.Is(err, net.ErrClosed) {
		t.Error("write after close:", err)
	}
	a, b = newPipe()
	a.Write([]byte("lost"))
	a.reset()
	for _, c := range []*pipeConn{a, b} {
		if _, err := c.Read(one); !errors.Is(err, syscall.ECONNRESET) {
			t.Error("read after reset:", err)
		}
		if _, err := c.Write(one); !errors.Is(err, syscall.ECONNRESET) {
			t.Error("write after reset:", err)
		}
	}
}

func TestPipeDeadlines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := newPipe()
		start := time.Now()
		a.SetReadDeadline(start.Add(time.Second))
		if _, err := a.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) || time.Since(start) != time.Second {
			t.Error(err, time.Since(start))
		}
		a.SetReadDeadline(start.Add(time.Minute)) // a deadline that was passed can be set anew
		go func() {
			time.Sleep(5 * time.Second)
			b.Write([]byte("x"))
		}()
		if n, err := a.Read(make([]byte, 1)); n != 1 || err != nil {
			t.Error(n, err)
		}
		a.SetDeadline(time.Unix(1, 0))
		if _, err := a.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Error(err)
		}
		a.SetDeadline(time.Time{})
		start = time.Now()
		a.SetWriteDeadline(start.Add(3 * time.Second))
		n, err := a.Write(make([]byte, pipeBuffer+1))
		if n != pipeBuffer || !errors.Is(err, os.ErrDeadlineExceeded) || time.Since(start) != 3*time.Second {
			t.Error(n, err, time.Since(start))
		}
		a.Close()
		b.Close()
	})
}
