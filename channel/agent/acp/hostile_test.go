package acp

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"rcsupervisor/channel/agent"
)

func init() {
	scripts["dies"] = behaviour{prompt: func(p *peer, m message, _ <-chan struct{}) string {
		p.say(m.param("sessionId"), "half an ans")
		os.Exit(3)
		return ""
	}}.serve
	scripts["never starts"] = func(*peer) {
		fmt.Fprintln(os.Stderr, "no model is configured")
		os.Exit(1)
	}
	scripts["stubborn"] = func(p *peer) {
		talker.serve(p)
		select {}
	}
	scripts["closes its output"] = behaviour{prompt: func(*peer, message, <-chan struct{}) string {
		os.Stdout.Close()
		select {}
	}}.serve
	scripts["reads nothing"] = func(p *peer) {
		m, _ := p.read()
		p.reply(m, object{"protocolVersion": 1})
		m, _ = p.read()
		p.reply(m, object{"sessionId": "s"})
		for i := 0; ; i++ {
			p.request("fs/read_text_file", object{"path": strings.Repeat("x", 1000)})
		}
	}
	scripts["shouts"] = behaviour{prompt: func(p *peer, m message, _ <-chan struct{}) string {
		line := []byte(strings.Repeat("e", 1<<16))
		for range 100 {
			_, _ = os.Stderr.Write(line) // one line of 6 MiB
		}
		for i := range 4_000 {
			fmt.Fprintf(os.Stderr, "\nline %d \xff\x1b[31m", i)
		}
		p.say(m.param("sessionId"), "done")
		return stopEnd
	}}.serve
	scripts["floods"] = behaviour{prompt: func(p *peer, m message, _ <-chan struct{}) string {
		session := m.param("sessionId")
		for i := range 2_000 {
			p.update(session, object{"sessionUpdate": "tool_call", "toolCallId": fmt.Sprint(i), "title": fmt.Sprint("call ", i)})
			p.say(session, strings.Repeat("a", 200))
		}
		return stopEnd
	}}.serve
	scripts["leaves children"] = behaviour{prompt: func(p *peer, m message, _ <-chan struct{}) string {
		dir := strings.TrimPrefix(m.prompt(), "[Question]\n") // what begins with / would be a command
		lines, out, err := os.Pipe()
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return stopEnd
		}
		for _, c := range []string{
			`echo $$ > "$0/group"; echo there; exec sleep 600 >/dev/null`,
			`exec setsid sh -c 'echo $$ > "$0/session"; echo there; exec sleep 600 >/dev/null' "$0"`,
			`(setsid sh -c 'echo $$ > "$0/orphan"; echo there; exec sleep 600 >/dev/null' "$0" &) &`,
		} {
			child := exec.Command("sh", "-c", c, dir)
			child.Stdout = out
			if err := child.Start(); err != nil {
				fmt.Fprintln(os.Stderr, err)
			}
		}
		out.Close()
		_, _ = io.Copy(io.Discard, lines) // to the end: all have said that they are there
		return stopEnd
	}}.serve
}

// real returns a stage whose agent is a process that follows a script.
func real(t *testing.T, script string) *stage {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return newStage(t, nil, func(c *Config) {
		c.Command = []string{exe}
		c.Spawn = agent.Start
		c.Env = func() ([]string, error) {
			return []string{"PATH=" + os.Getenv("PATH"), scriptVariable + "=" + script}, nil
		}
	})
}

func TestADeathInTheMiddle(t *testing.T) {
	s := real(t, "dies")
	defer s.close()
	for n := 1; n <= 2; n++ {
		o := s.ask("r/", "x", nil)
		if o.dones != 1 || o.done.Stop != agent.Failed || agent.Sentence(o.done.Err) != sayEnded || o.text != "half an ans" {
			t.Fatalf("turn %d: %+v", n, o)
		}
		s.waitFor(agent.Failing)
		st := s.State()
		if st.Failures != n || !strings.Contains(st.Error, "exit status 3") {
			t.Errorf("turn %d: %+v", n, st)
		}
		// The next question is not made to wait for a program that just died.
		if o := s.ask("r/", "x", nil); agent.Sentence(o.done.Err) != sayBroken {
			t.Errorf("turn %d, at once again: %+v", n, o)
		}
		s.forgive()
	}
}

