package exec

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"rcsupervisor/channel/agent"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// newAgent returns an agent that runs a shell script for each question.
func newAgent(t *testing.T, script string, change ...func(*Config)) *Agent {
	t.Helper()
	home := t.TempDir()
	if err := os.Mkdir(filepath.Join(home, "rocketchat"), 0o700); err != nil {
		t.Fatal(err)
	}
	c := Config{Program: agent.Program{
		Home: home, Command: []string{"sh", "-c", script}, Spawn: agent.Start,
		Env: func() ([]string, error) { return []string{"PATH=/usr/bin:/bin", "HERMES_HOME=" + home}, nil },
		Log: slog.New(slog.DiscardHandler),
	}}
	for _, f := range change {
		f(&c)
	}
	a := New(c)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := a.Close(ctx); err != nil {
			t.Error(err)
		}
	})
	return a
}

func question() agent.Question {
	return agent.Question{
		Profile: "alice", Conversation: "rGeneral/t1", Room: agent.Room{ID: "rGeneral", Name: "general", Kind: "channel"},
		Sender:  agent.Sender{ID: "u1", Username: "mia", Name: "Mia <b>", Role: "member"},
		Message: agent.Message{ID: "m1", Text: "what's up?", TS: "2026-11-30T12:00:00Z", Thread: "t1"},
		Prompt:  "[Question]\n    what's up?\n", Asker: "v1.u1.rGeneral.1.abc",
		Files: []agent.File{{Name: "a.png", Path: "/x/a.png", Type: "image/png", Size: 7}},
	}
}

type outcome struct {
	text     string
	files    []string
	progress []string
	done     agent.Done
	dones    int
}

