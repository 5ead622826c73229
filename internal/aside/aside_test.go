package aside

import (
	"errors"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestDo(t *testing.T) {
	done := false
	Do(func() { done = true })
	if !done {
		t.Error("it did not wait")
	}
}

func TestPanic(t *testing.T) {
	whole := errors.New("whole")
	defer func() {
		if p := recover(); p != whole {
			t.Errorf("recovered %v", p)
		}
	}()
	Do(func() { panic(whole) })
	t.Error("it went on")
}
