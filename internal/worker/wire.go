package worker

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"rcsupervisor/channel"
	"rcsupervisor/profile"
)

// linkVersion is that of the frames' form.
const linkVersion = 1

// wireHello is how a worker says who it is.
type wireHello struct {
	V     int    `json:"v"`
	Build string `json:"build"`
}

// build tells one build of the program from another: both ends of a link are
// the same one, or the frames may mean something else.
var build = sync.OnceValue(func() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	sum := sha256.Sum256([]byte(info.String()))
	return hex.EncodeToString(sum[:8])
})

// wireFiles is what Start and Apply have in common: all but credentials, which
// cross the link in a frame of their own.
type wireFiles struct {
	Settings profile.Settings `json:"settings"`
	Access   profile.Access   `json:"access"`
	Siblings []string         `json:"siblings"`
	CA       []byte           `json:"ca"`
}

// wireStart is a channel.Start without its credentials.
type wireStart struct {
	Profile string `json:"profile"`
	Home    string `json:"home"`
	Run     uint64 `json:"run"`
	Memory  int64  `json:"memory"` // bound of the data of each process, 0 for none
	wireFiles
}

// wireCommand is a channel.Command: one of the fields is set.
type wireCommand struct {
	Number  uint64           `json:"number"` // rises by one
	Connect *channel.Connect `json:"connect,omitempty"`
	Apply   *wireApply       `json:"apply,omitempty"`
	Drain   *channel.Drain   `json:"drain,omitempty"`
	Rest    bool             `json:"rest,omitempty"`
	Stop    bool             `json:"stop,omitempty"`
}

type wireApply struct {
	wireFiles
	Reconnect bool `json:"reconnect"`
}

// command is the command, but for the credentials of an Apply.
func (c wireCommand) command() channel.Command {
	switch {
	case c.Connect != nil:
		return *c.Connect
	case c.Apply != nil:
		a := c.Apply
		return channel.Apply{Settings: a.Settings, Access: a.Access, Siblings: a.Siblings, CA: a.CA, Reconnect: a.Reconnect}
	case c.Drain != nil:
		return *c.Drain
	case c.Rest:
		return channel.Rest{}
	case c.Stop:
		return channel.Stop{}
	}
	return channel.Beat{}
}

// commandFrame is what is sent of a command.
func commandFrame(number uint64, c channel.Command) wireCommand {
	w := wireCommand{Number: number}
	switch c := c.(type) {
	case channel.Connect:
		w.Connect = &c
	case channel.Apply:
		w.Apply = &wireApply{wireFiles{c.Settings, c.Access, c.Siblings, c.CA}, c.Reconnect}
	case channel.Drain:
		w.Drain = &c
	case channel.Rest:
		w.Rest = true
	case channel.Stop:
		w.Stop = true
	}
	return w
}

// wireTaken says that the channel took the command of that number, and with it
// all before.
type wireTaken struct {
	Number uint64 `json:"number"`
}

// wireAsk asks for an answer: a permit, or that something is written down.
type wireAsk struct {
	ID      uint64           `json:"id"`
	Permit  *channel.Permit  `json:"permit,omitempty"`
	Request *channel.Request `json:"request,omitempty"`
}

// wireCancel takes a question back.
type wireCancel struct {
	ID uint64 `json:"id"`
}

// wireReply answers a question.
type wireReply struct {
	ID    uint64         `json:"id"`
	Reply *channel.Reply `json:"reply,omitempty"`
	Error string         `json:"error,omitempty"`
}

// A remoteError is an error of the other side, of which only the text crossed
// the link.
type remoteError struct{ text string }

func (e *remoteError) Error() string { return e.text }

// deadline bounds a wait for the other side.
const (
	helloWithin = 10 * time.Second // from its start to a worker's hello
	exitWithin  = 5 * time.Second  // from the link's end to a worker's
)

func errBuild(h wireHello) error {
	return fmt.Errorf("the worker is of another build (%s, version %d)", h.Build, h.V)
}
