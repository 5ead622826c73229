package rest

import (
	"net/http"
	"sync"
	"time"
)

// A Date header names a second. One that came back quicker than this says
// more of the server's clock than one that waited.
const promptAnswer = 5 * time.Second

// clock keeps how far the server's clock is from ours.
type clock struct {
	mu     sync.Mutex
	known  bool
	prompt bool // the offset is from a prompt answer
	offset time.Duration
}

// observe takes the Date of an answer to a request that was made at asked and
// answered at now. The newest prompt answer counts; a slow one only until there
// is a prompt one. A cached answer says nothing.
func (c *clock) observe(h http.Header, asked, now time.Time) {
	date, err := http.ParseTime(h.Get("Date"))
	if err != nil || h.Get("Age") != "" {
		return
	}
	took := now.Sub(asked)
	prompt := took <= promptAnswer
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.prompt && !prompt {
		return
	}
	// The middle of the named second is the best guess for the moment halfway
	// between asking and being answered.
	middle := asked.Add(took / 2)
	c.offset = date.Add(500 * time.Millisecond).Sub(middle)
	c.known, c.prompt = true, prompt
}

func (c *clock) get() (time.Duration, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.offset, c.known
}

// serverNow is the server's clock at the moment of an answer.
func (c *clock) serverNow(h http.Header, now time.Time) time.Time {
	if date, err := http.ParseTime(h.Get("Date")); err == nil {
		return date
	}
	offset, _ := c.get()
	return now.Add(offset)
}

// ClockOffset returns how far the server's clock is ahead of ours, to about a
// second, and whether an answer has told it yet.
func (c *Client) ClockOffset() (offset time.Duration, known bool) { return c.clock.get() }
