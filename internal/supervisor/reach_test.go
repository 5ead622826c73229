package supervisor

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"runtime/pprof"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"rcsupervisor/channel"
	"rcsupervisor/channel/pretend"
	"rcsupervisor/healthcheck"
	"rcsupervisor/internal/worker"
	"rcsupervisor/profile"
	"rcsupervisor/sealed"
)

// How far the supervisor reaches: many profiles on one host. These are
// benchmarks, run once each, whose figures are told and not asserted:
//
//	go test -run '^$' -bench Reach -benchtime 1x -timeout 20m ./internal/supervisor
//
// REACH_PROFILES is how many profiles run in one process (1000), and
// REACH_WORKERS how many in a process each (50). The pretend server is a
// process of its own, so that what it needs is not counted.

// serverVar has this test's program be the server for so many bots.
const serverVar = "REACH_SERVER"

// A reachBot is one of the server's bots.
type reachBot struct{ Name, ID, Token string }

// A reachServer is what the server's process says of itself.
type reachServer struct {
	URL         string
	Certificate []byte
	Bots        []reachBot
}

func init() {
	n, err := strconv.Atoi(os.Getenv(serverVar))
	if err != nil || worker.IsWorker(os.Args) {
		return
	}
	s := pretend.New(pretend.Options{NoLimits: os.Getenv("REACH_LIMITS") == ""})
	var r reachServer
	if r.URL, r.Certificate, err = s.ListenTLS("127.0.0.1:0"); err != nil {
		panic(err)
	}
	for i := range n {
		name := fmt.Sprintf("bot%04d", i)
		u := s.AddUser(name, pretend.UserOptions{Bot: true})
		r.Bots = append(r.Bots, reachBot{name, u.ID, u.Token})
	}
	if err := json.NewEncoder(os.Stdout).Encode(r); err != nil {
		panic(err)
	}
	_, _ = io.Copy(io.Discard, os.Stdin) // until whoever started us is done
	os.Exit(0)
}

// A reach is a server with many bots, and homes for them.
type reach struct {
	*testing.B
	dir     string
	server  reachServer
	client  *http.Client
	super   *Supervisor
	stop    func()
	observe func(Event)
	opened  time.Duration // what opening all envelopes takes alone
}

func newReach(b *testing.B, n int, settings string) *reach {
	b.Helper()
	r := &reach{B: b, dir: b.TempDir()}
	r.must(os.Chmod(r.dir, 0o755))
	r.serve(n)
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(r.server.Certificate)
	r.client = &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}}}
	r.must(os.WriteFile(filepath.Join(r.dir, "ca.pem"), r.server.Certificate, 0o600))
	keys := r.keys()
	for _, bot := range r.server.Bots {
		r.home(bot, settings, keys)
	}
	began := time.Now()
	for _, bot := range r.server.Bots {
		data, err := os.ReadFile(filepath.Join(r.dir, "profiles", bot.Name, profile.Folder, sealed.FileName))
		r.must(err)
		_, err = sealed.Unseal(data, keys.Identity(), bot.Name)
		r.must(err)
	}
	r.opened = time.Since(began) / time.Duration(sealsAtOnce())
	return r
}

func (r *reach) must(err error) {
	r.Helper()
	if err != nil {
		r.Fatal(err)
	}
}

func (r *reach) serve(n int) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), serverVar+"="+strconv.Itoa(n))
	in, err := cmd.StdinPipe()
	r.must(err)
	out, err := cmd.StdoutPipe()
	r.must(err)
	r.must(cmd.Start())
	r.Cleanup(func() {
		in.Close()
		_ = cmd.Wait()
	})
	r.must(json.NewDecoder(bufio.NewReader(out)).Decode(&r.server))
}

func (r *reach) keys() *sealed.Keyring {
	path := filepath.Join(r.dir, "identity.txt")
	_, err := sealed.Init(sealed.InitOptions{Path: path})
	r.must(err)
	o := sealed.Options{File: path, Getenv: func(string) string { return "" }}
	k, err := sealed.FindKeyring(o, false)
	r.must(err)
	return k
}

