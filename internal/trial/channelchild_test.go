package trial

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
	"syscall"
	"time"

	"rcsupervisor/channel"
	"rcsupervisor/channel/agent"
	"rcsupervisor/dedup"
)

// drainTime is how long a channel may take to end in peace.
const drainTime = 30 * time.Second

// channelChild runs one channel until it is killed, drained, or alone.
func channelChild() error {
	in := bufio.NewReader(os.Stdin)
	line, err := in.ReadBytes('\n')
	if err != nil {
		return err
	}
	var o orders
	if err := json.Unmarshal(line, &o); err != nil {
		return err
	}
	out := json.NewEncoder(os.Stdout)
	l := newLink(func(r channel.Report) { _ = out.Encode(r) }, complain)
	go func() {
		if command, err := in.ReadString('\n'); err != nil || command != drain+"\n" {
			os.Exit(1) // nobody is left who could end it
		}
		l.tell(channel.Drain{Deadline: time.Now().Add(drainTime)})
		_, _ = io.Copy(io.Discard, in)
	}()
	env := channel.Env{
		Dial:  o.Crash.dial,
		Store: func(path, bot string) (dedup.Store, error) { return o.open(path, bot) },
		Agent: func(s channel.Start, _ channel.Link) (agent.Agent, error) { return o.agent(s.Home) },
	}
	err = env.Run(context.Background(), o.start(), l)
	l.end()
	return err
}

// complain writes down what may explain a trial that failed.
func complain(r channel.Record) {
	if r.Level >= int(slog.LevelInfo) {
		fmt.Fprintln(os.Stderr, r.Time.Format(time.TimeOnly+".000"), slog.Level(r.Level), r.Message, r.Attrs)
	}
}

// explain is complain where somebody wants to know it: TRIAL_DEBUG=1.
func explain(r channel.Record) {
	if os.Getenv("TRIAL_DEBUG") != "" {
		complain(r)
	}
}

// agent is a script that writes down what it was asked, before anything else.
func (o orders) agent(home string) (agent.Agent, error) {
	log, err := os.OpenFile(begunLog(home), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	s := newScript()
	s.begun = func(id string) {
		if _, err := log.WriteString(id + "\n"); err != nil {
			panic(err)
		}
	}
	s.think = func() time.Duration { return time.Duration(rand.IntN(1000*o.MaxThink+1)) * time.Microsecond }
	s.ready = func(id string) { o.Crash.at(atAgent, id) }
	return s, nil
}

// die ends this process as SIGKILL from outside would.
func die() {
	_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	select {}
}
