package acp

import (
	"encoding/json"
	"fmt"
)

// protocolVersion is the only one spoken. Version 2 is a draft.
const protocolVersion = 1

// The methods we call and answer to.
const (
	mInitialize = "initialize"
	mLogin      = "authenticate"
	mNew        = "session/new"
	mLoad       = "session/load"
	mResume     = "session/resume"
	mClose      = "session/close"
	mPrompt     = "session/prompt"
	mCancel     = "session/cancel"
	mUpdate     = "session/update"
	mPermission = "session/request_permission"
	mWithdraw   = "$/cancel_request"
)

// The codes of JSON-RPC and of the protocol that something is decided by.
const (
	codeNoMethod  = -32601
	codeParams    = -32602
	codeInternal  = -32603
	codeAuth      = -32000
	codeNoSession = -32002
	codeCancelled = -32800
)

// A frame is any message in either direction.
type frame struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id,omitempty"`
	Method  string          `json:"method,omitempty"`
	Params  json.RawMessage `json:"params,omitempty"`
	Result  json.RawMessage `json:"result,omitempty"`
	Error   *rpcError       `json:"error,omitempty"`
}

// An rpcError is an agent's answer that isn't one. It prints its code alone:
// message and data may quote what was asked.
type rpcError struct {
	Code    int             `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data,omitempty"`
}

func (e *rpcError) Error() string { return fmt.Sprintf("the agent answered with error %d", e.Code) }

type object = map[string]any

// initialized is what we read of the answer to initialize.
type initialized struct {
	Version int `json:"protocolVersion"`
	Caps    struct {
		Load   bool `json:"loadSession"`
		Prompt struct {
			Image bool `json:"image"`
		} `json:"promptCapabilities"`
		Session struct {
			Resume *struct{} `json:"resume"`
			Close  *struct{} `json:"close"`
		} `json:"sessionCapabilities"`
	} `json:"agentCapabilities"`
	Info struct {
		Name    string `json:"name"`
		Version string `json:"version"`
	} `json:"agentInfo"`
	Auth []authMethod `json:"authMethods"`
}

type sessionCreated struct {
	ID string `json:"sessionId"`
}

type prompted struct {
	Stop string `json:"stopReason"`
}

// The reasons for which an agent stops.
const (
	stopEnd       = "end_turn"
	stopTokens    = "max_tokens"
	stopRequests  = "max_turn_requests"
	stopRefusal   = "refusal"
	stopCancelled = "cancelled"
)

// A notice is the params of session/update.
type notice struct {
	Session string `json:"sessionId"`
	Update  update `json:"update"`
}

// An update is the fields of all kinds that we read.
type update struct {
	Kind      string          `json:"sessionUpdate"`
	Content   json.RawMessage `json:"content"` // a block, or a tool call's list
	MessageID string          `json:"messageId"`
	toolCall
}

// A toolCall is what is known of one; a later update replaces what it names.
type toolCall struct {
	ID        string          `json:"toolCallId"`
	Title     string          `json:"title"`
	Kind      string          `json:"kind"`
	Input     json.RawMessage `json:"rawInput"`
	Locations []location      `json:"locations"`
}

type location struct {
	Path string `json:"path"`
}

// A block is one piece of content.
type block struct {
	Type string `json:"type"`
	Text string `json:"text,omitempty"`
	Data string `json:"data,omitempty"`
	Mime string `json:"mimeType,omitempty"`
	URI  string `json:"uri,omitempty"`
}

// An asking is the params of session/request_permission.
type asking struct {
	Session string `json:"sessionId"`
	Call    struct {
		toolCall
		Content json.RawMessage `json:"content"`
	} `json:"toolCall"`
	Options []option `json:"options"`
}

type option struct {
	ID   string `json:"optionId"`
	Name string `json:"name"`
	Kind string `json:"kind"`
}
