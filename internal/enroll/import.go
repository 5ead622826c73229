package enroll

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"rcsupervisor/internal/dotenv"
	"rcsupervisor/internal/ownerfs"
	"rcsupervisor/profile"
	"rcsupervisor/sealed"
)

// An ImportWish is what is asked of an import.
type ImportWish struct {
	Scrub     bool   `json:"scrub,omitempty"`     // take the secrets out of .env, once they are sealed
	Agent     string `json:"agent,omitempty"`     // agent.kind of a new channel.yaml; "" for acp
	Unchecked bool   `json:"unchecked,omitempty"` // the server is not asked
	Force     bool   `json:"force,omitempty"`     // replace another bot's envelope
}

// An Imported is what an import found and did: names, and never values.
type Imported struct {
	Added
	Sealed   bool       `json:"sealed"`   // false: all of it was sealed already, or there was nothing
	Found    []FoundKey `json:"found"`    // what sets Hermes up for Rocket.Chat
	Scrubbed []string   `json:"scrubbed"` // names taken out of .env
	Left     []string   `json:"left"`     // secrets that still lie in the home in plain text, "file: name" or the file of a copy
}

// A FoundKey is one setting and what became of it.
type FoundKey struct {
	Name string `json:"name"` // as in the file
	File string `json:"file"`
	Use  string `json:"use"` // what it was taken for, or what to do instead
}

// The names by which the Rocket.Chat plugins for Hermes are set up
// (HalfbitStudio/hermes-plugin-rocketchat and its forks,
// laevateinzzl/hermes-rocketchat-bot), in the order in which one wins.
var (
	importServer = []string{"ROCKETCHAT_URL", "ROCKETCHAT_SERVER_URL", "ROCKETCHAT_TEAM_URL", "ROCKETCHAT_TEAM_SERVER_URL"}
	importUser   = []string{"ROCKETCHAT_USER_ID", "ROCKETCHAT_TEAM_USER_ID"}
	importToken  = []string{
		"ROCKETCHAT_TOKEN", "ROCKETCHAT_AUTH_TOKEN", "ROCKETCHAT_ACCESS_TOKEN",
		"ROCKETCHAT_TEAM_TOKEN", "ROCKETCHAT_TEAM_AUTH_TOKEN", "ROCKETCHAT_TEAM_ACCESS_TOKEN",
	}
	importAsker = []string{"ROCKETCHAT_TEAM_ASKER_KEY"}
)

// importHints are settings with a place of their own here, which a person has
// to give them.
var importHints = map[string]string{
	"ROCKETCHAT_ALLOWED_USERS":                 "rcsupervisor people NAME let-in ID",
	"ROCKETCHAT_ALLOW_ALL_USERS":               "not here: nobody is let in by default",
	"ROCKETCHAT_ALLOWED_ROOMS":                 "rcsupervisor rooms NAME on ID",
	"ROCKETCHAT_FREE_RESPONSE_CHANNELS":        "rcsupervisor rooms NAME on ID --no-mention",
	"ROCKETCHAT_BOT_PEERS":                     "ignore_senders in access.yaml",
	"ROCKETCHAT_TEAM_IGNORE_SENDERS":           "ignore_senders in access.yaml",
	"ROCKETCHAT_REPLY_MODE":                    "reply in channel.yaml",
	"ROCKETCHAT_TEAM_ALLOW_CONTEXT_REFERENCES": "allow_context_references in access.yaml",
	"ROCKETCHAT_TEAM_SHARED_MEMORY_WARNING":    "shared_memory_warning in access.yaml",
	"ROCKETCHAT_PASSWORD":                      "not here: a bot logs in with a token",
	"ROCKETCHAT_THREAD_CONTEXT_MAX_CHARS":      "context.chars in channel.yaml",
	"ROCKETCHAT_MEDIA_DOWNLOAD_MAX_BYTES":      "limits.file_bytes in channel.yaml",
}

// secretNames are what a scrub takes out of .env.
var secretNames = append(slices.Clone(profile.HermesNames), importAsker...)

const envFile = ".env"

