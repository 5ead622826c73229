package atomicfile

import "sync/atomic"

// A Step is a point between two acts of a replacement where a crash may fall.
type Step string

// The steps in their order.
const (
	BeforeCreate  Step = "create"
	BeforeWrite   Step = "write"
	BeforeSync    Step = "sync"
	BeforeVerify  Step = "verify"
	BeforeRename  Step = "rename"
	BeforeSyncDir Step = "sync folder"
	Done          Step = "done"
)

// Steps are all of them, for tests that enumerate crashes.
var Steps = []Step{BeforeCreate, BeforeWrite, BeforeSync, BeforeVerify, BeforeRename, BeforeSyncDir, Done}

var hook atomic.Pointer[func(Step) error]

// SetHook has f called at every step of every replacement in this process,
// until restore is called. An error of f is taken for an error of the step; f
// may also end the process. It is there for tests of crashes and full disks,
// in this and in other packages, and never set otherwise.
func SetHook(f func(Step) error) (restore func()) {
	old := hook.Swap(&f)
	return func() { hook.Store(old) }
}

func step(s Step, act func() error) error {
	if f := hook.Load(); f != nil {
		if err := (*f)(s); err != nil {
			return err
		}
	}
	if act == nil {
		return nil
	}
	return act()
}
