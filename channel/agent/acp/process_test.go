package acp

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"rcsupervisor/channel/agent"
)

func TestAnIdleProcessIsStopped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		s := newStage(t, m.agent(canResume).serve)
		defer s.close()
		s.idle.Store(int64(15 * time.Minute))
		s.ask("r/", "a", nil)
		time.Sleep(14 * time.Minute)
		s.ask("r/", "b", nil)
		time.Sleep(14 * time.Minute)
		if st := s.State(); st.State != agent.Ready {
			t.Errorf("%+v", st)
		}
		time.Sleep(3 * time.Minute)
		if st := s.State(); st.State != agent.Idle || st.Failures != 0 {
			t.Errorf("%+v", st)
		}
		if o := s.ask("r/", "c", nil); o.text != "a,b,c" || s.started() != 2 {
			t.Errorf("%+v, %d processes", o, s.started())
		}
		s.idle.Store(int64(time.Second)) // taken into use while it runs
		time.Sleep(2 * time.Minute)
		if st := s.State(); st.State != agent.Idle {
			t.Errorf("%+v", st)
		}
		s.idle.Store(0)
		s.ask("r/", "d", nil)
		time.Sleep(24 * time.Hour)
		if st := s.State(); st.State != agent.Ready {
			t.Errorf("%+v", st)
		}
		if !s.Rest() || s.Rest() {
			t.Error("it rests once when told")
		}
		synctest.Wait()
		if st := s.State(); st.State != agent.Idle {
			t.Errorf("%+v", st)
		}
	})
}

func TestAWorkingProcessIsNotIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, behaviour{prompt: func(*peer, message, <-chan struct{}) string {
			time.Sleep(time.Hour)
			return stopEnd
		}}.serve)
		defer s.close()
		s.idle.Store(int64(time.Minute))
		turn, _ := s.Begin(context.Background(), question("r/", "x"))
		time.Sleep(30 * time.Minute)
		if s.Rest() {
			t.Error("it was ended while it works")
		}
		if o := watch(turn, nil); o.done.Stop != agent.Ended || s.started() != 1 {
			t.Errorf("%+v", o)
		}
	})
}

// An agent that does not say that it stopped is replaced once its other turns
// are over, and at the latest after a minute.
func TestAnAgentThatDoesNotStopIsReplaced(t *testing.T) {
	for _, other := range []time.Duration{30 * time.Second, time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			hang := make(chan struct{})
			s := newStage(t, behaviour{prompt: func(_ *peer, m message, _ <-chan struct{}) string {
				switch m.prompt() {
				case "hang":
					<-hang
				case "other":
					select {
					case <-time.After(other):
					case <-hang:
					}
				}
				return stopEnd
			}}.serve)
			stuck, _ := s.Begin(context.Background(), question("one/", "hang"))
			works, _ := s.Begin(context.Background(), question("two/", "other"))
			synctest.Wait()
			begun := time.Now()
			stuck.Cancel()
			if o := watch(stuck, nil); o.done.Stop != agent.Cancelled || time.Since(begun) != cancelGrace {
				t.Errorf("after %v: %+v", time.Since(begun), o)
			}
			next, _ := s.Begin(context.Background(), question("one/", "next"))
			o := watch(works, nil)
			if survives := other < retireGrace; survives != (o.done.Stop == agent.Ended) {
				t.Errorf("the other turn: %+v", o)
			}
			// The scripted process can't end while its script hangs; it is killed.
			if o := watch(next, nil); o.done.Stop != agent.Ended || s.started() != 2 {
				t.Errorf("the next turn: %+v, %d processes", o, s.started())
			}
			if took := time.Since(begun); took > cancelGrace+retireGrace+stopGrace {
				t.Errorf("it took %v", took)
			}
			close(hang)
			s.close()
		})
	}
}

