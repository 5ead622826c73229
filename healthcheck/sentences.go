package healthcheck

// This file is every sentence that a person reads about a profile's state. The
// words in braces are filled in by Explain: {profile} {other} {server} {home};
// {url} and {dir} are the server and the home as words of a command, and {in} is how long it is until the planned time.
//
// A sentence says what is so, never what was written or which token; a command
// is given whole, so that it can be copied.

// A saying is how a reason is told: in a few words for a list, and as a
// sentence.
type saying struct {
	title string
	why   string
}

// sayings tell every reason, and "" for none.
var sayings = map[Reason]saying{
	"": {"", "Nothing has ended since the supervisor started."},

	Silent:      {"socket silent", "No frame came over the connection for as long as health.silence allows."},
	Deaf:        {"socket deaf", "Frames came over the connection, but a message that the server has did not."},
	Closed:      {"closed by server", "The server closed the connection."},
	Dropped:     {"connection broken", "The server answered, but the connection broke a rule or took too long to be ready."},
	Unreachable: {"server unreachable", "No connection to {server} came about."},
	RateLimited: {"rate-limited", "{server} asked for time before the next attempt."},
	Refused:     {"token refused", "{server} refused the token, and /api/v1/me confirmed it."},
	Identity:    {"token of another bot", "The token belongs to another user than the one it was sealed for."},

	Crashed: {"worker crashed", "The worker ended without being told to."},
	Hung:    {"worker hung", "The worker stopped answering."},
	Busy:    {"home in use", "Another process holds the lock of {home}."},

	Unsealed:   {"nothing to unseal", "rocketchat/secrets.age is missing, damaged, sealed for another profile, or no identity here opens it."},
	BadConfig:  {"bad configuration", "The home or a file in it can't be used as it is."},
	Duplicate:  {"bot already in use", "This bot is in use by {other}."},
	Moved:      {"home moved", "The home, or its owner, is another than the one this name had."},
	Rebound:    {"another server or bot", "The sealed server or bot is another than the one this profile last logged in to."},
	RolledBack: {"old secrets", "rocketchat/secrets.age is older than the one this profile last ran with."},
	Suspended:  {"suspended", "An administrator suspended it."},
	Gone:       {"home gone", "The home is no longer there."},
	NameTaken:  {"name taken", "Another home has this name, or the name is one that Hermes reserves."},
	LedgerLost: {"ledger lost", "The supervisor's ledger and its copy can't be read, so nothing runs until it is started anew."},
	Operator:   {"by a person", "A person stopped or restarted it."},
	Reload:     {"by a file", "A changed file stopped or restarted it."},
}

// A course is what comes next, when, and the command that mends it or tells
// more, "" where nothing needs mending. server is the when of one that waits
// for its server.
type course struct {
	what   string
	why    string // "": as the reason is told
	next   string
	when   string
	server string
	action string
}

// A pair is a state and why.
type pair struct {
	state  State
	reason Reason
}

const (
	byClock = "in {in}"
	byFile  = "when a file in {home}/rocketchat changes"

	look    = "rcsupervisor logs {profile}"
	hurry   = "rcsupervisor restart {profile}"
	begin   = "rcsupervisor start {profile}"
	inspect = "rcsupervisor check {profile}"
	adopt   = "rcsupervisor adopt {profile}"
	retoken = "rcsupervisor secret {profile} set token"
)

// courses by state are what holds whatever the reason.
var courses = map[State]course{
	Off:         {what: "{profile} is off.", next: "It stays off.", when: "until it is started", action: begin},
	Starting:    {what: "{profile} is starting.", next: "It connects.", when: "as soon as its worker is ready"},
	Connecting:  {what: "{profile} is connecting to {server}.", next: "It goes online.", when: "within 30 s of the dial, or it is tried again"},
	Online:      {what: "{profile} is online.", next: "It stays online.", when: "as long as frames come and the token is taken"},
	Backoff:     {what: "{profile} waits before it is tried again.", next: "The next try.", when: byClock, action: hurry},
	NeedsToken:  {what: "{profile} needs a token.", next: "It connects.", when: byFile, action: retoken},
	NeedsConfig: {what: "{profile} needs its configuration mended.", next: "It starts.", when: byFile, action: inspect},
	Held:        {what: "{profile} is held back.", next: "It starts.", when: "when it is freed", action: adopt},
	Stopping:    {what: "{profile} is stopping.", next: "Its run ends.", when: "within 15 s, or it is ended by force"},
}