// Import seals the credentials with which a home's Hermes spoke to Rocket.Chat
// itself, and takes them out of its .env when asked to: not before what was
// sealed has been read back from the disk and opened. It may be repeated: what
// is sealed already is not sealed again, and a scrub that was cut short goes
// on.
func (d *Desk) Import(ctx context.Context, by Caller, name string, w ImportWish) (Imported, error) {
	place, _, err := d.place(ctx, by, name)
	if err != nil {
		return Imported{}, err
	}
	if !place.Exists {
		return Imported{}, &Error{Text: "there is no home of the name " + name + " to import from (" + place.Dir + ")", Try: "rcsupervisor add " + name + " --server URL", Err: ErrNoProfile}
	}
	home, err := ownerfs.Open(place.Dir)
	if err != nil {
		return Imported{}, err
	}
	defer home.Close()
	env, err := readEnv(home)
	if err != nil {
		return Imported{}, err
	}
	done := Imported{Found: found(name, env), Scrubbed: []string{}, Left: []string{}}
	done.Home = place.Dir
	if token := env.first(importToken); token.name != "" {
		if err := d.importBot(ctx, by, name, w, env, &done); err != nil {
			return done, err
		}
	} else if !d.opens(name, place.Dir) {
		return done, &Error{Text: "nothing in " + filepath.Join(place.Dir, envFile) + " names a bot's token", Try: "rcsupervisor add " + name + " --server URL"}
	}
	if w.Scrub {
		if done.Scrubbed, err = d.scrub(name, home, env); err != nil {
			return done, err
		}
	}
	done.Left = leftIn(home)
	return done, nil
}

// opens reports whether a home's envelope is there and good.
func (d *Desk) opens(name, home string) bool {
	keys, err := d.Keys()
	if err != nil {
		return false
	}
	dir, err := ours(home)
	if err != nil {
		return false
	}
	defer dir.Close()
	_, err = sealed.Store{Folder: folder{dir}, Profile: name}.Read(keys.Identity())
	return err == nil
}

func (d *Desk) importBot(ctx context.Context, by Caller, name string, w ImportWish, env env, done *Imported) error {
	server, user, token, asker := env.first(importServer), env.first(importUser), env.first(importToken), env.first(importAsker)
	for _, f := range []struct {
		value value
		what  string
		names []string
	}{{server, "the server", importServer}, {user, "the user id", importUser}} {
		if f.value.name == "" {
			return &Error{
				Text: fmt.Sprintf("%s holds a token and not %s (%s)", filepath.Join(done.Home, envFile), f.what, f.names[0]),
				Try:  "rcsupervisor add " + name + " --server URL --user-id ID, and the token when it asks",
			}
		}
	}
	a := Addition{Server: server.text, UserID: user.text, Token: token.secret(), Agent: w.Agent, Unchecked: w.Unchecked, Force: w.Force}
	if a.Agent == "" && !d.hasSettings(done.Home) {
		a.Agent = "acp"
	}
	if d.holds(name, done.Home, a, asker) && d.hasSettings(done.Home) {
		return nil
	}
	var err error
	if done.Added, err = d.Add(ctx, by, name, a); err != nil {
		return err
	}
	done.Sealed = true
	if asker.name == "" {
		return nil
	}
	list, err := d.Secret(ctx, by, name, SecretWish{Do: "set", Key: AskerKey, Value: asker.secret()})
	done.Generation = max(done.Generation, list.Generation)
	return err
}

func (d *Desk) hasSettings(home string) bool {
	dir, err := ours(home)
	if err != nil {
		return false
	}
	defer dir.Close()
	_, err = dir.Stat(profile.SettingsFile)
	return err == nil
}

// holds reports whether the home's envelope holds what is to be imported, read
// from the disk and opened.
func (d *Desk) holds(name, home string, a Addition, asker value) bool {
	keys, err := d.Keys()
	if err != nil {
		return false
	}
	dir, err := ours(home)
	if err != nil {
		return false
	}
	defer dir.Close()
	e, err := sealed.Store{Folder: folder{dir}, Profile: name}.Read(keys.Identity())
	server, bad := Server(a.Server)
	return err == nil && bad == nil && e.Server == server && e.UserID == a.UserID && e.Token.Equal(a.Token.Secret) &&
		(asker.name == "" || e.Keys[AskerKey].Equal(asker.secret().Secret))
}

