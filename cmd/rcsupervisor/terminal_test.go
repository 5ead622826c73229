package main

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"rcsupervisor/sealed"
)

// Who waits for more than a second is told what for, once for each thing that
// takes so long, and never after the end.
func TestWaitingIsExplained(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out words
		w := &waiting{out: &out}
		w.done()
		w.say("looking")
		time.Sleep(900 * time.Millisecond)
		w.say("sealing")
		time.Sleep(1100 * time.Millisecond)
		w.say("proving")
		time.Sleep(100 * time.Millisecond)
		w.done()
		time.Sleep(time.Minute)
		if got := out.b.String(); got != "rcsupervisor: sealing …\n" {
			t.Errorf("%q", got)
		}
	})
}

// A passphrase is asked for once; a wrong one again, and then the right one is
// remembered.
func TestAPassphraseIsAskedForOnce(t *testing.T) {
	answers := []string{"wrong", "right"}
	asked := 0
	none := errors.New("no terminal")
	ask := askedOnce(func(attempt int) (sealed.Secret, error) {
		if attempt != asked+1 {
			t.Errorf("attempt %d after %d", attempt, asked)
		}
		if asked == len(answers) {
			return sealed.Secret{}, none
		}
		asked++
		return sealed.NewSecret(answers[asked-1]), nil
	})
	for i, want := range []string{"wrong", "right"} {
		if got, err := ask(i + 1); err != nil || got.Reveal() != want {
			t.Error(i, err)
		}
	}
	for range 3 {
		if got, err := ask(1); err != nil || got.Reveal() != "right" {
			t.Error("it was asked for again", err)
		}
	}
	if _, err := ask(3); !errors.Is(err, none) || asked != 2 {
		t.Error(err, asked)
	}
}
