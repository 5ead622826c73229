package agent

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"rcsupervisor/sealed"
)

// An Account is the owner of a profile as an agent is told of him.
type Account struct{ Name, Home, Shell string }

// AccountOf looks an account up: in /etc/passwd, else as this system does, else,
// for our own, in our environment. Containers run as users nobody wrote down.
func AccountOf(uid int) (Account, error) {
	if data, err := os.ReadFile("/etc/passwd"); err == nil {
		if a, ok := accountIn(string(data), uid); ok {
			return a, nil
		}
	}
	if u, err := user.LookupId(strconv.Itoa(uid)); err == nil && u.HomeDir != "" {
		return Account{Name: u.Username, Home: u.HomeDir, Shell: "/bin/sh"}, nil
	}
	if home := os.Getenv("HOME"); uid == os.Getuid() && filepath.IsAbs(home) {
		name := os.Getenv("USER")
		if name == "" {
			name = strconv.Itoa(uid)
		}
		return Account{Name: name, Home: home, Shell: "/bin/sh"}, nil
	}
	return Account{}, fmt.Errorf("nothing is known of the user with uid %d: no line of /etc/passwd names it", uid)
}

// accountIn finds a uid in the text of a passwd file.
func accountIn(passwd string, uid int) (Account, bool) {
	for line := range strings.Lines(passwd) {
		f := strings.Split(strings.TrimSpace(line), ":")
		if len(f) != 7 || f[2] != strconv.Itoa(uid) || !filepath.IsAbs(f[5]) {
			continue
		}
		a := Account{Name: f[0], Home: f[5], Shell: f[6]}
		if !filepath.IsAbs(a.Shell) {
			a.Shell = "/bin/sh"
		}
		return a, true
	}
	return Account{}, false
}

// An Environment is what an agent's is made of. Nothing of ours is in it but
// what is named here; the bot's token is never given to it.
type Environment struct {
	Home    string // of the profile
	Account Account
	Set     map[string]string        // agent.env
	Values  map[string]sealed.Secret // those of the envelope that agent.secrets names
}

// List returns the environment as a process takes it, each name once, sorted.
// host is our own environment, of which the zone, the language and the place
// for temporary files are handed on. The names that are the supervisor's to
// give can't be set by the others. Whoever calls it holds secrets.
func (e Environment) List(host []string) ([]string, error) {
	all := make(map[string]string)
	for _, v := range host {
		if name, value, ok := strings.Cut(v, "="); ok && handedOn(name) {
			all[name] = value
		}
	}
	all["PATH"] = filepath.Join(e.Account.Home, ".local/bin") +
		":/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
	for name, value := range e.Set {
		if !reserved(name) {
			all[name] = value
		}
	}
	for name, value := range e.Values {
		if !reserved(name) {
			all[name] = value.Reveal()
		}
	}
	all["HERMES_HOME"] = e.Home
	all["HOME"] = e.Account.Home
	all["USER"], all["LOGNAME"] = e.Account.Name, e.Account.Name
	all["SHELL"] = e.Account.Shell
	list := make([]string, 0, len(all))
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if name == "" || strings.ContainsAny(name, "=\x00") || strings.Contains(all[name], "\x00") {
			return nil, errors.New("the agent's environment: " + strconv.Quote(name) + " can't be a variable, or its value holds a zero byte")
		}
		list = append(list, name+"="+all[name])
	}
	return list, nil
}

func handedOn(name string) bool {
	switch name {
	case "TZ", "LANG", "TMPDIR":
		return true
	}
	return strings.HasPrefix(name, "LC_")
}

// reserved names are the supervisor's to give, see channel.yaml's agent.env.
func reserved(name string) bool {
	switch name {
	case "HERMES_HOME", "HOME", "USER", "LOGNAME", "SHELL":
		return true
	}
	return strings.HasPrefix(name, "RCSUPERVISOR_")
}
