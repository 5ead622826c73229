package acp

import (
	"errors"
	"strings"

	"rcsupervisor/channel/agent"
)

// What people are told. None of it quotes the question or the agent.
const (
	sayBroken   = "I can't answer: the agent behind me does not start. Whoever runs me can see why."
	sayEnded    = "The agent behind me ended in the middle of this. Please ask again; I start it anew."
	saySlow     = "The agent behind me took too long, so I stopped it."
	sayLogin    = "I can't answer: the agent behind me has to be logged in first. Whoever runs me has to see to that."
	sayFailed   = "The agent behind me failed at this. Please try again; `!new` begins anew if it goes on."
	sayRefused  = "The agent behind me would not answer that."
	sayStopped  = "The agent behind me stopped before it had an answer."
	sayDiscard  = "Hermes holds this conversation back: a turn of it was lost when its gateway restarted. Whoever runs me can `/discard` it in a terminal; `!new` begins anew."
	sayLost     = "(The agent no longer knows what we said here before, so this begins anew.)"
	sayTokens   = "\n\n(The agent stopped here: the answer had become as long as it may.)"
	sayRequests = "\n\n(The agent stopped here: it had taken as many steps as it may.)"
)

var (
	errStopped = errors.New("the turn was cancelled")
	errSlow    = errors.New("the agent took too long")
	errShared  = errors.New("the agent gave two conversations the same session")
)

// told makes of an error one that says what its asker may be told.
func told(err error) error {
	if agent.Sentence(err) != "" {
		return err
	}
	say := sayFailed
	e, answered := errors.AsType[*rpcError](err)
	switch {
	case errors.Is(err, errEnded):
		say = sayEnded
	case errors.Is(err, errSlow):
		say = saySlow
	case !answered:
		say = sayBroken
	case e.Code == codeAuth:
		say = sayLogin
	case e.mentions("unknown_execution"):
		say = sayDiscard
	}
	return agent.Fail(say, err)
}

// notStarted is told for an agent that did not start.
func notStarted(err error) error {
	if e, ok := errors.AsType[*rpcError](err); agent.Sentence(err) != "" || ok && e.Code == codeAuth {
		return told(err)
	}
	return agent.Fail(sayBroken, err)
}

func (e *rpcError) mentions(words ...string) bool {
	text := strings.ToLower(e.Message + " " + string(e.Data))
	for _, w := range words {
		if strings.Contains(text, w) {
			return true
		}
	}
	return false
}

// gone reports whether an error says that there is no such session: nothing was
// done then, and the question may be asked again elsewhere. Agents disagree
// about the code, so that others count with the words alone. A Hermes that says
// that the outcome is unknown did not say that.
func (e *rpcError) gone() bool {
	switch {
	case e.Code == codeNoSession:
		return true
	case e.mentions("unknown_execution", "outcome is unknown"):
		return false
	}
	return e.mentions("not_found", "session not found", "unknown session", "no such session", "invalid session",
		"session does not exist", "resource not found") || e.mentions("session") && e.mentions("not found")
}