// waitFor waits for a state that a process's end brings.
func (s *stage) waitFor(state string) {
	s.t.Helper()
	deadline := time.After(20 * time.Second)
	for s.State().State != state {
		select {
		case <-s.changed:
		case <-deadline:
			s.t.Fatalf("the state is %+v, want %s", s.State(), state)
		}
	}
}

// forgive lets the next question start the program at once.
func (s *stage) forgive() {
	s.Agent.mu.Lock()
	defer s.Agent.mu.Unlock()
	s.failed = time.Time{}
}

func TestAProgramThatDoesNotStart(t *testing.T) {
	s := real(t, "never starts")
	defer s.close()
	o := s.ask("r/", "x", nil)
	if agent.Sentence(o.done.Err) != sayBroken || o.dones != 1 {
		t.Errorf("%+v", o)
	}
	if st := s.State(); st.State != agent.Failing || !strings.Contains(st.Error, "exit status 1") {
		t.Errorf("%+v", st)
	}
	if !strings.Contains(s.log.String(), "no model is configured") {
		t.Errorf("the log says nothing of why:\n%s", s.log)
	}
	missing := newStage(t, nil, func(c *Config) { c.Command, c.Spawn = []string{"no-such-agent"}, agent.Start })
	defer missing.close()
	if o := missing.ask("r/", "x", nil); !strings.Contains(agent.Sentence(o.done.Err), "not installed") {
		t.Errorf("%+v", o)
	}
}

func TestStubbornProcessesAreKilled(t *testing.T) {
	for _, script := range []string{"stubborn", "closes its output", "reads nothing"} {
		t.Run(script, func(t *testing.T) {
			t.Parallel()
			s := real(t, script)
			turn, err := s.Begin(context.Background(), question("r/", strings.Repeat("long ", 1<<18)))
			if err != nil {
				t.Fatal(err)
			}
			if script == "stubborn" {
				watch(turn, nil)
			} else {
				s.waitFor(agent.Ready)
			}
			begun := time.Now()
			s.close()
			if took := time.Since(begun); took > closeGrace+stopGrace+2*time.Second {
				t.Errorf("closing took %v", took)
			}
			if o := watch(turn, nil); script != "stubborn" && o.dones != 1 {
				t.Errorf("%d ends", o.dones)
			}
		})
	}
}

func TestFloodsAreBounded(t *testing.T) {
	for script, want := range map[string]int{"shouts": 4, "floods": 2000*202 - 2} {
		t.Run(script, func(t *testing.T) {
			t.Parallel()
			s := real(t, script)
			defer s.close()
			turn, err := s.Begin(context.Background(), question("r/", "x"))
			if err != nil {
				t.Fatal(err)
			}
			o := watch(turn, nil)
			if o.done.Stop != agent.Ended || len(o.text) < want || len(o.text) > want+100 {
				t.Errorf("%d bytes, %+v", len(o.text), o.done)
			}
			if n := strings.Count(s.log.String(), "\n"); n > 400 {
				t.Errorf("%d lines in the log", n)
			}
		})
	}
}

func pidIn(path string) int {
	var pid int
	data, err := os.ReadFile(path)
	if err != nil {
		return 0
	}
	_, _ = fmt.Sscan(string(data), &pid)
	return pid
}

