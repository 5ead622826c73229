package rest

import (
	"context"
	"net/http"
	"net/http/httptrace"
	"sync"
	"sync/atomic"
	"time"
)

// Bounds of a file on its way. One that moves may take longer than a call; one
// that trickles may not.
const (
	stallTime    = 30 * time.Second
	transferTime = 10 * time.Minute
)

// A transfer is a file on its way in or out. It ends when end is called, when
// no byte has moved for stallTime, or after transferTime.
type transfer struct {
	client *Client
	scope  *scope
	cancel context.CancelFunc
	stall  *time.Timer
	once   sync.Once
}

// startTransfer waits for one of the few places, then for the budget. The
// context it returns lives as long as the transfer.
func (c *Client) startTransfer(parent context.Context, route string) (context.Context, *transfer, error) {
	ctx, s, err := c.begin(parent, false)
	if err != nil {
		return nil, nil, &Error{Route: route, Kind: ErrClosed}
	}
	select {
	case c.files <- struct{}{}:
	case <-ctx.Done():
		c.end(s)
		return nil, nil, c.because(parent, ctx, route, ctx.Err())
	}
	if err := c.permit(ctx, route); err != nil {
		err = c.because(parent, ctx, route, err)
		<-c.files
		c.end(s)
		return nil, nil, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, transferTime, errSlow)
	t := &transfer{client: c, scope: s, cancel: cancel}
	// A transfer that stalls gives its place back by itself, also when its
	// reader was forgotten.
	t.stall = time.AfterFunc(stallTime, func() { s.cancel(errStalled); t.release() })
	return ctx, t, nil
}

// moved says that bytes have.
func (t *transfer) moved() { t.stall.Reset(stallTime) }

// end ends the transfer.
func (t *transfer) end() { t.stall.Stop(); t.release() }

// release gives the place back.
func (t *transfer) release() {
	t.once.Do(func() {
		t.cancel()
		t.client.end(t.scope)
		<-t.client.files
	})
}

// roundTrip makes the transfer's request, which build makes of a context.
func (t *transfer) roundTrip(ctx context.Context, route string, build func(context.Context) (*http.Request, error)) (*http.Response, error) {
	sent := new(atomic.Bool)
	req, err := build(httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		WroteHeaders: func() { sent.Store(true) },
	}))
	if err != nil {
		return nil, &Error{Route: route, Kind: ErrInvalid}
	}
	t.client.sign(req, false)
	asked := time.Now()
	resp, err := t.client.transport.RoundTrip(req)
	if err != nil {
		e := network(ctx, route, err, sent.Load())
		t.client.logged(ctx, e, route, 0, asked)
		return nil, e
	}
	t.moved()
	t.client.logged(ctx, nil, route, resp.StatusCode, asked)
	return resp, nil
}
