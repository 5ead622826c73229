package profile

import (
	"net"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode"

	"go.yaml.in/yaml/v4"
)

// agentKinds answer questions. Hermes' API server, runs, is reserved.
var agentKinds = []string{"acp", "exec", "echo"}

// DefaultCommand is agent.command of an acp agent that names none.
var defaultCommand = []string{"hermes", "acp"}

// settingsKeys is channel.yaml, whole. Its order is the order of the
// reference.
var settingsKeys = table[Settings]{
	row("enabled", boolean, true, OnOff,
		func(s *Settings) *bool { return &s.Enabled },
		"Whether the profile may run at all."),

	row("agent.kind", word(agentKinds...), "", AgentReplaced,
		func(s *Settings) *string { return &s.Agent.Kind },
		"What answers: an agent that speaks ACP, a program run once for each question, or an echo to try the bot with.").
		shown("–, must be given").widening(),
	row("agent.command", listOf("list of text", 64, false, argument), nil, AgentReplaced,
		func(s *Settings) *[]string { return &s.Agent.Command },
		"The program and its arguments, without a shell. Must be given for exec.").
		shown("[hermes, acp] for acp").widening().hidden(),
	row("agent.secrets", listOf("list of names", 64, true, secretName), nil, AgentReplaced,
		func(s *Settings) *[]string { return &s.Agent.Secrets },
		"Names of sealed values that the agent gets in its environment.").
		shown("[]").widening(),
	row("agent.env", environment(128), nil, AgentReplaced,
		func(s *Settings) *map[string]string { return &s.Agent.Env },
		"Further variables of the agent's environment; nothing secret belongs here.").
		shown("{}").widening().hidden(),
	row("agent.idle_stop", duration(0, 24*time.Hour, "never"), 15*time.Minute, Live,
		func(s *Settings) *time.Duration { return &s.Agent.IdleStop },
		"An agent that nobody asked for this long is stopped, and started again when needed.").widening(),
	row("agent.approval_timeout", duration(10*time.Second, 30*time.Minute, ""), 55*time.Second, Live,
		func(s *Settings) *time.Duration { return &s.Agent.ApprovalTimeout },
		"How long a request waits for a person before it is refused.").widening(),

	row("reply", word("same", "thread"), "same", Live,
		func(s *Settings) *string { return &s.Reply },
		"Where a question that stands in no thread is answered: beside it, or in a thread of its own."),
	row("context.messages", count(0, 100), 20, Live,
		func(s *Settings) *int { return &s.Context.Messages },
		"How many earlier messages of the room the agent is shown."),
	row("context.chars", count(0, 100000), 20000, Live,
		func(s *Settings) *int { return &s.Context.Chars },
		"How many characters of them at most."),

	row("limits.queue", count(1, 200), 20, Live,
		func(s *Settings) *int { return &s.Limits.Queue },
		"How many questions wait in a conversation; the running one does not count."),
	row("limits.age", duration(time.Minute, 24*time.Hour, ""), 10*time.Minute, Live,
		func(s *Settings) *time.Duration { return &s.Limits.Age },
		"A message older than this is not answered when it comes in live."),
	row("limits.catch_up", duration(0, 24*time.Hour, "never"), time.Hour, Live,
		func(s *Settings) *time.Duration { return &s.Limits.CatchUp },
		"How far back messages are answered that came while the bot was away."),
	row("limits.catch_up_messages", count(0, 5000), 500, Live,
		func(s *Settings) *int { return &s.Limits.CatchUpMessages },
		"How many of them at most."),
	row("limits.answer_age", duration(time.Minute, 24*time.Hour, ""), time.Hour, Live,
		func(s *Settings) *time.Duration { return &s.Limits.AnswerAge },
		"An answer that could not be posted within this time is given up as late."),
	row("limits.answers_per_hour", count(1, 10000), 120, Live,
		func(s *Settings) *int { return &s.Limits.AnswersPerHour },
		"Answers to one person in an hour."),
	row("limits.file_bytes", size(1<<10, 10<<30, ""), 25<<20, Live,
		func(s *Settings) *int64 { return &s.Limits.FileBytes },
		"The largest file taken in or given out."),
	row("limits.download_bytes", size(1<<10, 100<<30, ""), 250<<20, Live,
		func(s *Settings) *int64 { return &s.Limits.DownloadBytes },
		"The most that downloads of a profile take up at one time."),
	row("limits.memory", size(64<<20, 4<<40, "none"), 0, NextStart,
		func(s *Settings) *int64 { return &s.Limits.Memory },
		"Memory of the channel and its agent, where a cgroup or a resource limit can hold it.").shown("–"),

	row("health.silence", duration(time.Second, 70*time.Second, ""), 70*time.Second, Live,
		func(s *Settings) *time.Duration { return &s.Health.Silence },
		"A connection without a frame for this long is dead. Anything but 70s is warned of."),
	row("health.ping", duration(time.Second, 70*time.Second, ""), 25*time.Second, Live,
		func(s *Settings) *time.Duration { return &s.Health.Ping },
		"After this long without a frame the server is pinged. Must be shorter than health.silence."),
	row("health.check", duration(5*time.Second, time.Hour, ""), 5*time.Minute, Live,
		func(s *Settings) *time.Duration { return &s.Health.Check },
		"How often the token and the hearing are proved over REST."),

	row("tls.ca_file", checkedText("path", "", pathFault), "", NewConnection,
		func(s *Settings) *string { return &s.CAFile },
		"Certificates, in PEM, that the server's is trusted by besides the host's: a file of the home's owner; a relative path begins at the home.").
		shown("–"),
	row("proxy", checkedText("URL", "http:// or https://, host and port", proxyFault), "", NewConnection,
		func(s *Settings) *string { return &s.Proxy },
		"An HTTP proxy that the server is reached through by CONNECT. The environment's proxy is ignored.").
		shown("–"),
}

