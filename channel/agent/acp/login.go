package acp

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"unicode"

	"rcsupervisor/channel/agent"
)

// Bounds of what is said of the ways in which an agent can be logged in.
const (
	maxWays = 6
	maxWay  = 60 // characters of one's name
)

// An authMethod is one way in which an agent can be logged in. Of the type
// env_var are those that need nothing but variables which it was started with.
type authMethod struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	Type string `json:"type"`
	Vars []struct {
		Name     string `json:"name"`
		Optional bool   `json:"optional"`
	} `json:"vars"`
}

// asks calls a method that begins or takes up a session. An agent that wants to
// be logged in first is, if it has the variables for it, and called again.
func (a *Agent) asks(ctx context.Context, c *conn, method string, params, result any) error {
	err := c.call(ctx, method, params, result)
	if !wantsLogin(err) {
		return err
	}
	if a.login(ctx, c) {
		if err = c.call(ctx, method, params, result); !wantsLogin(err) {
			return err
		}
	}
	return a.loggedOut(c, err)
}

func wantsLogin(err error) bool {
	e, ok := errors.AsType[*rpcError](err)
	return ok && e.Code == codeAuth
}

// login logs the agent in by the first way that needs nobody, once in a process,
// and reports whether that was done.
func (a *Agent) login(ctx context.Context, c *conn) bool {
	select {
	case c.login <- struct{}{}: // one at a time
		defer func() { <-c.login }()
	case <-ctx.Done():
		return false
	}
	if c.tried {
		return c.logged
	}
	c.tried = true
	for _, m := range c.info.Auth {
		if m.Type != "env_var" || !m.ready(c.vars) {
			continue
		}
		if err := c.call(ctx, mLogin, object{"methodId": m.ID}, nil); err == nil {
			c.logged = true
			a.config.Log.Info("the agent was logged in with the variables that it has", "variables", m.names())
			return true
		}
		c.mu.Lock()
		c.untook = append(c.untook, m.names())
		c.mu.Unlock()
	}
	return false
}

// ready reports whether all variables that a way needs are set, and any is.
func (m authMethod) ready(set map[string]bool) bool {
	any := false
	for _, v := range m.Vars {
		if !set[v.Name] && !v.Optional {
			return false
		}
		any = any || set[v.Name]
	}
	return any
}

// names are a way's variables.
func (m authMethod) names() string {
	var names []string
	for _, v := range m.Vars {
		if !v.Optional {
			names = append(names, wayName(v.Name))
		}
	}
	return strings.Join(names, " ")
}

// loggedOut is the failure of an agent that has to be logged in by somebody.
func (a *Agent) loggedOut(c *conn, err error) error {
	err = agent.Fail(sayLogin, &loggedOutError{say: c.ways(a.config.Profile), err: err})
	a.mu.Lock()
	defer a.mu.Unlock()
	a.fail(err)
	return err
}

// A loggedOutError says what has to be done, and ends in the command that does it.
type loggedOutError struct {
	say string
	err error // the agent's
}

func (e *loggedOutError) Error() string { return e.say }

func (e *loggedOutError) Unwrap() error { return e.err }

// ways says how an agent can be logged in, and what does it.
func (c *conn) ways(profile string) string {
	var names []string
	seal := ""
	for _, m := range c.info.Auth {
		if name := wayName(m.Name); name != "" && len(names) < maxWays {
			names = append(names, name)
		}
		if m.Type == "env_var" && m.names() != "" && seal == "" {
			seal, _, _ = strings.Cut(m.names(), " ")
		}
	}
	c.mu.Lock()
	untook := strings.Join(c.untook, " or ")
	c.mu.Unlock()
	var b strings.Builder
	b.WriteString("the agent has to be logged in first")
	if untook != "" {
		b.WriteString(", and did not take " + untook)
	}
	if len(names) > 0 {
		b.WriteString("; it offers: " + strings.Join(names, ", "))
	}
	b.WriteString("; log in with its own command as the owner of the home")
	if seal != "" {
		fmt.Fprintf(&b, ", or name %s under agent.secrets and try: rcsupervisor secret %s set %s", seal, profile, seal)
	}
	return b.String()
}

// wayName is a name of the agent's as it goes into a line of ours.
func wayName(s string) string {
	s = strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) && r != ',' && r != ';' {
			return r
		}
		return ' '
	}, strings.ToValidUTF8(s, ""))
	s = strings.Join(strings.Fields(s), " ")
	if r := []rune(s); len(r) > maxWay {
		return string(r[:maxWay-1]) + "…"
	}
	return s
}
