package worker

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"rcsupervisor/channel"
	"rcsupervisor/sealed"
)

// parentVar has this test's program be a supervisor with one worker.
const parentVar = "TEST_SUPERVISOR_OF"

// A parentJob is what that supervisor is told.
type parentJob struct {
	Server, User, Token string
	Start               wireStart
	Owner               int
}

func init() {
	text := os.Getenv(parentVar)
	if text == "" || IsWorker(os.Args) {
		return
	}
	var j parentJob
	if err := json.Unmarshal([]byte(text), &j); err != nil {
		panic(err)
	}
	if err := Harden(); err != nil {
		panic(err)
	}
	start := channel.Start{
		Profile: j.Start.Profile, Home: j.Start.Home, Run: j.Start.Run, Settings: j.Start.Settings, Access: j.Start.Access,
		Credentials: sealed.Credentials{
			Server: j.Server, UserID: j.User, Token: sealed.NewSecret(j.Token), Generation: 1, PostKey: sealed.NewSecret("a key to post with"),
		},
	}
	ear := newEar(nil)
	run := NewProcesses(nil).Begin(Job{Start: start, Owner: j.Owner}, ear)
	run.Command(channel.Connect{Number: 1})
	for range ear.more {
		ear.mu.Lock()
		on := online(ear.last)
		ear.mu.Unlock()
		if on {
			break
		}
	}
	fmt.Println(run.PID())
	select {}
}

// A supervisor that is killed takes its workers with it, and they all that they
// started.
func TestTheSupervisorIsKilled(t *testing.T) {
	p := newPlace(t)
	mark := "7" + strconv.Itoa(os.Getpid())
	job, bot := p.job("alice", os.Geteuid(), "sh", "-c", fmt.Sprintf(
		`(env -i setsid sleep %[1]s >/dev/null 2>&1 </dev/null &); exec >/dev/null; exec sleep %[1]s`, mark))
	c := job.Start.Credentials
	start := wireStart{Profile: "alice", Home: job.Start.Home, Run: 1, wireFiles: wireFiles{Settings: job.Start.Settings, Access: job.Start.Access}}
	text, err := json.Marshal(parentJob{Server: c.Server, User: c.UserID, Token: c.Token.Reveal(), Start: start, Owner: job.Owner})
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), parentVar+"="+string(text))
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	defer cmd.Wait()
	defer cmd.Process.Kill()
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(line[:len(line)-1])
	if err != nil {
		t.Fatal(err)
	}
	p.server.Say(p.owner, p.server.AddDirect(p.owner, bot), "go")
	until(t, "two sleepers", func() bool { return count(mark) == 2 })
	began := time.Now()
	if err := cmd.Process.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	until(t, "the worker is gone", func() bool { return unix.Kill(pid, 0) != nil || isZombie(pid) })
	until(t, "what it started is gone", func() bool { return count(mark) == 0 })
	if d := time.Since(began); d > exitWithin+2*time.Second {
		t.Errorf("after %v", d)
	}
	// The home is free for the next.
	lock, err := Lock(job.Start.Home)
	if err != nil {
		t.Fatal(err)
	}
	lock.Close()
}
