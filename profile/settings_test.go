package profile

import (
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// full is a channel.yaml in which every key differs from its default.
const full = `# a comment
enabled: false
agent:
  kind: exec
  command: [./answer, "--fast"]
  secrets: [OPENAI_API_KEY, other_key]
  env: {MODE: "strict", EMPTY: ""}
  idle_stop: 0
  approval_timeout: 2m
reply: thread
context: {messages: 5, chars: 1000}
limits:
  queue: 7
  age: 1h30m
  catch_up: 1d
  catch_up_messages: 0
  answer_age: 90m
  answers_per_hour: 3
  file_bytes: 1MiB
  download_bytes: 2097152
  memory: 2 GiB
health:
  silence: 30s
  ping: 10s
  check: 10m
tls:
  ca_file: ca.pem
proxy: http://proxy.example.org:3128
`

func TestParseSettingsFull(t *testing.T) {
	got, err := ParseSettings("channel.yaml", []byte(full))
	if err != nil {
		t.Fatal(err)
	}
	want := Settings{
		Agent: AgentSettings{
			Kind: "exec", Command: []string{"./answer", "--fast"},
			Secrets: []string{"OPENAI_API_KEY", "other_key"},
			Env:     map[string]string{"MODE": "strict", "EMPTY": ""}, ApprovalTimeout: 2 * time.Minute,
		},
		Reply: "thread", Context: ContextSettings{Messages: 5, Chars: 1000},
		Limits: Limits{
			Queue: 7, Age: 90 * time.Minute, CatchUp: 24 * time.Hour, AnswerAge: 90 * time.Minute,
			AnswersPerHour: 3, FileBytes: 1 << 20, DownloadBytes: 2 << 20, Memory: 2 << 30,
		},
		Health: Health{Silence: 30 * time.Second, Ping: 10 * time.Second, Check: 10 * time.Minute},
		CAFile: "ca.pem", Proxy: "http://proxy.example.org:3128",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Fatal(d)
	}
	// A key that is in the table and not in this file is a key without a test.
	for _, k := range settingsKeys {
		if def := DefaultSettings(); k.same(&def, &got) {
			t.Errorf("%s has its default: give it another value above", k.path)
		}
	}
}

func TestSettingsDefaults(t *testing.T) {
	got, err := ParseSettings("channel.yaml", []byte("agent:\n  kind: acp\n"))
	if err != nil {
		t.Fatal(err)
	}
	want := Settings{
		Enabled: true,
		Agent: AgentSettings{
			Kind: "acp", Command: []string{"hermes", "acp"},
			IdleStop: 15 * time.Minute, ApprovalTimeout: 55 * time.Second,
		},
		Reply: "same", Context: ContextSettings{Messages: 20, Chars: 20000},
		Limits: Limits{
			Queue: 20, Age: 10 * time.Minute, CatchUp: time.Hour, CatchUpMessages: 500, AnswerAge: time.Hour,
			AnswersPerHour: 120, FileBytes: 25 << 20, DownloadBytes: 250 << 20,
		},
		Health: Health{Silence: 70 * time.Second, Ping: 25 * time.Second, Check: 5 * time.Minute},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Fatal(d)
	}
	// Changing what was parsed must not change the defaults of the next.
	got.Agent.Command[0] = "other"
	again, _ := ParseSettings("channel.yaml", []byte("agent: {kind: acp}"))
	if again.Agent.Command[0] != "hermes" {
		t.Fatal("the default command is shared between settings")
	}
}

// Each value is put below agent.kind: echo and must be refused with the words.
func TestParseSettingsRefuses(t *testing.T) {
	long := strings.Repeat("x", 200)
	for _, c := range []struct{ name, yaml, want string }{
		{"empty", "", "f: the file is empty; agent.kind is missing: write agent: and below it kind: with acp, exec or echo"},
		{"only a comment", "# nothing\n", "f: the file is empty; agent.kind is missing"},
		{"null document", "~\n", "f: the file is empty; agent.kind is missing"},
		{"no kind", "enabled: true\n", "f: agent.kind is missing"},
		{"null section", "agent:\n", "f: agent.kind is missing"},
		{"list document", "- a\n", "f:1: must be a map of keys and values"},
		{"scalar document", "hello\n", "f:1: must be a map of keys and values"},
		{"unknown kind", "agent: {kind: runs}\n", "f:1: agent.kind: must be acp, exec or echo"},
		{"null kind", "agent:\n  kind:\n", "f:2: agent.kind: has no value; it takes acp, exec or echo"},
		{"a slip", "agent:\n  kind: echo\nenabeld: true\n", "f:3: enabeld: unknown key; did you mean enabled?"},
		{"a dash", "agent:\n  kind: echo\n  idle-stop: 1h\n", "f:3: agent.idle-stop: unknown key; did you mean agent.idle_stop?"},
		{"wrong section", "agent: {kind: echo}\nsilence: 70s\n", "f:2: silence: unknown key; did you mean health.silence?"},
		{"dotted", "agent.kind: echo\n", "f:1: agent.kind: unknown key; write kind: below agent:"},
		{"far off", "agent: {kind: echo}\nzzzz: 1\n", "f:2: zzzz: unknown key; here may stand enabled, agent, reply, context, limits, health, tls or proxy"},
		{"section as value", "agent: echo\n", "f:1: agent: must be a map with kind, command, secrets, env, idle_stop or approval_timeout"},
		{"twice", "agent: {kind: echo}\nenabled: true\nenabled: false\n", "f:3: enabled: stands twice, first on line 2"},
		{"twice below", "agent:\n  kind: echo\n  kind: echo\n", "f:3: agent.kind: stands twice, first on line 2"},
		{"exec without command", "agent: {kind: exec}\n", "agent.command: is missing: an exec agent needs the program to run"},
		{"empty command", "agent: {kind: exec, command: []}\n", "agent.command: must begin with a program"},
		{"command as text", "agent: {kind: exec, command: ./x}\n", "agent.command: must be a list, such as [one, two]"},
		{"number in command", "agent: {kind: exec, command: [x, 1]}\n", "agent.command: must be text: put quotes around it"},
		{"map in command", "agent: {kind: exec, command: [{a: b}]}\n", "agent.command: must be text"},
		{"bool trap", "enabled: off\nagent: {kind: echo}\n", "f:1: enabled: must be true or false: yes, no, on and off are only text in YAML"},
		{"quoted bool", "enabled: \"true\"\nagent: {kind: echo}\n", "f:1: enabled: must be true or false, without quotes"},
		{"bool as number", "enabled: 1\nagent: {kind: echo}\n", "f:1: enabled: must be true or false"},
		{"duration without unit", "agent: {kind: echo, idle_stop: 15}\n", "agent.idle_stop: must be a duration with its unit"},
		{"negative duration", "agent: {kind: echo, idle_stop: -1m}\n", "agent.idle_stop: must be a duration with its unit"},
		{"too long", "agent: {kind: echo, idle_stop: 25h}\n", "agent.idle_stop: must be within 0 (never)–24h"},
		{"too short", "agent: {kind: echo, approval_timeout: 9s}\n", "agent.approval_timeout: must be within 10s–30m"},
		{"age", "agent: {kind: echo}\nlimits: {age: 59s}\n", "limits.age: must be within 1m–24h"},
		{"silence", "agent: {kind: echo}\nhealth: {silence: 71s}\n", "health.silence: must be within 1s–70s"},
		{"ping over silence", "agent: {kind: echo}\nhealth: {silence: 20s}\n", "f:2: health.ping: is 25s and must be shorter than health.silence, which is 20s"},
		{"count", "agent: {kind: echo}\nlimits: {queue: 0}\n", "limits.queue: must be a whole number from 1 to 200"},
		{"float", "agent: {kind: echo}\nlimits: {queue: 1.5}\n", "limits.queue: must be a whole number from 1 to 200"},
		{"octal to some", "agent: {kind: echo}\nlimits: {queue: 010}\n", "limits.queue: must be a whole number from 1 to 200"},
		{"with a sign", "agent: {kind: echo}\nlimits: {queue: +5}\n", "limits.queue: must be a whole number from 1 to 200"},
		{"sexagesimal", "agent: {kind: echo}\nlimits: {queue: 1:30}\n", "limits.queue: must be a whole number from 1 to 200"},
		{"quoted number", "agent: {kind: echo}\nlimits: {queue: \"5\"}\n", "limits.queue: must be a whole number from 1 to 200"},
		{"decimal size", "agent: {kind: echo}\nlimits: {file_bytes: 25 MB}\n", "limits.file_bytes: must be a size such as 25 MiB"},
		{"huge size", "agent: {kind: echo}\nlimits: {file_bytes: 9999999 TiB}\n", "limits.file_bytes: must be a size such as 25 MiB"},
		{"small memory", "agent: {kind: echo}\nlimits: {memory: 1 MiB}\n", "limits.memory: must be within 0 (none), 64 MiB–4 TiB"},
		{"our variable", "agent: {kind: echo, env: {HERMES_HOME: /x}}\n", "agent.env: HERMES_HOME is given by the supervisor"},
		{"our prefix", "agent: {kind: echo, env: {RCSUPERVISOR_X: y}}\n", "agent.env: RCSUPERVISOR_X is given by the supervisor"},
		{"bad variable", "agent: {kind: echo, env: {\"a=b\": y}}\n", "agent.env: a variable's name is made of letters"},
		{"variable as number", "agent: {kind: echo, env: {A: 1}}\n", "agent.env.A: must be text: put quotes around it"},
		{"secret twice", "agent: {kind: echo, secrets: [A, A]}\n", "agent.secrets: an item stands twice"},
		{"secret and variable", "agent: {kind: echo, secrets: [A], env: {A: b}}\n", "agent.secrets: a name stands under agent.env too"},
		{"secret's name", "agent: {kind: echo, secrets: [a-b]}\n", "agent.secrets: a variable's name is made of letters"},
		{"proxy without scheme", "agent: {kind: echo}\nproxy: proxy:3128\n", "proxy: must be a URL such as http://proxy.example.org:3128"},
		{"proxy with password", "agent: {kind: echo}\nproxy: http://a:b@proxy:3128\n", "proxy: must not hold a name or password"},
		{"proxy with path", "agent: {kind: echo}\nproxy: http://proxy/x\n", "proxy: must be a host and port alone"},
		{"proxy with port 0", "agent: {kind: echo}\nproxy: http://proxy:0\n", "proxy: has a port that is none"},
		{"empty ca", "agent: {kind: echo}\ntls: {ca_file: \"\"}\n", "tls.ca_file: is empty; leave the key out instead"},
		{"tab", "agent:\n\tkind: echo\n", "f:2: indent with spaces, not with tabs"},
		{"open quote", "agent: {kind: \"echo\n", "f:1: a quote is not closed"},
		{"open bracket", "agent: {kind: echo\nx: [1\n", "f:2"},
		{"two documents", "agent: {kind: echo}\n---\nagent: {kind: echo}\n", "f:"},
		{"anchor", "agent: &a {kind: echo}\n", "f:1: agent: anchors and aliases are not used here"},
		{"alias", "agent: {kind: echo}\nreply: *a\n", "f:2: anchors and aliases are not used here"},
		{"merge", "agent: {kind: echo}\n<<: {enabled: false}\n", "f:2: merge keys are not used here"},
		{"tag", "agent: !!map {kind: echo}\n", "f:1: agent: tags are not used here"},
		{"key that is a map", "? {a: b}\n: c\n", "f:1: a key must be a plain word"},
		{"not text", "agent: {kind: echo}\nreply: \"\xff\"\n", "f:2: not UTF-8 text"},
		{"deep", "reply: " + strings.Repeat("[", 50) + strings.Repeat("]", 50) + "\n", "f:1: nested too deeply"},
		{"a value in a key's place", "agent: {kind: echo}\n" + long + ": x\n", "f:2: …: unknown key"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := ParseSettings("f", []byte(c.yaml))
			if err == nil {
				t.Fatal("accepted")
			}
			if !strings.Contains(err.Error(), c.want) {
				t.Fatalf("\n got %s\nwant %s", err, c.want)
			}
			if _, ok := errors.AsType[*FileError](err); !ok {
				t.Fatalf("%T", err)
			}
		})
	}
}