func TestChildrenDoNotOutliveTheAgent(t *testing.T) {
	s := real(t, "leaves children")
	dir := t.TempDir()
	if o := s.ask("r/", dir, nil); o.done.Stop != agent.Ended {
		t.Fatalf("%+v", o)
	}
	s.close()
	for _, name := range []string{"group", "session", "orphan"} {
		if pid := pidIn(filepath.Join(dir, name)); pid == 0 || alive(pid) {
			t.Errorf("the child of its own %s, %d, lives on", name, pid)
		}
	}
}

// alive reports whether a process runs; one that is dead and not yet reaped by
// whoever took it over does not.
func alive(pid int) bool {
	if syscall.Kill(pid, 0) != nil {
		return false
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && !strings.Contains(string(stat), ") Z ")
}

func TestNoise(t *testing.T) {
	noisy := behaviour{prompt: func(p *peer, m message, _ <-chan struct{}) string {
		session := m.param("sessionId")
		for _, line := range []string{
			"Loading the model...", "", "  ", "{", "[]", "null", "42", `"text"`, "\xff\xfe\x00", `{"jsonrpc":"2.0"}`,
			`{"id":null,"error":{"code":-32600,"message":"no id"}}`, `{"id":99999,"result":{}}`, `{"id":"x","result":{}}`,
			`{"id":{},"result":{}}`, `{"method":7}`, `{"method":"session/update"}`, `{"method":"session/update","params":[]}`,
			`{"method":"session/update","params":{"sessionId":7,"update":{}}}`,
			`{"method":"session/update","params":{"sessionId":"` + session + `","update":{"sessionUpdate":"new_kind","content":7}}}`,
			`{"method":"session/update","params":{"sessionId":"` + session + `","update":{"sessionUpdate":"agent_message_chunk","content":[1]}}}`,
			`{"method":"session/update","params":{"sessionId":"` + session + `","update":{"sessionUpdate":"agent_thought_chunk","content":{"type":"text","text":"secret thoughts"}}}}`,
			`{"method":"session/update","params":{"sessionId":"` + session + `","update":{"sessionUpdate":"user_message_chunk","content":{"type":"text","text":"x"}}}}`,
			`{"method":"session/update","params":{"sessionId":"another","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"for another"}}}}`,
			`{"method":"session/update","params":{"sessionId":"` + session + `","update":{"sessionUpdate":"tool_call","toolCallId":"` + strings.Repeat("i", 300) + `"}}}`,
			`{"method":"session/request_permission","params":{}}`, `{"id":7,"method":"session/request_permission","params":[]}`,
			`{"id":8,"method":"session/update","params":{}}`, `{"id":"` + strings.Repeat("9", 300) + `","method":"x"}`,
			`{"method":"$/cancel_request","params":{"requestId":1}}`, `{"method":"$/cancel_request"}`, `{"method":"_vendor/notice"}`,
			strings.Repeat("[", 100_000), strings.Repeat("x", maxLine+10),
			`{"method":"session/update","params":{"x":"` + strings.Repeat("y", maxLine) + `"}}`,
		} {
			p.raw(line + "\n")
		}
		for _, method := range []string{"fs/read_text_file", "fs/write_text_file", "terminal/create", "elicitation/create", "_vendor/x"} {
			if got := <-p.request(method, object{"sessionId": session, "path": "/etc/passwd"}); got.Error == nil || got.Error.Code != codeNoMethod {
				p.say(session, method+" was not refused")
			}
		}
		p.say(session, "bad \xff\xfe text")
		p.raw(`{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"` + session + `","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":" raw ` + "\xff" + `"}}}}` + "\n")
		return stopEnd
	}}
	s := newStage(t, noisy.serve)
	o := s.ask("r/", "x", nil)
	if o.text != "bad \ufffd\ufffd text raw \ufffd" || o.done.Stop != agent.Ended || len(o.asked) != 0 {
		t.Errorf("%.300q %+v", o.text, o.done)
	}
	s.close()
	if log := s.log.String(); !strings.Contains(log, "what is not its protocol") || strings.Contains(log, "Loading") || strings.Contains(log, "xxxx") {
		t.Errorf("the log:\n%.2000s", log)
	}
}

func TestALargeUpdateIsTaken(t *testing.T) {
	large := behaviour{prompt: func(p *peer, m message, _ <-chan struct{}) string {
		p.update(m.param("sessionId"), object{"sessionUpdate": "tool_call", "toolCallId": "c", "title": "image", "content": []object{
			{"type": "content", "content": object{"type": "image", "data": strings.Repeat("A", 11<<20), "mimeType": "image/png"}},
		}})
		p.say(m.param("sessionId"), "seen")
		return stopEnd
	}}
	s := newStage(t, large.serve)
	defer s.close()
	if o := s.ask("r/", "x", nil); o.text != "seen" {
		t.Errorf("%+v", o)
	}
}

func TestOddPermissions(t *testing.T) {
	var got []string
	odd := behaviour{prompt: func(p *peer, m message, _ <-chan struct{}) string {
		session := m.param("sessionId")
		note := func(what string, answer <-chan string) { got = append(got, what+": "+<-answer) }
		note("no options", p.ask(session, object{"toolCallId": "c", "title": "t"}))
		note("options without ids", p.ask(session, object{"toolCallId": "c", "title": "t"}, object{"name": "x", "kind": "allow_once"}))
		var many []object
		for i := range maxOptions + 1 {
			many = append(many, object{"optionId": fmt.Sprint(i), "name": "x", "kind": "reject_once"})
		}
		note("too many options", p.ask(session, object{"toolCallId": "c", "title": "t"}, many...))
		note("nothing to show", p.ask(session, object{"toolCallId": "unknown"}, usual()...))
		note("unknown kinds", p.ask(session, object{"toolCallId": "c", "title": "t"}, object{"optionId": "a", "kind": "allow_forever"}, object{"optionId": "a", "name": "again"}))
		note("another session's", p.ask("another", object{"toolCallId": "c", "title": "t"}, usual()...))

		early := p.ask(session, object{"toolCallId": "late"}, usual()...)
		p.update(session, object{"sessionUpdate": "tool_call", "toolCallId": "late", "title": "came after"})
		note("before its tool call", early)

		// The same id twice has one answer.
		call := object{"jsonrpc": "2.0", "id": "dup", "method": mPermission, "params": object{
			"sessionId": session, "toolCall": object{"toolCallId": "c", "title": "dup"}, "options": usual(),
		}}
		first := make(chan message, 2)
		p.mu.Lock()
		p.waiting[`"dup"`] = first
		p.mu.Unlock()
		p.send(call)
		p.send(call)
		got = append(got, "the same id twice: "+choice(<-first))

		var parallel []<-chan string
		for i := range maxOpen + 2 {
			parallel = append(parallel, p.ask(session, object{"toolCallId": fmt.Sprint("p", i), "title": fmt.Sprint("parallel ", i)}, usual()...))
		}
		counts := map[string]int{}
		for _, c := range parallel {
			counts[<-c]++
		}
		got = append(got, fmt.Sprint("parallel: ", counts))
		return stopEnd
	}}
	synctest.Test(t, func(t *testing.T) {
		got = nil
		s := newStage(t, odd.serve)
		defer s.close()
		var parallel []agent.Asked
		o := s.ask("r/", "x", func(turn agent.Turn, a agent.Asked) {
			if err := turn.Answer(a.ID, "not offered"); err != agent.ErrNoOption {
				t.Errorf("an option that was not offered: %v", err)
			}
			if err := turn.Answer("99", "allow"); err != agent.ErrNotAsked {
				t.Errorf("a request that is none: %v", err)
			}
			if strings.HasPrefix(a.Title, "parallel") {
				if parallel = append(parallel, a); len(parallel) < maxOpen {
					return
				}
				synctest.Wait() // those too many are refused by then
				// The last first: answers find their own requests.
				for i := len(parallel) - 1; i >= 0; i-- {
					choose([]string{"allow", "deny"}[i%2])(turn, parallel[i])
				}
				return
			}
			choose(a.Options[0].ID)(turn, a)
			if err := turn.Answer(a.ID, a.Options[0].ID); err != agent.ErrNotAsked {
				t.Errorf("answered twice: %v", err)
			}
		})
		want := []string{
			"no options: cancelled", "options without ids: cancelled", "too many options: 0", "nothing to show: deny",
			"unknown kinds: a", "another session's: deny", "before its tool call: allow", "the same id twice: allow",
			"parallel: map[allow:8 deny:10]",
		}
		if strings.Join(got, "\n") != strings.Join(want, "\n") || o.dones != 1 {
			t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	})
}

func TestAWithdrawnRequest(t *testing.T) {
	withdraws := behaviour{prompt: func(p *peer, m message, _ <-chan struct{}) string {
		session := m.param("sessionId")
		answer := p.ask(session, object{"toolCallId": "c", "title": "t"}, usual()...)
		p.send(object{"jsonrpc": "2.0", "method": mWithdraw, "params": object{"requestId": "r1"}})
		p.say(session, "answered with "+<-answer)
		return stopEnd
	}}
	s := newStage(t, withdraws.serve)
	defer s.close()
	o := s.ask("r/", "x", nil)
	if o.text != "answered with error" || len(o.took) != 1 || o.took[0] != o.asked[0].ID {
		t.Errorf("%+v", o)
	}
}

// FuzzLines holds that whatever an agent writes, the client neither panics nor
// hangs, and that a turn has one end.
func FuzzLines(f *testing.F) {
	f.Add([]byte("{}\n[]\nnull\n"))
	f.Add([]byte(`{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"x"}}}}`))
	f.Add([]byte(`{"id":1,"method":"session/request_permission","params":{"sessionId":"s","toolCall":{"toolCallId":"c","rawInput":{"command":["a","b c"]}},"options":[{"optionId":"a","kind":"allow_once"}]}}`))
	f.Add([]byte(`{"id":3,"result":{"stopReason":"end_turn"}}`))
	f.Add([]byte(`{"id":3,"error":{"code":-32002}}` + "\n" + `{"id":4,"result":{"sessionId":"s"}}`))
	f.Fuzz(func(t *testing.T, said []byte) {
		play := func(p *peer) {
			for i, answer := range []object{{"protocolVersion": 1}, {"sessionId": "s"}} {
				if _, ok := p.read(); !ok {
					return
				}
				p.send(object{"jsonrpc": "2.0", "id": i + 1, "result": answer})
			}
			if _, ok := p.read(); ok {
				p.raw(string(said) + "\n")
			}
		}
		s := newStage(t, play)
		defer s.close()
		o := s.ask("r/", "x", func(turn agent.Turn, a agent.Asked) {
			if a.Title == "" && a.Body == "" {
				t.Error("a request that shows nothing")
			}
			_ = turn.Answer(a.ID, "")
		})
		if o.dones != 1 {
			t.Errorf("%d ends", o.dones)
		}
	})
}

func TestLines(t *testing.T) {
	long := strings.Repeat("l", 100_000)
	l := newLines(strings.NewReader("one\n\n"+long+"\n"+long+long+"\n{}\nlast"), 150_000)
	var got []string
	for {
		line, err := l.next()
		if err == io.EOF {
			break
		}
		if err != nil {
			got = append(got, err.Error())
			continue
		}
		got = append(got, fmt.Sprintf("%.4s %d", line, len(line)))
	}
	want := `["one 3"," 0","llll 100000","a line over the bound","{} 2","last 4"]`
	if data, _ := json.Marshal(got); string(data) != want {
		t.Errorf("%s\nwant %s", data, want)
	}
}