// scrub takes the secrets out of .env. What is sealed is opened once more, as
// it lies on the disk: nothing is taken out that isn't there.
func (d *Desk) scrub(name string, home *ownerfs.Dir, env env) ([]string, error) {
	rest, names := env.file.Without(secretNames...)
	if len(names) == 0 {
		return []string{}, nil
	}
	a := Addition{Server: env.first(importServer).text, UserID: env.first(importUser).text, Token: env.first(importToken).secret()}
	if a.Token.Empty() { // an empty assignment, or a password alone: the envelope that opens is all that matters
		if !d.opens(name, home.Path()) {
			return nil, &Error{Text: "nothing is sealed, so nothing is scrubbed", Try: "rcsupervisor add " + name + " --server URL"}
		}
	} else if !d.holds(name, home.Path(), a, env.first(importAsker)) {
		return nil, &Error{Text: "what is sealed is not what .env holds, so nothing is scrubbed", Try: "rcsupervisor import " + name}
	}
	d.say("taking %d names out of .env", len(names))
	err := home.ReplaceFile(envFile, rest, env.mode, func(written []byte) error {
		f, err := dotenv.Parse(written)
		if err != nil {
			return err
		}
		if _, still := f.Without(secretNames...); len(still) > 0 {
			return errors.New("a secret is still in what was written")
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("scrub: %w", err)
	}
	return names, nil
}

// leftIn lists the secrets that lie in the home in plain text: what Hermes
// would use, what is commented out, and copies.
func leftIn(home *ownerfs.Dir) []string {
	left := append([]string{}, profile.HermesLeft(home)...)
	if data, _, err := home.ReadFile(envFile, profile.MaxFile); err == nil {
		for _, name := range dotenv.Commented(data) {
			if slices.Contains(secretNames, name) {
				left = append(left, envFile+": "+name+", commented out")
			}
		}
	}
	return append(left, EnvCopies(home)...)
}

// An env is a home's .env as Hermes reads it.
type env struct {
	file *dotenv.File
	mode fs.FileMode
}

// A value is what a variable was found to hold. It prints as its name.
type value struct {
	name string
	text string
}

func (v value) String() string   { return v.name }
func (v value) GoString() string { return v.name }
func (v value) secret() Plain    { return Plain{sealed.NewSecret(v.text)} }

// readEnv reads a home's .env; without one it is empty.
func readEnv(home *ownerfs.Dir) (env, error) {
	data, info, err := home.ReadFile(envFile, profile.MaxFile)
	if errors.Is(err, fs.ErrNotExist) {
		return env{file: &dotenv.File{}}, nil
	}
	if err != nil {
		return env{}, err
	}
	f, err := dotenv.Parse(data)
	if err != nil {
		return env{}, &Error{Text: filepath.Join(home.Path(), envFile) + ": " + err.Error(), Try: "save it as UTF-8", Err: err}
	}
	return env{f, info.Mode.Perm()}, nil
}

// first returns the first of names that has a value.
func (e env) first(names []string) value {
	for _, name := range names {
		if v, _, ok := e.file.Credential(name); ok && v != "" {
			return value{name, v}
		}
	}
	return value{}
}

// found lists what of .env is about Rocket.Chat, and what becomes of it.
func found(name string, e env) []FoundKey {
	all := []FoundKey{}
	use := map[string]string{}
	for what, names := range map[string][]string{"server": importServer, "user id": importUser, "token": importToken, "asker key": importAsker} {
		if v := e.first(names); v.name != "" {
			use[v.name] = "sealed as " + what
		}
	}
	for _, key := range e.file.Keys() {
		switch {
		case use[key] != "":
			all = append(all, FoundKey{key, envFile, use[key]})
		case importHints[key] != "":
			all = append(all, FoundKey{key, envFile, strings.ReplaceAll(importHints[key], "NAME", name)})
		case slices.Contains(secretNames, key):
			all = append(all, FoundKey{key, envFile, "not used"})
		}
	}
	return all
}

// maxCopies bounds what is looked through for copies of .env.
const maxCopies = 10_000

// EnvCopies lists the copies of .env in a home (.env.bak, .env~ and the like)
// that hold a Rocket.Chat secret.
func EnvCopies(home *ownerfs.Dir) []string {
	entries, err := home.List(maxCopies)
	if err != nil {
		return nil
	}
	var found []string
	for _, f := range entries {
		if f.Dir || f.Link || f.Name == envFile || !strings.HasPrefix(f.Name, envFile) && f.Name != "#.env#" && f.Name != "."+envFile+".swp" {
			continue
		}
		data, _, err := home.ReadFile(f.Name, profile.MaxFile)
		if err != nil {
			continue
		}
		if slices.ContainsFunc(slices.Concat(dotenv.Names(data), dotenv.Commented(data)), func(n string) bool { return slices.Contains(secretNames, n) }) {
			found = append(found, f.Name)
		}
	}
	return found
}
