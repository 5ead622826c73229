package enroll

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"slices"

	"go.yaml.in/yaml/v4"

	"rcsupervisor/internal/ownerfs"
	"rcsupervisor/profile"
	"rcsupervisor/sealed"
)

// An Addition is a bot that is to live in a profile.
type Addition struct {
	Server    string   `json:"server"` // as typed
	UserID    string   `json:"user_id"`
	Token     Plain    `json:"token"`
	Agent     string   `json:"agent,omitempty"`     // agent.kind of a new channel.yaml; "" for echo
	Command   []string `json:"command,omitempty"`   // agent.command of a new channel.yaml
	OwnerID   string   `json:"owner_id,omitempty"`  // the first owner's user id or, unless unchecked, @username; "" lets a code decide
	Unchecked bool     `json:"unchecked,omitempty"` // the server is not asked
	Force     bool     `json:"force,omitempty"`     // replace another bot's envelope
}

// An Added is what there is now.
type Added struct {
	Home       string   `json:"home"`
	Server     string   `json:"server"` // canonical
	UserID     string   `json:"user_id"`
	Username   string   `json:"username"` // "" unchecked
	Admin      bool     `json:"admin"`    // the bot is an administrator, which it need not be
	Generation uint64   `json:"generation"`
	MadeFile   bool     `json:"made_file"`         // channel.yaml was made
	Code       string   `json:"code,omitempty"`    // by which the first owner proves himself; "" where there is one
	Holders    []string `json:"holders,omitempty"` // other profiles that have this bot; "another user's" for those not to be named
}

// Foresee fails for an addition that can't succeed whatever its token is, so
// that nobody is asked for one in vain. Token and user id may be missing yet.
func (d *Desk) Foresee(ctx context.Context, by Caller, name string, a Addition) error {
	_, err := d.foresee(ctx, by, name, a)
	return err
}

// A site is where a bot is added, and what it would find there.
type site struct {
	profile.Place
	owner    int
	server   string
	settings profile.Settings
	text     []byte // of a new channel.yaml; nil where there is one
}

func (d *Desk) foresee(ctx context.Context, by Caller, name string, a Addition) (site, error) {
	again := "rcsupervisor add " + name + " --server URL"
	var s site
	var err error
	if s.server, err = Server(a.Server); err != nil {
		return s, err
	}
	if !d.Host.AllowsServer(s.server) {
		return s, &Error{Text: "the host file does not allow the server " + s.server, Try: "ask whoever runs this host to add it to servers"}
	}
	if s.Place, s.owner, err = d.place(ctx, by, name); err != nil {
		return s, err
	}
	if s.text, s.settings, err = d.settingsFor(a, s.Dir); err != nil {
		return s, err
	}
	if !d.Host.AllowsKind(s.settings.Agent.Kind) {
		return s, unlikely(again+" --agent KIND", "the host file does not allow agents of the kind %s", s.settings.Agent.Kind)
	}
	return s, nil
}

// settingsFor returns a new channel.yaml, nil where there is one that can be
// read, and what the one or the other says.
func (d *Desk) settingsFor(a Addition, home string) ([]byte, profile.Settings, error) {
	dir, err := ours(home)
	if err == nil {
		defer dir.Close()
		data, _, err := dir.ReadFile(profile.SettingsFile, profile.MaxFile)
		if err == nil {
			return d.settingsThere(a, dir, data)
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return nil, profile.Settings{}, err
		}
	} else if !errors.Is(err, fs.ErrNotExist) {
		return nil, profile.Settings{}, err
	}
	kind := a.Agent
	if kind == "" {
		kind = "echo"
		if len(a.Command) > 0 {
			return nil, profile.Settings{}, unlikely("rcsupervisor add NAME --server URL --agent exec -- COMMAND...", "a command needs an agent that runs it")
		}
	}
	agent := map[string]any{"kind": kind}
	if len(a.Command) > 0 {
		agent["command"] = a.Command
	}
	body, err := yaml.Marshal(map[string]any{"agent": agent})
	if err != nil {
		return nil, profile.Settings{}, err
	}
	text := append([]byte("# What answers, and within which bounds. Every key: rcsupervisor's README.\n"), body...)
	s, err := profile.ParseSettings(profile.SettingsFile, text)
	if err != nil {
		e, ok := errors.AsType[*profile.FileError](err)
		if ok {
			err = unlikely("rcsupervisor add NAME --server URL --agent exec -- COMMAND...", "%s %s", e.Problems[0].Key, e.Problems[0].Text)
		}
	}
	return text, s, err
}

// settingsThere reads the channel.yaml that there is. It is never changed, so
// what was asked for has to be what it says.
func (d *Desk) settingsThere(a Addition, dir *ownerfs.Dir, data []byte) ([]byte, profile.Settings, error) {
	path := filepath.Join(dir.Path(), profile.SettingsFile)
	s, err := d.Host.Host().ParseSettings(path, data)
	switch {
	case err != nil:
		return nil, s, err
	case a.Agent != "" && a.Agent != s.Agent.Kind, len(a.Command) > 0 && !slices.Equal(a.Command, s.Agent.Command):
		return nil, s, unlikely("edit "+ownerfs.Quote(path)+", or leave --agent and the command out", "%s is there already and says something else of the agent", path)
	}
	return nil, s, nil
}