func TestSeveralProblemsAreToldAtOnce(t *testing.T) {
	_, err := ParseSettings("/home/a/rocketchat/channel.yaml", []byte("agent: {kind: ech}\nlimits:\n  queue: 0\n  aeg: 1m\n"))
	want := `/home/a/rocketchat/channel.yaml:1: agent.kind: must be acp, exec or echo
/home/a/rocketchat/channel.yaml:3: limits.queue: must be a whole number from 1 to 200
/home/a/rocketchat/channel.yaml:4: limits.aeg: unknown key; did you mean limits.age?`
	if err == nil || err.Error() != want {
		t.Fatalf("\n got %v\nwant %v", err, want)
	}
	many := strings.Repeat("- 1\n", 500)
	_, err = ParseSettings("f", []byte("agent:\n  kind: exec\n  command:\n"+strings.ReplaceAll(many, "- ", "    - ")))
	fe, _ := errors.AsType[*FileError](err)
	if fe == nil || len(fe.Problems) > maxProblems+1 {
		t.Fatalf("%d problems", len(fe.Problems))
	}
}

// Whatever stands in a file may be a secret in the wrong place.
func TestErrorsNeverQuoteTheFile(t *testing.T) {
	const secret = "zq8Xv7Wm2Kp4"
	for _, format := range []string{
		"agent: {kind: %}\n", "agent: {kind: echo}\nenabled: %\n", "%: x\n", "% x\n", "agent: {kind: echo}\nproxy: http://u:%@h\n",
		"agent: {kind: echo, env: {A: [%]}}\n", "agent: {kind: echo, env: {\"% b\": x}}\n", "agent: *%\n", "agent: &% x\n", "agent: !% x\n", "a: !%!x y\n",
		"agent: \"\\%\"\n", "agent: {kind: echo, command: %}\n", "agent: {kind: echo}\nlimits: {age: %, file_bytes: %, queue: %}\n", "%% % x\n--- a\n",
		"\"%\": 1\n\"%\": 2\n", "agent: {kind: echo, secrets: ['% %']}\n", "'%", "? [%]\n: x\n", "%\n",
	} {
		in := strings.ReplaceAll(format, "%", secret)
		for _, parse := range []func(string, []byte) error{
			func(f string, b []byte) error { _, err := ParseSettings(f, b); return err },
			func(f string, b []byte) error { _, err := ParseAccess(f, b); return err },
		} {
			if err := parse("f", []byte(in)); err == nil {
				t.Errorf("%q was accepted", format)
			} else if strings.Contains(err.Error(), secret) {
				t.Errorf("%q: the error quotes it: %s", format, err)
			}
		}
	}
}