func (r *reach) home(bot reachBot, settings string, keys *sealed.Keyring) {
	ours := filepath.Join(r.dir, "profiles", bot.Name, profile.Folder)
	r.must(os.MkdirAll(filepath.Join(ours, profile.StateFolder), 0o700))
	text := "agent: {kind: echo}\ntls: {ca_file: " + filepath.Join(r.dir, "ca.pem") + "}\n" + settings
	r.must(os.WriteFile(filepath.Join(ours, profile.SettingsFile), []byte(text), 0o600))
	dir, err := Tenant{Name: bot.Name, Path: filepath.Dir(ours)}.Folder()
	r.must(err)
	defer dir.Close()
	_, err = sealed.Store{Folder: Sealed(dir), Profile: bot.Name}.Write(
		sealed.Envelope{Server: r.server.URL, UserID: bot.ID, Token: sealed.NewSecret(bot.Token)}, keys, sealed.WriteOptions{})
	r.must(err)
}

// start starts the supervisor and returns how long it took all to be online.
func (r *reach) start(carrier worker.Carrier) time.Duration {
	r.Helper()
	keys := NewKeys(func() (*sealed.Identity, *sealed.Keyring, error) {
		o := sealed.Options{File: filepath.Join(r.dir, "identity.txt"), Getenv: func(string) string { return "" }}
		k, err := sealed.FindKeyring(o, false)
		return k.Identity(), k, err
	})
	r.must(os.MkdirAll(filepath.Join(r.dir, "state"), 0o700))
	state, err := os.OpenRoot(filepath.Join(r.dir, "state"))
	r.must(err)
	began := time.Now()
	r.super, err = New(Config{
		Sources: profile.Sources{Roots: []profile.Root{{Dir: r.dir}}}, Root: true, State: state, Keys: keys, Carrier: carrier,
		Drain: time.Second, Observe: r.observe, Jitter: func() float64 { return 2*rand.Float64() - 1 },
	})
	r.must(err)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- r.super.Run(ctx, nil) }()
	r.stop = func() {
		cancel()
		r.must(<-done)
		r.must(state.Close())
	}
	r.allOnline(time.Minute)
	return time.Since(began)
}

// allOnline waits until every profile is, and returns how long that took.
func (r *reach) allOnline(most time.Duration) time.Duration {
	r.Helper()
	return r.until(most, func(st Status) bool { return st.Supervisor.Online == len(r.server.Bots) })
}

