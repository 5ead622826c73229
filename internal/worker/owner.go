package worker

import (
	"os"
	"os/user"
	"slices"
	"strconv"
	"strings"
)

// An owner is whom a worker runs as.
type owner struct {
	uid, gid int
	groups   []int
	name     string
	home     string
}

// nobodyGID is the group of a user whom the host has no entry for.
const nobodyGID = 65534

// ownerOf is the user as the host's database has him, with the groups that a
// login would give him.
func ownerOf(uid int) owner {
	o := owner{uid: uid, gid: nobodyGID, home: "/"}
	if uid == os.Geteuid() {
		o.gid = os.Getegid()
	}
	u, err := user.LookupId(strconv.Itoa(uid))
	if err != nil {
		return o
	}
	o.name, o.home = u.Username, u.HomeDir
	if gid, err := strconv.Atoi(u.Gid); err == nil {
		o.gid = gid
	}
	ids, err := u.GroupIds()
	if err != nil {
		return o
	}
	for _, id := range ids {
		if gid, err := strconv.Atoi(id); err == nil && gid != 0 && len(o.groups) < 64 {
			o.groups = append(o.groups, gid)
		}
	}
	return o
}

// environment is the whole of a worker's: what programs need to find their way,
// and nothing that was meant for the supervisor.
func (o owner) environment() []string {
	env := []string{"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=" + o.home}
	if o.name != "" {
		env = append(env, "USER="+o.name, "LOGNAME="+o.name)
	}
	own := o.uid == os.Geteuid()
	for _, v := range os.Environ() {
		name, _, _ := strings.Cut(v, "=")
		switch {
		case slices.Contains([]string{"TZ", "LANG", "SSL_CERT_FILE", "SSL_CERT_DIR", "GOCOVERDIR", "GORACE"}, name), strings.HasPrefix(name, "LC_"):
			env = append(env, v)
		case own && slices.Contains([]string{"PATH", "SHELL", "TMPDIR"}, name):
			env = append(env, v) // the last of two counts
		}
	}
	return env
}