func run(t *testing.T, a *Agent, q agent.Question) outcome {
	t.Helper()
	turn, err := a.Begin(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	return watch(turn)
}

func watch(turn agent.Turn) (o outcome) {
	for e := range turn.Events() {
		switch e := e.(type) {
		case agent.Text:
			o.text += e.Chunk
		case agent.FileOut:
			o.files = append(o.files, e.Path)
		case agent.Progress:
			o.progress = append(o.progress, e.Title)
		case agent.Done:
			o.done = e
			o.dones++
		}
	}
	return o
}

// TestInput holds the public form, to the letter.
func TestInput(t *testing.T) {
	a := newAgent(t, "cat")
	for _, c := range []struct {
		q    agent.Question
		want string
	}{
		{question(), `{"v":1,"profile":"alice","conversation":"rGeneral/t1","room":{"id":"rGeneral","name":"general","kind":"channel"},` +
			`"sender":{"id":"u1","username":"mia","name":"Mia \u003cb\u003e","role":"member"},` +
			`"message":{"id":"m1","text":"what's up?","ts":"2026-11-30T12:00:00Z","thread":"t1"},` +
			`"prompt":"[Question]\n    what's up?\n","asker":"v1.u1.rGeneral.1.abc","files":[{"name":"a.png","path":"/x/a.png","type":"image/png","size":7}]}`},
		{agent.Question{Prompt: "x"}, `{"v":1,"profile":"","conversation":"","room":{"id":"","name":"","kind":""},"sender":{"id":"","username":"","name":"","role":""},` +
			`"message":{"id":"","text":"","ts":"","thread":""},"prompt":"x","asker":"","files":[]}`},
	} {
		o := run(t, a, c.q)
		if o.text != c.want || o.done != (agent.Done{Stop: agent.Ended}) || o.dones != 1 {
			t.Errorf("%s\nwant %s\n%+v", o.text, c.want, o.done)
		}
		var one map[string]any
		if err := json.Unmarshal([]byte(o.text), &one); err != nil || len(one) != 9 {
			t.Errorf("%v, %d keys", err, len(one))
		}
	}
}

func TestAnswers(t *testing.T) {
	for _, c := range []struct {
		what, script string
		text         string
		files        string
		stop         agent.Stop
		say          string
	}{
		{"an answer", `echo "  an answer"`, "an answer", "", agent.Ended, ""},
		{"without reading the question", `exec 0<&-; echo x`, "x", "", agent.Ended, ""},
		{"nothing", ``, "", "", agent.Ended, ""},
		{"only on standard error", `echo x >&2`, "", "", agent.Ended, ""},
		{"files", `echo see; echo MEDIA:out.png; echo there; printf MEDIA:/x`, "see\nthere", "out.png /x", agent.Ended, ""},
		{"bytes that are no text", `printf 'a\377b'`, "a\ufffdb", "", agent.Ended, ""},
		{"failed", `echo half; exit 3`, "", "", agent.Failed, "The program behind me failed at this (exit status 3)."},
		{"killed", `kill -9 $$`, "", "", agent.Failed, "The program behind me ended in the middle of this."},
		{"where it runs", `case "$PWD" in */rocketchat/state/work/rGeneral_t1.*) echo there;; esac`, "there", "", agent.Ended, ""},
		{"what it left there", `echo x >> count; wc -l < count`, "1", "", agent.Ended, ""},
	} {
		o := run(t, newAgent(t, c.script), question())
		if o.text != c.text || strings.Join(o.files, " ") != c.files || o.done.Stop != c.stop || agent.Sentence(o.done.Err) != c.say || o.dones != 1 {
			t.Errorf("%s: %+v", c.what, o)
		}
	}
}

func TestAConversationKeepsItsFolder(t *testing.T) {
	a := newAgent(t, `echo x >> count; wc -l < count`)
	other := question()
	other.Conversation = "rOther/"
	got := fmt.Sprint(run(t, a, question()).text, run(t, a, question()).text, run(t, a, other).text)
	if got != "121" {
		t.Error(got)
	}
}

func TestALongAnswerIsCut(t *testing.T) {
	a := newAgent(t, `yes "a line of the answer" | head -c 10000000; echo done > "$HERMES_HOME/done"`)
	o := run(t, a, question())
	if len(o.text) < agent.MaxText || len(o.text) > agent.MaxText+100 || !strings.HasSuffix(o.text, "I stopped reading here.)") || o.done.Err != nil {
		t.Errorf("%d bytes, %+v", len(o.text), o.done)
	}
	if _, err := os.Stat(filepath.Join(a.config.Home, "done")); err != nil {
		t.Error("it was not left to end")
	}
}

func TestALargeQuestionIsGiven(t *testing.T) {
	q := question()
	q.Prompt = strings.Repeat("long ", 1<<20)
	if o := run(t, newAgent(t, "wc -c"), q); len(o.text) != len("5243200") {
		t.Errorf("%+v", o)
	}
	if o := run(t, newAgent(t, "echo read nothing"), q); o.text != "read nothing" {
		t.Errorf("%+v", o)
	}
}

func TestCancelKillsWithAllItStarted(t *testing.T) {
	a := newAgent(t, `sleep 600 & echo $! > "$HERMES_HOME/new"; mv "$HERMES_HOME/new" "$HERMES_HOME/child"; echo half; sleep 600`)
	turn, err := a.Begin(t.Context(), question())
	if err != nil {
		t.Fatal(err)
	}
	var pid int
	for pid == 0 {
		data, _ := os.ReadFile(filepath.Join(a.config.Home, "child"))
		_, _ = fmt.Sscan(string(data), &pid)
	}
	turn.Cancel()
	turn.Cancel()
	if o := watch(turn); o.done != (agent.Done{Stop: agent.Cancelled}) || o.text != "" {
		t.Errorf("%+v", o)
	}
	if stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid)); err == nil && !strings.Contains(string(stat), ") Z ") {
		t.Error("what it started lives on")
	}
	if err := turn.Answer("1", "x"); !errors.Is(err, agent.ErrNotAsked) {
		t.Error(err)
	}
}

// A held process does nothing until it is killed, or told to end, so that a
// test can turn the clock.
type held struct {
	gone chan struct{}
	once sync.Once
	exit error
}