func (r *reach) until(most time.Duration, ok func(Status) bool) time.Duration {
	r.Helper()
	began := time.Now()
	for {
		st, _ := r.super.Status(Everybody)
		if ok(st) {
			return time.Since(began)
		}
		if time.Since(began) > most {
			r.Fatalf("%d of %d are online after %v", st.Supervisor.Online, len(r.server.Bots), most)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// fault has the server do something wrong.
func (r *reach) fault(f pretend.Fault) {
	r.Helper()
	body, err := json.Marshal(f)
	r.must(err)
	resp, err := r.client.Post(r.server.URL+"/_pretend/faults", "application/json", bytes.NewReader(body))
	if err != nil && f.Kind == pretend.Restart {
		return // it cuts this connection too
	}
	r.must(err)
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(resp.Body)
		r.Fatalf("%d %s", resp.StatusCode, text)
	}
}

func fromEnv(name string, otherwise int) int {
	if n, err := strconv.Atoi(os.Getenv(name)); err == nil && n > 0 {
		return n
	}
	return otherwise
}

// memory is what a process has for itself alone, what it shares fairly, and all
// that is in memory of it, in MB.
func memory(pid int) (private, pss, rss float64, err error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", pid))
	if err != nil {
		return 0, 0, 0, err
	}
	for line := range strings.Lines(string(data)) {
		f := strings.Fields(line)
		if len(f) != 3 || f[2] != "kB" {
			continue
		}
		kb, _ := strconv.ParseFloat(f[1], 64)
		switch f[0] {
		case "Private_Clean:", "Private_Dirty:":
			private += kb / 1024
		case "Pss:":
			pss = kb / 1024
		case "Rss:":
			rss = kb / 1024
		}
	}
	return private, pss, rss, nil
}

// anonymous is the private memory of a process that no file is behind, in MB.
func anonymous(pid int) float64 {
	data, _ := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", pid))
	for line := range strings.Lines(string(data)) {
		if f := strings.Fields(line); len(f) == 3 && f[0] == "Anonymous:" {
			kb, _ := strconv.ParseFloat(f[1], 64)
			return kb / 1024
		}
	}
	return 0
}

// busy is the processor time this process takes over a while, in percent of one
// core.
func busy(d time.Duration) float64 {
	used := func() time.Duration {
		var u unix.Rusage
		_ = unix.Getrusage(unix.RUSAGE_SELF, &u)
		return time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	before := used()
	time.Sleep(d)
	return 100 * float64(used()-before) / float64(d)
}

// BenchmarkReachShared is a thousand profiles in one process.
func BenchmarkReachShared(b *testing.B) {
	for b.Loop() {
		n := fromEnv("REACH_PROFILES", 1000)
		r := newReach(b, n, "")
		debug.FreeOSMemory()
		before, _, _, err := memory(os.Getpid())
		r.must(err)
		anonBefore := anonymous(os.Getpid())
		took := r.start(worker.NewShared(channel.Env{}))
		b.ReportMetric(took.Seconds(), "s-to-online")
		b.ReportMetric(r.opened.Seconds(), "s-opening-seals")
		time.Sleep(70 * time.Second)                     // the first checks are over, rescans, and the stretch of calm after which memory is given back
		if path := os.Getenv("REACH_HEAP"); path != "" { // what there is, for go tool pprof
			f, err := os.Create(path)
			r.must(err)
			r.must(errors.Join(pprof.WriteHeapProfile(f), f.Close()))
		}
		private, _, _, err := memory(os.Getpid())
		r.must(err)
		b.ReportMetric(private-before, "MB-private")
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		b.ReportMetric(float64(m.HeapAlloc)/(1<<20), "MB-heap-live")
		b.ReportMetric(float64(m.HeapInuse)/(1<<20), "MB-heap-in-use")
		b.ReportMetric(float64(m.StackInuse)/(1<<20), "MB-stacks")
		b.ReportMetric(anonymous(os.Getpid())-anonBefore, "MB-anonymous")
		b.ReportMetric(float64(runtime.NumGoroutine())/float64(n), "goroutines/profile")
		began := time.Now()
		st, _ := r.super.Status(Everybody)
		_, err = json.Marshal(st)
		r.must(err)
		b.ReportMetric(float64(time.Since(began).Microseconds())/1000, "ms-status")
		if path := os.Getenv("REACH_CPU"); path != "" {
			f, err := os.Create(path)
			r.must(err)
			r.must(pprof.StartCPUProfile(f))
		}
		b.ReportMetric(busy(30*time.Second), "%-of-a-core-idle")
		pprof.StopCPUProfile()
		r.stop()
	}
}

// BenchmarkReachOutage is a server that goes away for a minute under a thousand
// channels.
func BenchmarkReachOutage(b *testing.B) {
	for b.Loop() {
		r := newReach(b, fromEnv("REACH_PROFILES", 1000), "")
		r.start(worker.NewShared(channel.Env{}))
		const away = time.Minute
		r.fault(pretend.Fault{Kind: pretend.Restart, Delay: pretend.Duration(away)})
		back := time.Now().Add(away)
		r.until(30*time.Second, func(st Status) bool { return st.Supervisor.Online == 0 })
		r.until(2*away, func(st Status) bool { return st.Supervisor.Online > 0 })
		first := time.Since(back)
		took := r.allOnline(time.Minute)
		b.ReportMetric(first.Seconds(), "s-from-its-return-to-the-first")
		b.ReportMetric(took.Seconds(), "s-from-the-first-to-all")
		b.ReportMetric((first + took).Seconds(), "s-from-its-return-to-all")
		// Had it come back right after a probe, with the jitter at its most.
		const probe = 5750 * time.Millisecond
		b.ReportMetric((probe + took).Seconds(), "s-from-its-return-to-all-at-worst")
		st, _ := r.super.Status(Everybody)
		refused := 0
		for _, p := range st.Profiles {
			if p.Reason != nil && *p.Reason == string(healthcheck.RateLimited) {
				refused++
			}
		}
		b.ReportMetric(float64(refused), "logins-refused-by-the-limiter")
		r.stop()
	}
}

// BenchmarkReachSilence is how late a silence of 5 s is found, of a thousand.
// The last frame may have come up to a ping's time before the server fell
// silent; what is told is how long after the last of them was due.
func BenchmarkReachSilence(b *testing.B) {
	for b.Loop() {
		const silence, ping = 5 * time.Second, 2 * time.Second
		r := newReach(b, fromEnv("REACH_PROFILES", 1000), "health: {silence: 5s, ping: 2s}\n")
		var mu sync.Mutex
		ends := make(map[string]time.Time)
		r.observe = func(e Event) {
			if rep := e.Report; rep != nil && rep.End != nil && rep.End.Reason == healthcheck.Silent {
				mu.Lock()
				defer mu.Unlock()
				ends[e.Profile] = rep.End.At
			}
		}
		r.start(worker.NewShared(channel.Env{}))
		time.Sleep(2 * silence)
		mu.Lock()
		clear(ends)
		mu.Unlock()
		fell := time.Now()
		r.fault(pretend.Fault{Kind: pretend.Silent})
		time.Sleep(silence + 2*time.Second)
		mu.Lock()
		last := time.Duration(-silence)
		for _, at := range ends {
			last = max(last, at.Sub(fell.Add(silence)))
		}
		b.ReportMetric(float64(len(ends)), "found")
		b.ReportMetric(last.Seconds(), "s-after-the-last-was-due")
		b.ReportMetric(ping.Seconds(), "s-between-pings")
		mu.Unlock()
		r.stop()
	}
}

// BenchmarkReachProcesses is fifty profiles, each a process.
func BenchmarkReachProcesses(b *testing.B) {
	for b.Loop() {
		n := fromEnv("REACH_WORKERS", 50)
		r := newReach(b, n, "")
		took := r.start(worker.NewProcesses(nil))
		b.ReportMetric(took.Seconds(), "s-to-online")
		b.ReportMetric((took - r.opened).Seconds(), "s-beyond-the-seals")
		time.Sleep(5 * time.Second)
		var pss, rss, most float64
		for _, v := range r.super.views(Everybody) {
			_, p, s, err := memory(v.pid)
			r.must(err)
			pss, rss, most = pss+p, rss+s, max(most, s)
		}
		b.ReportMetric(pss/float64(n), "MB-PSS/worker")
		b.ReportMetric(rss/float64(n), "MB-RSS/worker")
		b.ReportMetric(most, "MB-RSS-at-most")
		r.stop()
	}
}

// BenchmarkStatus is what status costs for a thousand profiles.
func BenchmarkStatus(b *testing.B) {
	s, err := New(Config{})
	if err != nil {
		b.Fatal(err)
	}
	for i := range 1000 {
		r := profile.Reading{Profile: profile.Profile{Name: fmt.Sprintf("bot%04d", i), Home: "/home/x/.hermes", Settings: profile.DefaultSettings()}, Err: errors.New("not read")}
		s.keepers[r.Name] = newKeeper(s, r)
	}
	for b.Loop() {
		st, _ := s.Status(Everybody)
		if _, err := json.Marshal(st); err != nil {
			b.Fatal(err)
		}
	}
}