// exceptions are the courses of single pairs; an empty field is as in courses.
var exceptions = map[pair]course{
	{Off, ""}:     {what: "{profile} was not started yet."},
	{Off, Reload}: {why: "{home}/rocketchat/channel.yaml says enabled: false.", next: "It starts.", when: "when it says enabled: true", action: inspect},
	{Off, Gone}:   {next: "It leaves the list; what the ledger knows of it stays.", when: "now", action: "rcsupervisor remove {profile}"},

	{Backoff, Silent}:      {next: "It connects again."},
	{Backoff, Deaf}:        {next: "It connects again; what it missed is caught up."},
	{Backoff, Closed}:      {next: "It connects again."},
	{Backoff, Dropped}:     {next: "It connects again.", action: look},
	{Backoff, Unreachable}: {next: "It connects again.", server: "when the server answers; it is asked every few seconds", action: inspect},
	{Backoff, RateLimited}: {next: "It connects again."},
	{Backoff, Refused}: {
		next:   "It logs in again, with the sealed file read anew.",
		server: "when another profile of this server logs in, in {in} at the latest: several were refused at once, so it may be the server",
		action: retoken,
	},
	{Backoff, Crashed}: {next: "A new worker starts.", action: look},
	{Backoff, Hung}:    {next: "A new worker starts.", action: look},
	{Backoff, Busy}:    {next: "The lock is tried again.", action: "rcsupervisor doctor"},

	{NeedsToken, Refused}:  {next: "The token is tried again.", when: "in {in}, and at once when {home}/rocketchat/secrets.age changes"},
	{NeedsToken, Unsealed}: {next: "It starts.", when: "when {home}/rocketchat/secrets.age or the identity changes", action: "rcsupervisor add {profile} --server {url}"},

	{Held, Duplicate}:  {when: "when {other} lets go of the bot, or this profile has another one", action: "rcsupervisor stop {other}"},
	{Held, Identity}:   {when: "when a token of the sealed bot is set", action: retoken},
	{Held, Moved}:      {when: "when it is adopted, or is back where it was"},
	{Held, Rebound}:    {when: "when it is adopted, or its old bot is sealed again"},
	{Held, RolledBack}: {when: "when it is adopted, or newer secrets are sealed"},
	{Held, Suspended}:  {when: "when an administrator resumes it", action: "rcsupervisor resume {profile}"},
	{Held, NameTaken}:  {when: "when its folder has another name, or it is given one", action: "rcsupervisor run --home NAME={dir}"},
	{Held, LedgerLost}: {when: "when it is started", action: begin},
	{Held, Hung}: {
		what:   "{profile} hangs and can't be ended in shared isolation.",
		next:   "It goes on as told.",
		when:   "when its run ends, or the supervisor is started again",
		action: "rcsupervisor run --isolation process",
	},

	{Stopping, Operator}: {next: "It goes on as asked."},
	{Stopping, Reload}:   {next: "It goes on as its file says."},
	{Stopping, Gone}:     {next: "It leaves the list."},
}

// flapping is what is said, instead, of one that flaps.
var flapping = course{
	what:   "{profile} keeps failing: more than 6 ends in 10 min, so it is tried every 5 min only.",
	action: look,
}

// alone replaces the action of a duplicate whose other isn't to be named, or
// isn't a profile.
const alone = "rcsupervisor doctor"

// Possible reports whether a profile can be in state s for reason r.
func Possible(s State, r Reason) bool {
	switch s {
	case Starting, Connecting, Online:
		return r == "" || r.IsEnd()
	case Stopping:
		return r == Operator || r == Reload || r.IsHold()
	}
	_, ok := exceptions[pair{s, r}]
	return ok || pair{s, r} == pair{Off, Operator} || pair{s, r} == pair{NeedsConfig, BadConfig}
}
