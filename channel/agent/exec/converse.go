package exec

import (
	"context"
	"errors"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"rcsupervisor/channel/agent"
)

// exitGrace is how long a process that has closed its output may go on. The
// answer is whole by then; what it does behind it is nobody's turn.
const exitGrace = 10 * time.Second

// converse gives a process the question and reads its answer, until it is gone.
func (a *Agent) converse(ctx context.Context, proc agent.Process, in []byte) (answer string, exit error) {
	kill := func() {
		if err := proc.Kill(); err != nil {
			a.config.Log.Warn("the agent's process could not be killed", "err", err)
		}
	}
	stop := context.AfterFunc(ctx, kill)
	defer stop()
	var outlived atomic.Bool
	var lingers *time.Timer // set before both is done
	var both sync.WaitGroup
	both.Go(func() {
		// One that reads nothing may still answer.
		_, _ = proc.Stdin().Write(in)
		_ = proc.Stdin().Close()
	})
	both.Go(func() {
		errs := agent.Complaints{Log: a.config.Log}
		errs.Quiet()
		errs.Read(proc.Stderr())
	})
	both.Go(func() {
		answer = read(proc.Stdout())
		lingers = time.AfterFunc(exitGrace, func() {
			outlived.Store(true)
			kill()
		})
	})
	exit = proc.Wait()
	both.Wait()
	lingers.Stop()
	if outlived.Load() {
		a.config.Log.Info("the agent's process closed its output and went on; it was ended")
		return answer, nil // by us, and not by its own fault
	}
	return answer, exit
}

// read reads an answer to its end, and keeps what a channel can post.
func read(r io.Reader) string {
	data, _ := io.ReadAll(io.LimitReader(r, agent.MaxText+1))
	_, _ = io.Copy(io.Discard, r)
	text := strings.ToValidUTF8(string(data[:min(len(data), agent.MaxText)]), "\ufffd")
	if len(data) > agent.MaxText {
		text += agent.SayCut
	}
	return text
}

// say puts an answer into a turn: its text, and the files that it names.
func say(feed *agent.Feed, answer, dir string) {
	var scan agent.MediaScan
	text, files := scan.Write(answer)
	rest, last := scan.End()
	feed.Put(agent.Text{Chunk: strings.TrimSpace(text + rest)})
	for _, path := range append(files, last...) {
		feed.Put(agent.FileOut{Path: path, Dir: dir})
	}
}

// ending is the Done of an error.
func ending(err error) agent.Done {
	switch {
	case err == nil:
		return agent.Done{Stop: agent.Ended}
	case errors.Is(err, errCancelled):
		return agent.Done{Stop: agent.Cancelled}
	case errors.Is(err, errSlow):
		err = agent.Fail("That took too long, so I stopped it.", err)
	}
	return agent.Done{Stop: agent.Failed, Err: err}
}