var argument = checkedText("text", "", func(s string) string {
	if strings.ContainsRune(s, 0) {
		return "must not hold a zero byte"
	}
	if len(s) > 8<<10 {
		return "an argument is longer than 8 KiB"
	}
	return ""
})

var secretName = checkedText("name", "names under `values` in the envelope", envNameFault)

func pathFault(s string) string {
	switch {
	case s == "":
		return "is empty; leave the key out instead"
	case len(s) > 4096 || strings.ContainsFunc(s, unicode.IsControl):
		return "is no path"
	}
	return ""
}

// proxyFault refuses a password in the address: this file is not sealed.
func proxyFault(s string) string {
	u, err := url.Parse(s)
	if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
		return "must be a URL such as http://proxy.example.org:3128"
	}
	port, err := strconv.ParseUint(u.Port(), 10, 16)
	switch {
	case u.User != nil:
		return "must not hold a name or password: this file is not sealed"
	case u.Path != "" && u.Path != "/" || u.RawQuery != "" || u.Fragment != "" || u.ForceQuery:
		return "must be a host and port alone"
	case u.Port() != "" && (err != nil || port == 0) || strings.HasSuffix(u.Host, ":"):
		return "has a port that is none"
	case net.ParseIP(u.Hostname()) == nil && strings.ContainsFunc(u.Hostname(), notHostname):
		return "has a host that is none"
	}
	return ""
}

func notHostname(c rune) bool {
	return c > unicode.MaxASCII || !unicode.IsLetter(c) && !unicode.IsDigit(c) && c != '-' && c != '.' && c != '_'
}

// DefaultSettings are the settings of a channel.yaml that says nothing. They
// lack agent.kind, which has no default.
func DefaultSettings() Settings { return settingsKeys.defaults() }

// ParseSettings reads a channel.yaml. Errors are [*FileError] and call the
// file what file says.
func ParseSettings(file string, data []byte) (Settings, error) {
	s, _, err := parseSettings(file, data, DefaultSettings())
	return s, err
}

// ParseSettings reads a channel.yaml on top of the host's defaults.
func (h Host) ParseSettings(file string, data []byte) (Settings, error) {
	s, _, err := parseSettings(file, data, h.defaults())
	return s, err
}

// parseSettings reads a channel.yaml on top of what holds without it, and
// tells on which line each of its keys stands.
func parseSettings(file string, data []byte, defaults Settings) (Settings, map[string]int, error) {
	r := &report{file: file}
	root := parseDocument(r, data)
	if err := r.err(); err != nil {
		return Settings{}, nil, err
	}
	defaults.Agent = cloneAgent(defaults.Agent)
	s, lines := settingsKeys.decode(r, root, defaults)
	checkSettings(r, &s, lines, root)
	if err := r.err(); err != nil {
		return Settings{}, nil, err
	}
	return s, lines, nil
}

// checkSettings holds the rules between keys.
func checkSettings(r *report, s *Settings, lines map[string]int, root *yaml.Node) {
	if s.Agent.Kind == "" && lines["agent.kind"] == 0 {
		what := "agent.kind is missing: write agent: and below it kind: with " + orList(agentKinds)
		if root == nil {
			what = "the file is empty; " + what
		}
		r.add(0, "", "%s", what)
	}
	switch {
	case s.Agent.Kind == "acp" && lines["agent.command"] == 0 && s.Agent.Command == nil:
		s.Agent.Command = append([]string(nil), defaultCommand...)
	case s.Agent.Kind == "exec" && lines["agent.command"] == 0 && s.Agent.Command == nil:
		r.add(lines["agent.kind"], "agent.command", "is missing: an exec agent needs the program to run, such as [./answer]")
	case lines["agent.command"] != 0 && len(r.problems) == 0 && (len(s.Agent.Command) == 0 || s.Agent.Command[0] == ""):
		r.add(lines["agent.command"], "agent.command", "must begin with a program")
	}
	for _, name := range s.Agent.Secrets {
		if _, twice := s.Agent.Env[name]; twice {
			r.add(lines["agent.secrets"], "agent.secrets", "a name stands under agent.env too; which one is meant?")
			break
		}
	}
	if s.Health.Ping >= s.Health.Silence {
		line := max(lines["health.silence"], lines["health.ping"])
		r.add(line, "health.ping", "is %s and must be shorter than health.silence, which is %s",
			showDuration(s.Health.Ping), showDuration(s.Health.Silence))
	}
}