func (h *held) Stdin() io.WriteCloser { return nopCloser{io.Discard} }
func (h *held) Stdout() io.Reader     { return h }
func (h *held) Stderr() io.Reader     { return h }
func (h *held) Wait() error           { <-h.gone; return h.exit }
func (h *held) Kill() error           { h.end(errors.New("killed")); return nil }

func (h *held) Read([]byte) (int, error) {
	<-h.gone
	return 0, io.EOF
}

func (h *held) end(err error) {
	h.once.Do(func() {
		h.exit = err
		close(h.gone)
	})
}

type nopCloser struct{ io.Writer }

func (nopCloser) Close() error { return nil }

func TestTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAgent(t, "", func(c *Config) {
			c.Timeout = 10 * time.Minute
			c.Spawn = func(context.Context, agent.Spec) (agent.Process, error) { return &held{gone: make(chan struct{})}, nil }
		})
		begun := time.Now()
		o := run(t, a, question())
		if time.Since(begun) != 10*time.Minute || agent.Sentence(o.done.Err) != "That took too long, so I stopped it." || o.done.Stop != agent.Failed {
			t.Errorf("after %v: %+v", time.Since(begun), o)
		}
	})
}

func TestAFewAtOnceAndTheHostsLeave(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var running, most, leaves atomic.Int32
		a := newAgent(t, "", func(c *Config) {
			c.AtOnce = 3
			c.Permit = func(context.Context) (func(), error) {
				leaves.Add(1)
				time.Sleep(2 * time.Second)
				return func() { leaves.Add(-1) }, nil
			}
			c.Spawn = func(context.Context, agent.Spec) (agent.Process, error) {
				most.Store(max(most.Load(), running.Add(1)))
				h := &held{gone: make(chan struct{})}
				time.AfterFunc(time.Minute, func() {
					running.Add(-1)
					h.end(nil)
				})
				return h, nil
			}
		})
		var group sync.WaitGroup
		var waited atomic.Int32
		for range 10 {
			turn, err := a.Begin(t.Context(), question())
			if err != nil {
				t.Fatal(err)
			}
			group.Go(func() {
				o := watch(turn)
				if o.done.Stop != agent.Ended || len(o.progress) == 0 {
					t.Errorf("%+v", o)
				}
				if strings.Contains(o.progress[0], "busy") {
					waited.Add(1)
				}
			})
		}
		time.Sleep(30 * time.Second)
		if st := a.State(); st.State != agent.Ready {
			t.Errorf("%+v", st)
		}
		group.Wait()
		if most.Load() != 3 || leaves.Load() != 0 || waited.Load() != 7 {
			t.Errorf("%d at once, %d leaves held, %d waited", most.Load(), leaves.Load(), waited.Load())
		}
		if st := a.State(); st.State != agent.Idle {
			t.Errorf("%+v", st)
		}
		// No leave, and one who no longer waits for his place.
		a.config.Permit = func(ctx context.Context) (func(), error) { return nil, errors.New("full") }
		if o := run(t, a, question()); !strings.Contains(agent.Sentence(o.done.Err), "as many agents as it may") {
			t.Errorf("%+v", o)
		}
		a.config.Permit = func(ctx context.Context) (func(), error) { <-ctx.Done(); return nil, ctx.Err() }
		turn, _ := a.Begin(t.Context(), question())
		synctest.Wait()
		turn.Cancel()
		if o := watch(turn); o.done != (agent.Done{Stop: agent.Cancelled}) {
			t.Errorf("%+v", o)
		}
	})
}