func TestBombs(t *testing.T) {
	var laughs strings.Builder
	laughs.WriteString("a0: &a0 [x,x,x,x,x,x,x,x,x]\n")
	for i := 1; i < 9; i++ {
		p, n := string(rune('0'+i-1)), string(rune('0'+i))
		laughs.WriteString("a" + n + ": &a" + n + " [" + strings.Repeat("*a"+p+",", 9) + "]\n")
	}
	for name, in := range map[string]string{
		"laughs":    laughs.String(),
		"nested":    strings.Repeat("[", MaxFile/2),
		"flat":      "agent: [" + strings.Repeat("a,", MaxFile/2-10) + "]",
		"block":     strings.Repeat("- ", MaxFile/2),
		"keys":      strings.Repeat("? ", MaxFile/2),
		"oversized": "# " + strings.Repeat("x", MaxFile),
	} {
		t.Run(name, func(t *testing.T) {
			allocated := testing.Benchmark(func(b *testing.B) {
				b.ReportAllocs()
				if _, err := ParseSettings("f", []byte(in)); err == nil {
					b.Fatal("accepted")
				}
			}).AllocedBytesPerOp()
			if allocated > 64<<20 {
				t.Fatalf("refusing it took %d MiB", allocated>>20)
			}
		})
	}
}