// Add proves a bot's credentials, makes what of its home is missing, and seals
// them into it. It is right to repeat it after any failure: channel.yaml, which
// makes a home take part, comes last.
func (d *Desk) Add(ctx context.Context, by Caller, name string, a Addition) (Added, error) {
	s, err := d.foresee(ctx, by, name, a)
	if err != nil {
		return Added{}, err
	}
	bot := Bot{Server: s.server, UserID: a.UserID, Token: a.Token.Secret}
	if err := bot.Shape(); err != nil {
		return Added{}, err
	}
	keys, err := d.Keys()
	if err != nil {
		return Added{}, err
	}
	done := Added{Home: s.Dir, Server: s.server, UserID: bot.UserID}
	owner := profile.Person{ID: a.OwnerID}
	if a.Unchecked {
		err = unknownOwner(a.OwnerID)
	} else {
		owner, err = d.prove(ctx, bot, s, a.OwnerID, &done)
	}
	if err != nil {
		return Added{}, err
	}
	r, err := d.enterAt(name, s.Dir, true)
	if err != nil {
		return Added{}, err
	}
	defer r.leave()
	if done.Generation, err = d.sealBot(r, bot, keys, a.Force); err != nil {
		return Added{}, err
	}
	if err := d.known(r, bot, done.Generation); err != nil {
		return done, err
	}
	if err := d.firstOwner(ctx, r, owner, s.text != nil, &done); err != nil {
		return done, err
	}
	if s.text != nil {
		done.MadeFile = true
		if err := r.makeSettings(s.text); err != nil {
			return done, err
		}
	}
	done.Holders, err = d.others(by, name, bot)
	return done, err
}

// prove asks the server whose token it is, and who the first owner is to be.
func (d *Desk) prove(ctx context.Context, b Bot, s site, ownerID string, done *Added) (owner profile.Person, err error) {
	n, err := network(s.Dir, s.owner, s.settings)
	if err != nil {
		return owner, err
	}
	client, server, err := b.client(n)
	if err != nil {
		return owner, err
	}
	defer client.Close()
	d.say("asking %s whose token it is", b.Server)
	me, err := whose(ctx, client, b, server)
	if f, ok := asField(err); ok && f.Try == mendCertificate {
		f.Try = certificateOf(s.Dir)
		if s.text != nil { // there are no settings yet
			f.Try = "--unchecked, then " + f.Try
		}
	}
	if err != nil {
		return owner, err
	}
	done.Username, done.Admin = me.Username, slices.Contains(me.Roles, "admin")
	return ownerOf(ctx, client, b, ownerID)
}

// sealBot seals a bot. What else is sealed for it stays.
func (d *Desk) sealBot(r *visit, b Bot, k *sealed.Keyring, force bool) (generation uint64, err error) {
	floor, err := d.floor(r.name)
	if err != nil {
		return 0, err
	}
	e := sealed.Envelope{Server: b.Server, UserID: b.UserID, Token: b.Token}
	if was, err := r.store().Read(k.Identity()); err == nil && was.SameBot(e) {
		e.Keys, e.Values = was.Keys, was.Values
	}
	d.say("sealing it")
	now, err := r.store().Write(e, k, sealed.WriteOptions{Floor: floor, Force: force})
	return now.Generation, err
}

// known has the ledger take for what is known that a person gave this name this
// bot: it is not to be held because it was another's before.
func (d *Desk) known(r *visit, b Bot, generation uint64) error {
	e, ok, err := d.Names.Entry(r.name)
	claim := profile.Claim{Path: r.home, Owner: r.owner, Server: b.Server, Bot: b.UserID, Generation: generation}
	if err != nil || !ok {
		return err
	}
	if v, _ := e.Judge(claim); v == profile.Known {
		return nil
	}
	e = e.Adopt(claim)
	return d.Names.Change(r.name, &e)
}

// notHis stands for the names that a caller is not told.
const notHis = "another user's"

// others are the profiles that a login has proven to be this bot. Of those of
// other users a caller learns only that there are some.
func (d *Desk) others(by Caller, name string, b Bot) ([]string, error) {
	holders, err := d.Names.Holders(b.Server, b.UserID)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, n := range holders {
		e, _, err := d.Names.Entry(n)
		switch {
		case err != nil:
			return nil, err
		case n == name:
		case by.may(n, e.Owner) == nil:
			names = append(names, n)
		case !slices.Contains(names, notHis):
			names = append(names, notHis)
		}
	}
	return names, nil
}

func (r *visit) makeSettings(text []byte) error {
	return r.dir.ReplaceFile(profile.SettingsFile, text, 0o644, func(b []byte) error {
		_, err := profile.ParseSettings(profile.SettingsFile, b)
		return err
	})
}

// access is what the home's access.yaml says.
func (r *visit) access() (profile.Access, error) {
	data, _, err := r.dir.ReadFile(profile.AccessFile, profile.MaxFile)
	if errors.Is(err, fs.ErrNotExist) {
		return profile.DefaultAccess(), nil
	}
	if err != nil {
		return profile.Access{}, err
	}
	return profile.ParseAccess(filepath.Join(r.dir.Path(), profile.AccessFile), data)
}
