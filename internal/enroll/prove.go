package enroll

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"rcsupervisor/channel/dial"
	"rcsupervisor/channel/rest"
	"rcsupervisor/internal/ownerfs"
	"rcsupervisor/profile"
	"rcsupervisor/sealed"
)

// A Bot is what is to be sealed.
type Bot struct {
	Server string // as typed
	UserID string
	Token  sealed.Secret
}

// makeToken is how a right token is made.
const makeToken = "log in as the bot, My Account → Personal Access Tokens, tick “Ignore Two Factor Authentication”, Add"

// checkTimeout bounds asking a server who a bot is.
const checkTimeout = 30 * time.Second

// Server returns the canonical form of a server's address, or says what to
// write instead.
func Server(typed string) (string, error) {
	server, err := sealed.Server(typed)
	if err != nil {
		return "", &FieldError{Field: "server", Text: strings.TrimPrefix(err.Error(), "server address: "), Try: "--server " + meantServer(typed), err: ErrUnlikely}
	}
	return server, nil
}

// Shape fails for fields that can't be what they should be: the other one's
// value, prose, or nothing.
func (b Bot) Shape() error {
	token := b.Token.Reveal()
	switch {
	case token == "":
		return &FieldError{Field: "token", Text: "none was given", Try: makeToken, err: ErrUnlikely}
	case LooksLikeToken(b.UserID):
		return &FieldError{Field: "user id", Text: "that is a token; the user id has 17 letters and digits", Try: "--user-id ID, and the token when it asks", err: ErrUnlikely}
	case LooksLikeID(token):
		return &FieldError{Field: "token", Text: "that is a user id; the token has 43 characters", Try: makeToken, err: ErrUnlikely}
	case b.UserID == "":
		return &FieldError{Field: "user id", Text: "none was given", Try: "--user-id ID, which the token's dialog shows", err: ErrUnlikely}
	case !oneWord(b.UserID):
		return &FieldError{Field: "user id", Text: "that is none; it has 17 letters and digits", Try: "--user-id ID, which the token's dialog shows", err: ErrUnlikely}
	case !oneWord(token):
		return &FieldError{Field: "token", Text: "there is none in what was given; it has 43 letters, digits, - and _", Try: makeToken, err: ErrUnlikely}
	}
	return nil
}

// oneWord reports what could stand in a header of HTTP: a word of ASCII.
func oneWord(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r > '~' })
}

// prove asks the server whether the token is the bot's, on the way that the
// home's settings say.
func prove(ctx context.Context, b Bot, network *dial.Network) (rest.Me, error) {
	client, server, err := b.client(network)
	if err != nil {
		return rest.Me{}, err
	}
	defer client.Close()
	return whose(ctx, client, b, server)
}

// client is the bot at its server, which is returned in its canonical form.
func (b Bot) client(network *dial.Network) (*rest.Client, string, error) {
	server, err := Server(b.Server)
	if err != nil {
		return nil, "", err
	}
	if err := b.Shape(); err != nil {
		return nil, "", err
	}
	client, err := rest.New(rest.Config{Server: server, UserID: b.UserID, Token: b.Token, Network: network})
	if err != nil {
		return nil, "", &FieldError{Field: "user id and token", Text: err.Error(), Try: makeToken, err: err}
	}
	return client, server, nil
}

// whose asks the server whose token it is, which has to be the bot's.
func whose(ctx context.Context, client *rest.Client, b Bot, server string) (rest.Me, error) {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	me, err := client.Me(ctx)
	if err != nil {
		return rest.Me{}, unproven(b.UserID, server, err)
	}
	if me.ID != b.UserID {
		return rest.Me{}, &FieldError{Field: "user id", Text: fmt.Sprintf("the token belongs to @%s, whose user id is %s", me.Username, me.ID), Try: "--user-id " + me.ID}
	}
	return me, nil
}

// caBytes bounds tls.ca_file.
const caBytes = 1 << 20

// network is the way to the server that a home's settings say. The file of
// roots is its owner's, or it would show of another's whether it can be read.
func network(home string, owner int, s profile.Settings) (*dial.Network, error) {
	n := &dial.Network{Proxy: s.Proxy}
	if s.CAFile == "" {
		return n, nil
	}
	path := s.CAFile
	if !filepath.IsAbs(path) {
		path = filepath.Join(home, path)
	}
	dir, err := ownerfs.Open(filepath.Dir(path))
	if err != nil {
		return nil, fmt.Errorf("tls.ca_file: %w", err)
	}
	defer dir.Close()
	if dir.Owner().UID != owner {
		return nil, fmt.Errorf("tls.ca_file: %w", &ownerfs.Error{Path: dir.Path(), Err: ownerfs.ErrForeign})
	}
	if n.CAFile, _, err = dir.ReadFile(filepath.Base(path), caBytes); err != nil {
		return nil, fmt.Errorf("tls.ca_file: %w", err)
	}
	return n, nil
}