func TestFailures(t *testing.T) {
	changed := 0
	a := newAgent(t, `exit 1`, func(c *Config) { c.Changed = func() { changed++ } })
	for n := 1; n <= manyFailures; n++ {
		run(t, a, question())
		if st := a.State(); st.Failures != n || (st.State == agent.Failing) != (n == manyFailures) {
			t.Errorf("after %d: %+v", n, st)
		}
	}
	a.config.Command = []string{"true"}
	if o := run(t, a, question()); o.done.Err != nil {
		t.Error(o.done.Err)
	}
	if st := a.State(); st.State != agent.Idle || st.Failures != 0 || st.Error != "" || changed == 0 {
		t.Errorf("%+v, %d changes", st, changed)
	}
	a.config.Command = []string{"no-such-program"}
	if o := run(t, a, question()); !strings.Contains(agent.Sentence(o.done.Err), "not installed") {
		t.Errorf("%+v", o)
	}
	if st := a.State(); st.State != agent.Failing {
		t.Errorf("%+v", st)
	}
	a.config.Env = func() ([]string, error) { return nil, errors.New("no account") }
	if o := run(t, a, question()); o.done.Stop != agent.Failed || agent.Sentence(o.done.Err) == "" {
		t.Errorf("%+v", o)
	}
	if err := os.RemoveAll(a.config.Home); err != nil {
		t.Fatal(err)
	}
	if o := run(t, a, question()); !strings.Contains(agent.Sentence(o.done.Err), "no place") {
		t.Errorf("%+v", o)
	}
}

func TestClose(t *testing.T) {
	a := newAgent(t, `sleep 600`)
	turn, err := a.Begin(t.Context(), question())
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if o := watch(turn); o.done != (agent.Done{Stop: agent.Failed, Err: agent.ErrReplaced}) {
		t.Errorf("%+v", o)
	}
	if _, err := a.Begin(t.Context(), question()); !errors.Is(err, agent.ErrClosed) {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := a.Begin(ctx, question()); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// The file that is sent is what the agent's own folder holds.
func TestAFileOfItsOwn(t *testing.T) {
	a := newAgent(t, `echo content > out.txt; ln -s "$HERMES_HOME/rocketchat" up; echo MEDIA:out.txt; echo MEDIA:up/secrets.age; echo MEDIA:/etc/passwd`)
	if err := os.WriteFile(filepath.Join(a.config.Home, "rocketchat", "secrets.age"), []byte("sealed"), 0o600); err != nil {
		t.Fatal(err)
	}
	turn, err := a.Begin(t.Context(), question())
	if err != nil {
		t.Fatal(err)
	}
	var sent []string
	for e := range turn.Events() {
		if e, ok := e.(agent.FileOut); ok {
			f, err := agent.OpenOut(e)
			if err != nil {
				sent = append(sent, e.Path+": "+err.Error())
				continue
			}
			data, _ := io.ReadAll(f)
			f.Close()
			sent = append(sent, e.Path+" holds "+string(data))
		}
	}
	want := []string{
		"out.txt holds content\n", "up/secrets.age: " + agent.ErrOutside.Error() + ": it can't be opened there",
		"/etc/passwd: " + agent.ErrOutside.Error(),
	}
	if d := cmp.Diff(want, sent); d != "" {
		t.Error(d)
	}
}

// A quiet process closes its output, and lives on until it is killed.
type quiet struct {
	held
	said io.Reader
}

func (q *quiet) Stdout() io.Reader { return q.said }

// A process that closes its output has a while to end, and then it is ended: its
// answer was whole. One that ends in time may still say that it failed.
func TestAProcessThatOutlivesItsOutput(t *testing.T) {
	for _, c := range []struct {
		name   string
		ends   time.Duration // by itself, 0 for never
		fails  bool
		after  time.Duration
		text   string
		failed bool
	}{
		{"never ends", 0, false, exitGrace, "done", false},
		{"ends in time", time.Second, false, time.Second, "done", false},
		{"ends in time, and failed", time.Second, true, time.Second, "", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a := newAgent(t, "", func(cfg *Config) {
					cfg.Spawn = func(context.Context, agent.Spec) (agent.Process, error) {
						q := &quiet{held: held{gone: make(chan struct{})}, said: strings.NewReader("done\n")}
						if c.ends > 0 {
							time.AfterFunc(c.ends, func() {
								if c.fails {
									q.end(errors.New("exit status 1"))
								}
								q.end(nil)
							})
						}
						return q, nil
					}
				})
				begun := time.Now()
				o := run(t, a, question())
				if took := time.Since(begun); took != c.after || o.text != c.text || (o.done.Err != nil) != c.failed {
					t.Errorf("after %v: %+v", took, o)
				}
			})
		})
	}
}