func TestTheHostsLeave(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var held atomic.Int32
		leave := make(chan error)
		s := newStage(t, talker.serve, func(c *Config) {
			c.Permit = func(ctx context.Context) (func(), error) {
				select {
				case err := <-leave:
					if err == nil {
						held.Add(1)
					}
					return func() { held.Add(-1) }, err
				case <-ctx.Done():
					return nil, ctx.Err()
				}
			}
		})
		turn, _ := s.Begin(context.Background(), question("r/", "x"))
		time.Sleep(5 * time.Second)
		if s.started() != 0 {
			t.Error("started without leave")
		}
		leave <- nil
		o := watch(turn, nil)
		if len(o.progress) != 2 || !strings.Contains(o.progress[1], "as many agents as it may") || o.done.Stop != agent.Ended || held.Load() != 1 {
			t.Errorf("%+v, %d held", o, held.Load())
		}
		s.Rest()
		synctest.Wait()
		if held.Load() != 0 {
			t.Error("the leave is held by nothing")
		}
		turn, _ = s.Begin(context.Background(), question("r/", "x"))
		leave <- errors.New("full")
		if o := watch(turn, nil); !strings.Contains(agent.Sentence(o.done.Err), "as many agents as it may") {
			t.Errorf("%+v", o)
		}
		time.Sleep(time.Minute)
		turn, _ = s.Begin(context.Background(), question("r/", "x"))
		synctest.Wait()
		s.close() // while it waits
		if o := watch(turn, nil); o.done != (agent.Done{Stop: agent.Failed, Err: agent.ErrReplaced}) {
			t.Errorf("%+v", o)
		}
	})
}

func TestFailuresAreCountedAndPaused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, talker.serve)
		defer s.close()
		s.fault = errors.New("no memory")
		for n := 1; n <= 6; n++ {
			if o := s.ask("r/", "x", nil); agent.Sentence(o.done.Err) != sayBroken {
				t.Errorf("%+v", o)
			}
			if st := s.State(); st.State != agent.Failing || st.Failures != n || st.Error != "no memory" {
				t.Errorf("%+v", st)
			}
			s.ask("r/", "at once again", nil)
			if s.started() != n {
				t.Errorf("%d starts after %d failures", s.started(), n)
			}
			time.Sleep(pauses[min(n, len(pauses)-1)])
		}
		s.fault = nil
		if o := s.ask("r/", "x", nil); o.done.Stop != agent.Ended {
			t.Errorf("%+v", o)
		}
		if st := s.State(); st.State != agent.Ready || st.Failures != 0 || st.Error != "" {
			t.Errorf("%+v", st)
		}
	})
}

func TestManyQuestionsStartOneProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, talker.serve)
		defer s.close()
		var turns []agent.Turn
		for _, room := range strings.Split("a b c d e f", " ") {
			turn, err := s.Begin(context.Background(), question(room, "x"))
			if err != nil {
				t.Fatal(err)
			}
			turns = append(turns, turn)
		}
		for _, turn := range turns {
			if o := watch(turn, nil); o.done.Stop != agent.Ended {
				t.Errorf("%+v", o)
			}
		}
		if s.started() != 1 {
			t.Errorf("%d processes", s.started())
		}
	})
}

func TestOtherVersionsAreRefused(t *testing.T) {
	for _, version := range []any{0, 2, "1", nil} {
		s := newStage(t, behaviour{method: map[string]func(*peer, message){mInitialize: func(p *peer, m message) {
			p.reply(m, object{"protocolVersion": version})
		}}}.serve)
		if o := s.ask("r/", "x", nil); agent.Sentence(o.done.Err) != sayBroken {
			t.Errorf("%v: %+v", version, o)
		}
		s.close()
	}
}

func TestBeginAfterClose(t *testing.T) {
	s := newStage(t, talker.serve)
	s.close()
	if _, err := s.Begin(context.Background(), question("r/", "x")); !errors.Is(err, agent.ErrClosed) {
		t.Error(err)
	}
	if _, err := s.Begin(context.Background(), question("r/", "")); err == nil {
		t.Error("an empty prompt was taken")
	}
	s.close()
}

// What is advertised is nothing, and what a process is given is what it should.
func TestWhatAnAgentIsTold(t *testing.T) {
	var told message
	s := newStage(t, behaviour{
		method: map[string]func(*peer, message){mInitialize: func(p *peer, m message) {
			told = m
			p.reply(m, object{"protocolVersion": 1})
		}},
		prompt: talker.prompt,
	}.serve)
	defer s.close()
	s.ask("r/", "x", nil)
	if got := string(told.Params); got != `{"clientCapabilities":{},"clientInfo":{"name":"rcsupervisor","version":"1"},"protocolVersion":1}` {
		t.Error(got)
	}
	if got := s.specs[0]; got.Dir != agent.WorkDir(s.home, "") || strings.Join(got.Argv, " ") != "agent" {
		t.Errorf("%v", got)
	}
}
