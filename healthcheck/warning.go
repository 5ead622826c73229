package healthcheck

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// A Warning is something a person should know of a profile that runs all the
// same. Code is stable, Text one sentence.
type Warning struct {
	Code string `json:"code"`
	Text string `json:"text"`
}

// A Severity says how much a warning matters.
type Severity int

// The severities.
const (
	Low    Severity = iota // good to know
	Medium                 // something works less well than it should
	High                   // somebody may see, do or lose what he should not
)

// A Warnable is a warning that can be given: its code, which is part of the
// contract, and all that is said of it.
type Warnable struct {
	Code     string
	Title    string // a few words, for a list
	Severity Severity
	// Lasting is how long it must have held before a person sees it: what
	// mends itself within that time is noise.
	Lasting time.Duration

	text   string // one sentence; {profile}, {other} and {home} are filled in
	action string // the command that mends it or tells more
}

// warnables are all there are, in the order of the contract.
var warnables = []Warnable{
	{
		Code: "one-uid", Title: "one user for several profiles", Severity: High,
		text:   "The agents of several profiles run as one user: each can read the other profiles' homes and end their processes.",
		action: "rcsupervisor doctor",
	},
	{
		Code: "shared-memory", Title: "memory shared between people", Severity: High,
		text:   "The agent's memory is on and more than one person can reach this bot: what one tells it, it may tell another.",
		action: "rcsupervisor people {profile}",
	},
	{
		Code: "approvals-not-manual", Title: "approvals not manual", Severity: High,
		text:   "approvals.mode in config.yaml is not manual: the agent runs dangerous commands without asking an owner.",
		action: "rcsupervisor check {profile}",
	},
	{
		Code: "no-toolset", Title: "no toolset set", Severity: Medium,
		text:   "config.yaml sets no toolset for this channel, so the agent has all of its tools.",
		action: "rcsupervisor check {profile}",
	},
	{
		Code: "permanent-allowlist", Title: "commands allowed for ever", Severity: High,
		text:   "command_allowlist in config.yaml is not empty: what it holds runs without asking, whoever wrote.",
		action: "rcsupervisor check {profile}",
	},
	{
		Code: "admin-token", Title: "token of an administrator", Severity: High,
		text:   "The bot's token has administrator rights on its server; a bot needs none.",
		action: "rcsupervisor secret {profile} set token",
	},
	{
		Code: "references-allowed", Title: "context references allowed", Severity: High,
		text:   "allow_context_references is on: an owner's message can make the agent read files and fetch addresses.",
		action: "rcsupervisor check {profile}",
	},
	{
		Code: "limiter-not-exempt", Title: "held back by the server's limits", Severity: Medium, Lasting: 5 * time.Minute,
		text:   "The server limits how fast this bot may ask and post; with the permission api-bypass-rate-limit it would not.",
		action: "rcsupervisor check {profile}",
	},
	{
		Code: "clock", Title: "clocks differ", Severity: Medium, Lasting: time.Minute,
		text:   "This host's clock and the server's differ by more than 2 min.",
		action: "rcsupervisor doctor",
	},
	{
		Code: "store", Title: "store can't be written", Severity: High,
		text:   "The profile's dedup.db was damaged or can't be written; while it can't, no message is taken in, and all are caught up later.",
		action: "rcsupervisor doctor",
	},
	{
		Code: "capped", Title: "a setting cut to the host's ceiling", Severity: Low,
		text:   "A setting in channel.yaml is above what this host allows, and was cut to it.",
		action: "rcsupervisor plan",
	},
	{
		Code: "pending", Title: "a change waits to be accepted", Severity: Medium,
		text:   "A file was changed to give more than before; that waits until a person accepts it.",
		action: "rcsupervisor accept {profile}",
	},
	{
		Code: "name-taken", Title: "name taken", Severity: Medium,
		text:   "A home has no name of its own, because another has it or Hermes reserves it.",
		action: "rcsupervisor run --home NAME={dir}",
	},
	{
		Code: "ledger-lost", Title: "ledger lost", Severity: High,
		text:   "The supervisor's ledger and its copy can't be read: what was last started, adopted or suspended is not known.",
		action: "rcsupervisor start {profile}",
	},
	{
		Code: "agent-failing", Title: "agent does not start", Severity: High,
		text:   "The bot is online, but its agent could not be started five times in a row, so nobody is answered.",
		action: "rcsupervisor logs {profile}",
	},
	{
		Code: "stale-recipients", Title: "sealed for other recipients", Severity: Medium,
		text:   "rocketchat/secrets.age is sealed for other recipients than this host's recipients.txt names.",
		action: "rcsupervisor reseal {profile}",
	},
	{
		Code: "plain-token", Title: "a token in plain text", Severity: High, Lasting: 5 * time.Second,
		text:   "A Rocket.Chat token lies unsealed in the home's .env or config.yaml.",
		action: "rcsupervisor import {profile} --scrub",
	},
	{
		Code: "silence-changed", Title: "silence is not 70 s", Severity: Low,
		text:   "health.silence is not 70 s: a dead connection is found earlier or later than is usual.",
		action: "rcsupervisor check {profile}",
	},
	{
		Code: "polling", Title: "files watched by polling", Severity: Low, Lasting: 30 * time.Second,
		text:   "inotify can't be used, so changed files are seen at the next look, up to 30 s late.",
		action: "rcsupervisor doctor",
	},
}

// Warnables returns every warning that can be given, in the order of the
// contract.
func Warnables() []Warnable { return slices.Clone(warnables) }

// Lookup returns the warnable with the given code.
func Lookup(code string) (w Warnable, ok bool) {
	for _, w := range warnables {
		if w.Code == code {
			return w, true
		}
	}
	return Warnable{}, false
}

// Warn is the warning with the given code, of a profile. Detail, if any, is
// what was found, without secrets: a figure, a key, a version. A code that
// isn't registered is a defect of the caller, and panics.
func Warn(code string, f Facts, detail string) Warning {
	w, ok := Lookup(code)
	if !ok {
		panic("healthcheck: no warning has the code " + code)
	}
	text := fillNames(f).Replace(w.text)
	if detail != "" {
		text += " (" + oneLine(detail) + ")"
	}
	return Warning{Code: code, Text: text}
}

// Action is the command that mends it or tells more, for a profile.
func (w Warnable) Action(f Facts) string { return fillNames(f).Replace(w.action) }

// Visible reports whether a person sees it that has held since then.
func (w Warnable) Visible(since, now time.Time) bool {
	return !since.IsZero() && now.Sub(since) >= w.Lasting
}

// SortWarnings puts the weightiest first, and equals in the order of their
// codes. Unknown codes, of a newer worker, come last.
func SortWarnings(ws []Warning) {
	weight := func(w Warning) Severity {
		if k, ok := Lookup(w.Code); ok {
			return k.Severity
		}
		return Low - 1
	}
	slices.SortStableFunc(ws, func(a, b Warning) int {
		return cmp.Or(cmp.Compare(weight(b), weight(a)), strings.Compare(a.Code, b.Code))
	})
}