func TestDurations(t *testing.T) {
	for in, want := range map[string]time.Duration{
		"0": 0, "0s": 0, "90s": 90 * time.Second, "1h30m": 90 * time.Minute, "1d": 24 * time.Hour,
		"1d12h": 36 * time.Hour, "500ms": 500 * time.Millisecond, "0d": 0, "1.5h": 90 * time.Minute,
	} {
		if got, err := ParseDuration(in); err != nil || got != want {
			t.Errorf("%q is %v, %v; want %v", in, got, err, want)
		}
	}
	for _, in := range []string{"", "1", "-1s", "+1s", "1d-1h", "d", "-1d", "+1d", "99999999d", "1.5d", "1h1d", "1 h", "9223372036s1d", "2562047h99m", "1x"} {
		if got, err := ParseDuration(in); err == nil {
			t.Errorf("%q is %v; want an error", in, got)
		}
	}
}

func TestSizes(t *testing.T) {
	for in, want := range map[string]int64{
		"0": 0, "1": 1, "25 MiB": 25 << 20, "25MiB": 25 << 20, "1KiB": 1 << 10, "2 GiB": 2 << 30, "1 TiB": 1 << 40, "7 B": 7,
	} {
		if got, err := ParseSize(in); err != nil || got != want {
			t.Errorf("%q is %v, %v; want %v", in, got, err, want)
		}
	}
	for _, in := range []string{"", "MiB", "-1", "1.5 MiB", "25 MB", "25 mib", "25  MiB", "1 ", "99999999 TiB", "18446744073709551615", "1_000", "٣"} {
		if got, err := ParseSize(in); err == nil {
			t.Errorf("%q is %v; want an error", in, got)
		}
	}
}

