package main

import (
	"bufio"
	"io"
	"log/slog"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A demo leaves nothing behind, however it ends: told to, with the terminal
// gone, or with nobody who reads.
func TestADemoLeavesNothing(t *testing.T) {
	for name, end := range map[string]func(p *os.Process, read io.Closer) error{
		"Ctrl-C":          func(p *os.Process, _ io.Closer) error { return p.Signal(os.Interrupt) },
		"SIGTERM":         func(p *os.Process, _ io.Closer) error { return p.Signal(syscall.SIGTERM) },
		"SIGHUP":          func(p *os.Process, _ io.Closer) error { return p.Signal(syscall.SIGHUP) },
		"nobody reads it": func(_ *os.Process, read io.Closer) error { return read.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			tmp := w.at("tmp")
			must(t, os.Mkdir(tmp, 0o700))
			cmd := w.command("", "demo")
			cmd.Env = append(os.Environ(), "TMPDIR="+tmp)
			var said strings.Builder
			cmd.Stderr = &said
			out, err := cmd.StdoutPipe()
			must(t, err)
			must(t, cmd.Start())
			lines := bufio.NewScanner(out)
			for lines.Scan() && !strings.Contains(lines.Text(), "starting") {
			}
			if left, _ := os.ReadDir(tmp); len(left) == 0 {
				t.Error("there is nothing to leave behind")
			}
			must(t, end(cmd.Process, out))
			if name != "nobody reads it" {
				_, _ = io.Copy(io.Discard, out)
			}
			if err := cmd.Wait(); err != nil || said.String() != "" {
				t.Errorf("%v: %s", err, said.String())
			}
			if left, err := os.ReadDir(tmp); err != nil || len(left) > 0 {
				t.Errorf("left behind: %v, %v", left, err)
			}
		})
	}
}

// A supervisor goes on when nobody reads its log any more.
func TestALogThatNobodyReads(t *testing.T) {
	w := newWorld(t)
	w.add("alice")
	cmd := w.command("", "run", "--drain", "1s")
	log, err := cmd.StderrPipe()
	must(t, err)
	must(t, cmd.Start())
	line := bufio.NewReader(log)
	for {
		text, err := line.ReadString('\n')
		must(t, err)
		if strings.Contains(text, "msg=ready") {
			break
		}
	}
	must(t, log.Close())
	w.works("", "wait", "alice", "--timeout", "30s")
	w.works("", "restart", "alice", "--wait") // which is logged
	w.works("", "wait", "alice", "--timeout", "30s")
	must(t, cmd.Process.Signal(os.Interrupt))
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}

// On a terminal the supervisor's log reads as the verb logs does.
func TestTheLogOnATerminal(t *testing.T) {
	if _, ok := logHandler(io.Discard, slog.LevelInfo).(*terminalLog); ok {
		t.Error("what is no terminal gets lines for people")
	}
	var out strings.Builder
	log := slog.New(newTerminalLog(&out, slog.LevelInfo)).With("profile", "alice")
	log.Info("online", "state", "online", "reason", "silent")
	log.Warn("backoff", "state", "backoff", "error", "no frame \x1b[31m for 5s")
	log.WithGroup("agent").Error("gone", slog.Group("exit", "code", 3))
	log.Debug("never")
	var got []string
	for line := range strings.Lines(out.String()) {
		if _, err := time.ParseInLocation(time.DateTime, line[:19], time.Local); err != nil {
			t.Error(err)
		}
		got = append(got, line[20:])
	}
	want := "INFO  alice: online reason=silent\nWARN  alice: backoff error=\"no frame \\x1b[31m for 5s\"\nERROR alice: gone agent.exit.code=3\n"
	if strings.Join(got, "") != want {
		t.Errorf("%s\nwant\n%s", strings.Join(got, ""), want)
	}
}
