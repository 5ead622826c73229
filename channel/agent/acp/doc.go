// Package acp answers questions with any program that speaks the Agent Client
// Protocol, version 1, over its standard input and output
// (https://agentclientprotocol.com).
//
// One [Agent] belongs to one profile. It has at most one process, started when
// the first question comes and ended when it was idle for long enough: a Hermes
// home must not have several writers. Each conversation is a session of its own
// with a working directory of its own, one question at a time. The ids of
// sessions outlive the process (state/agent.json), so that a conversation goes
// on where the agent can take it up again, and is told where it can't.
//
// One goroutine reads what the agent writes and hands everything on in its
// order, without ever waiting: updates and requests for permission can't
// overtake each other, and a slow reader of one turn holds up no other. Nothing
// is advertised that isn't done: no file system, no terminal, no forms. What is
// unknown is ignored or refused, never fatal.
//
// An agent is another's program, and is not trusted: lines, text, requests and
// time are bounded; a request for permission is handed on whole or refused; and
// what the agent says in an error is not repeated to people.
//
// What is known of real agents is in the tests: whole turns with the protocol's
// own example and with Codex, and with a scripted stand-in for each generation
// of `hermes acp`. A large agent, opencode, is tried with
//
//	go test -tags opencode -run OpenCode ./channel/agent/acp
package acp
