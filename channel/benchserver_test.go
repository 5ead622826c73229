package channel

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"rcsupervisor/channel/pretend"
)

// The benchmarks' server is another process: this test binary, run once more.
// It serves bots, each with people who write to it directly, and lets them ask:
// each person asks the next question when his last one was answered.
const serveHere = "CHANNEL_BENCHMARK_SERVES"

// A stall is what the server's process is told to make: so many bots, each with
// so many people.
type stall struct {
	Bots, People int
	TLS          bool
}

// An opened stall is what its process says once.
type opened struct {
	URL  string
	CA   []byte
	Bots []stallBot
}

type stallBot struct {
	ID, Token string
	People    []string // user ids
}

// serveForBenchmark serves if this process was started to, and reports whether
// it was.
func serveForBenchmark() bool {
	said := os.Getenv(serveHere)
	if said == "" {
		return false
	}
	var s stall
	if err := json.Unmarshal([]byte(said), &s); err != nil {
		panic(err)
	}
	serveStall(s)
	return true
}

// A crowd is the people of a stall, each in his direct room.
type crowd struct {
	server *pretend.Server
	rooms  map[string]*asking // by room id
	left   atomic.Int64       // questions yet to be asked
	open   atomic.Int64       // questions not yet answered
	done   chan struct{}
}

type asking struct {
	user pretend.User
	room pretend.Room
	next chan struct{}
	n    int
}

func serveStall(s stall) {
	server := pretend.New(pretend.Options{NoLimits: true})
	c := &crowd{server: server, rooms: make(map[string]*asking), done: make(chan struct{}, 1)}
	var out opened
	for i := range s.Bots {
		bot := server.AddUser(fmt.Sprintf("bot%d", i), pretend.UserOptions{Bot: true})
		b := stallBot{ID: bot.ID, Token: bot.Token}
		for j := range s.People {
			u := server.AddUser(fmt.Sprintf("p%d-%d", i, j), pretend.UserOptions{})
			room := server.AddDirect(u, bot)
			c.rooms[room.ID] = &asking{user: u, room: room, next: make(chan struct{}, 1)}
			b.People = append(b.People, u.ID)
		}
		out.Bots = append(out.Bots, b)
	}
	var people sync.WaitGroup
	for _, a := range c.rooms {
		people.Go(func() { c.ask(a) })
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	out.URL = "http://" + l.Addr().String()
	if s.TLS {
		out.URL, out.CA, err = server.ListenTLS("127.0.0.1:0")
		if err != nil {
			panic(err)
		}
	}
	web := &http.Server{Handler: c}
	go web.Serve(l)
	json.NewEncoder(os.Stdout).Encode(out)
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		var n int64
		if _, err := fmt.Sscan(lines.Text(), &n); err != nil {
			panic(err)
		}
		began := time.Now()
		c.begin(n)
		<-c.done
		fmt.Println(time.Since(began).Nanoseconds())
	}
	web.Close()
	server.Close()
	for _, a := range c.rooms {
		close(a.next)
	}
	people.Wait()
}

// ServeHTTP is the server's, with an eye on answers.
func (c *crowd) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !strings.HasSuffix(r.URL.Path, "/chat.sendMessage") {
		c.server.ServeHTTP(w, r)
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	c.server.ServeHTTP(w, r)
	var sent struct{ Message struct{ Rid string } }
	if json.Unmarshal(body, &sent) == nil && c.rooms[sent.Message.Rid] != nil {
		c.answered(c.rooms[sent.Message.Rid])
	}
}

// begin has n questions asked.
func (c *crowd) begin(n int64) {
	c.left.Store(n)
	c.open.Store(n)
	for _, a := range c.rooms {
		c.go1(a)
	}
}

// go1 lets a person ask, if anything is left to be asked.
func (c *crowd) go1(a *asking) {
	if c.left.Add(-1) >= 0 {
		a.next <- struct{}{}
	}
}

func (c *crowd) answered(a *asking) {
	if c.open.Add(-1) == 0 {
		c.done <- struct{}{}
	}
	c.go1(a)
}

func (c *crowd) ask(a *asking) {
	for range a.next {
		a.n++
		c.server.Say(a.user, a.room, fmt.Sprintf("question %d of an ordinary length, as people ask them", a.n))
	}
}

// A stand is a stall's process as a benchmark sees it.
type stand struct {
	opened
	in    io.WriteCloser
	lines *bufio.Scanner
	cmd   *exec.Cmd
}

func openStand(b *testing.B, s stall) *stand {
	b.Helper()
	said, err := json.Marshal(s)
	if err != nil {
		b.Fatal(err)
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), serveHere+"="+string(said))
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	st := &stand{in: in, lines: bufio.NewScanner(out), cmd: cmd}
	st.lines.Buffer(nil, 16<<20)
	if !st.lines.Scan() || json.Unmarshal(st.lines.Bytes(), &st.opened) != nil {
		b.Fatal("the server's process says nothing")
	}
	b.Cleanup(func() {
		in.Close()
		cmd.Wait()
	})
	return st
}

// ask has n questions asked and returns how long it took until all were
// answered.
func (s *stand) ask(b *testing.B, n int) time.Duration {
	b.Helper()
	fmt.Fprintln(s.in, n)
	var took int64
	if !s.lines.Scan() {
		b.Fatal("the server's process is gone")
	}
	if _, err := fmt.Sscan(s.lines.Text(), &took); err != nil {
		b.Fatal(err)
	}
	return time.Duration(took)
}
