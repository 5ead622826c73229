package profile

import "time"

// Settings are what channel.yaml says, with defaults filled in.
type Settings struct {
	Enabled bool
	Agent   AgentSettings
	Reply   string // same or thread: where a top-level question is answered
	Context ContextSettings
	Limits  Limits
	Health  Health
	CAFile  string // tls.ca_file
	Proxy   string // an HTTP CONNECT proxy, "" for none
}

// AgentSettings say what answers.
type AgentSettings struct {
	Kind            string // acp, exec or echo
	Command         []string
	Secrets         []string // names under values in the envelope
	Env             map[string]string
	IdleStop        time.Duration // 0: never
	ApprovalTimeout time.Duration
}

// ContextSettings bound what of the room an agent is shown.
type ContextSettings struct {
	Messages int
	Chars    int
}

// Limits bound what a profile takes in and gives out.
type Limits struct {
	Queue           int
	Age             time.Duration
	CatchUp         time.Duration
	CatchUpMessages int
	AnswerAge       time.Duration
	AnswersPerHour  int
	FileBytes       int64
	DownloadBytes   int64
	Memory          int64 // 0: none
}

// Health says when a connection counts as dead.
type Health struct {
	Silence time.Duration
	Ping    time.Duration
	Check   time.Duration
}
