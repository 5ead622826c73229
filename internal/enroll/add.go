package enroll

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"

	"rcsupervisor/channel/dial"
	"rcsupervisor/channel/rest"
	"rcsupervisor/internal/ownerfs"
	"rcsupervisor/internal/supervisor"
	"rcsupervisor/profile"
	"rcsupervisor/sealed"
)

// A Bot is what is to be sealed.
type Bot struct {
	Server string // as typed
	UserID string
	Token  sealed.Secret
}

// A Wish is a bot and the profile it is to live in.
type Wish struct {
	Name    string
	Home    string // see [Place]
	Bot     Bot
	Agent   string   // agent.kind of a new channel.yaml; "" for echo
	Command []string // agent.command
	OwnerID string   // the first owner's user id; "" lets a code decide
	Force   bool     // replace another bot's envelope
}

// A Result says what there is now.
type Result struct {
	Folder     string // what is ours in the home
	Server     string // canonical
	Generation uint64
	MadeFile   bool // channel.yaml was made
	Owned      bool // somebody is an owner
}

// A TokenError says which of the fields is wrong, and how to make it right.
type TokenError struct {
	Field string // server, user id, token
	Text  string
	Try   string
	err   error
}

func (e *TokenError) Error() string { return e.Field + ": " + e.Text }
func (e *TokenError) Unwrap() error { return e.err }

// Hint returns what mends it.
func (e *TokenError) Hint() string { return e.Try }

// makeToken is how a right token is made.
const makeToken = "log in as the bot, My Account → Personal Access Tokens, tick “Ignore Two Factor Authentication”, Add"

// checkTimeout bounds asking a server who a bot is.
const checkTimeout = 30 * time.Second

// Prove asks the server whether the token is the bot's.
func Prove(ctx context.Context, b Bot) (rest.Me, error) {
	server, err := sealed.Server(b.Server)
	if err != nil {
		return rest.Me{}, &TokenError{Field: "server", Text: strings.TrimPrefix(err.Error(), "server address: "), Try: "--server https://chat.example.org", err: err}
	}
	switch {
	case LooksLikeToken(b.UserID):
		return rest.Me{}, &TokenError{Field: "user id", Text: "that is a token; the user id has 17 letters and digits", Try: "give them the other way round"}
	case LooksLikeID(b.Token.Reveal()):
		return rest.Me{}, &TokenError{Field: "token", Text: "that is a user id; the token has 43 characters", Try: "give them the other way round"}
	}
	client, err := rest.New(rest.Config{Server: server, UserID: b.UserID, Token: b.Token, Network: &dial.Network{}})
	if err != nil {
		return rest.Me{}, &TokenError{Field: "user id and token", Text: err.Error(), Try: makeToken, err: err}
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	me, err := client.Me(ctx)
	if err != nil {
		return rest.Me{}, unproven(server, err)
	}
	if me.ID != b.UserID {
		return rest.Me{}, &TokenError{Field: "user id", Text: fmt.Sprintf("the token belongs to @%s, whose user id is %s", me.Username, me.ID), Try: "--user-id " + me.ID}
	}
	return me, nil
}

// unproven says what a failed question means.
func unproven(server string, err error) error {
	switch {
	case errors.Is(err, rest.ErrTwoFactor):
		return &TokenError{Field: "token", Text: "the server asks for a second factor", Try: makeToken, err: err}
	case errors.Is(err, rest.ErrRefused):
		return &TokenError{Field: "user id or token", Text: "the server takes neither of them together", Try: makeToken, err: err}
	case errors.Is(err, rest.ErrNotJSON), errors.Is(err, rest.ErrRedirected), errors.Is(err, rest.ErrNoRoute):
		return &TokenError{Field: "server", Text: "what answers at " + server + " is no Rocket.Chat: " + err.Error(), Try: "the address as in the browser, with its path if it has one", err: err}
	}
	return &TokenError{Field: "server", Text: err.Error(), Try: "curl " + server + "/api/info", err: err}
}

// Seal makes what of a home is missing and seals the bot into it. It is right
// to repeat it after any failure. channel.yaml, which makes a home take part,
// comes last.
func Seal(w Wish, k *sealed.Keyring) (Result, error) {
	server, err := sealed.Server(w.Bot.Server)
	if err != nil {
		return Result{}, err
	}
	dir, err := open(w.Home)
	if err != nil {
		return Result{}, err
	}
	defer dir.Close()
	settings, err := settingsFor(w, dir)
	if err != nil {
		return Result{}, err
	}
	store := sealed.Store{Folder: supervisor.Sealed(dir), Profile: w.Name}
	envelope := sealed.Envelope{Server: server, UserID: w.Bot.UserID, Token: w.Bot.Token}
	if was, err := store.Read(k.Identity()); err == nil && (was.Server == server && was.UserID == w.Bot.UserID) {
		envelope.Keys, envelope.Values = was.Keys, was.Values // a new token of the same bot
	}
	sealedNow, err := store.Write(envelope, k, sealed.WriteOptions{Force: w.Force})
	if err != nil {
		return Result{}, err
	}
	res := Result{Folder: dir.Path(), Server: server, Generation: sealedNow.Generation}
	if res.Owned, err = w.owner(dir); err != nil {
		return res, err
	}
	if settings != nil {
		res.MadeFile = true
		err = dir.ReplaceFile(profile.SettingsFile, settings, 0o644, func(b []byte) error {
			_, err := profile.ParseSettings(profile.SettingsFile, b)
			return err
		})
	}
	return res, err
}

// settingsFor returns a new channel.yaml, nil where there is one that can be
// read.
func settingsFor(w Wish, dir *ownerfs.Dir) ([]byte, error) {
	path := filepath.Join(dir.Path(), profile.SettingsFile)
	data, _, err := dir.ReadFile(profile.SettingsFile, profile.MaxFile)
	if err == nil {
		_, err = profile.ParseSettings(path, data)
		return nil, err
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	kind := w.Agent
	if kind == "" {
		kind = "echo"
	}
	agent := map[string]any{"kind": kind}
	if len(w.Command) > 0 {
		agent["command"] = w.Command
	}
	body, err := yaml.Marshal(map[string]any{"agent": agent})
	if err != nil {
		return nil, err
	}
	text := append([]byte("# What answers, and within which bounds. Every key: rcsupervisor's README.\n"), body...)
	if _, err := profile.ParseSettings(path, text); err != nil {
		return nil, err
	}
	return text, nil
}

// owner lets the first owner in, and reports whether there is one.
func (w Wish) owner(dir *ownerfs.Dir) (bool, error) {
	if w.OwnerID != "" {
		_, err := profile.WriteAccess(w.Home, profile.LetIn(profile.Person{ID: w.OwnerID, Role: profile.Owner}))
		return err == nil, err
	}
	data, _, err := dir.ReadFile(profile.AccessFile, profile.MaxFile)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	access, err := profile.ParseAccess(filepath.Join(dir.Path(), profile.AccessFile), data)
	if err != nil {
		return false, err
	}
	for _, p := range access.People {
		if p.Role == profile.Owner {
			return true, nil
		}
	}
	return false, nil
}