func TestShownValuesAreReadBack(t *testing.T) {
	for _, d := range []time.Duration{0, time.Second, 70 * time.Second, time.Minute, time.Hour, 90 * time.Minute, 24 * time.Hour, 100 * time.Minute} {
		if got, err := ParseDuration(showDuration(d)); err != nil || got != d {
			t.Errorf("%v shows as %q", d, showDuration(d))
		}
	}
	for _, n := range []int64{0, 1, 1023, 1024, 25 << 20, 3 << 30, 1<<40 + 1} {
		if got, err := ParseSize(showSize(n)); err != nil || got != n {
			t.Errorf("%v shows as %q", n, showSize(n))
		}
	}
}

// The reference is public; a change of it is a change of the contract.
func TestReference(t *testing.T) {
	golden(t, "testdata/reference.md", Reference())
}

func golden(t *testing.T, file, got string) {
	t.Helper()
	if os.Getenv("UPDATE_GOLDEN") != "" {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), got); d != "" {
		t.Fatalf("%s (UPDATE_GOLDEN=1 writes it anew):\n%s", file, d)
	}
}

func FuzzParseSettings(f *testing.F) {
	f.Add([]byte(full))
	f.Add([]byte("agent: {kind: acp}"))
	f.Add([]byte("a: &a [*a]"))
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := ParseSettings("f", data)
		if err != nil {
			if _, ok := errors.AsType[*FileError](err); !ok {
				t.Fatalf("%T", err)
			}
			return
		}
		if s.Health.Ping >= s.Health.Silence || s.Limits.Queue < 1 || s.Agent.Kind == "" {
			t.Fatalf("out of bounds: %+v", s)
		}
	})
}
