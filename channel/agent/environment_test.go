package agent

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"rcsupervisor/sealed"
)

var olga = Account{Name: "olga", Home: "/home/olga", Shell: "/bin/bash"}

func TestTheEnvironment(t *testing.T) {
	host := []string{
		"TZ=Europe/Berlin", "LANG=de_DE.UTF-8", "LC_ALL=C", "TMPDIR=/scratch", "PATH=/host/bin", "HOME=/root", "USER=root",
		"ROCKETCHAT_TOKEN=decoy", "RCSUPERVISOR_IDENTITY_FILE=/root/id", "OPENAI_API_KEY=host", "LD_PRELOAD=/x.so", "odd", "HTTPS_PROXY=http://p",
	}
	e := Environment{
		Home: "/home/olga/.hermes", Account: olga,
		Set: map[string]string{"MODEL": "m", "HOME": "/elsewhere", "RCSUPERVISOR_AGENT": "forged", "LANG": "en_US.UTF-8", "EMPTY": ""},
		Values: map[string]sealed.Secret{
			"OPENAI_API_KEY": sealed.NewSecret("its own"), "HERMES_HOME": sealed.NewSecret("/another/home"),
		},
	}
	got, err := e.List(host)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"EMPTY=", "HERMES_HOME=/home/olga/.hermes", "HOME=/home/olga", "LANG=en_US.UTF-8", "LC_ALL=C", "LOGNAME=olga", "MODEL=m",
		"OPENAI_API_KEY=its own", "PATH=/home/olga/.local/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
		"SHELL=/bin/bash", "TMPDIR=/scratch", "TZ=Europe/Berlin", "USER=olga",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	e.Set["PATH"] = "/only/this"
	if got, _ := e.List(nil); !slices.Contains(got, "PATH=/only/this") {
		t.Errorf("%q", got)
	}
	for _, name := range []string{"", "A=B", "A\x00"} {
		e.Set = map[string]string{name: "x"}
		if _, err := e.List(nil); err == nil {
			t.Errorf("%q was taken", name)
		}
	}
	e.Set, e.Values = nil, map[string]sealed.Secret{"KEY": sealed.NewSecret("hidden\x00value")}
	if _, err := e.List(nil); err == nil || strings.Contains(err.Error(), "hidden") {
		t.Errorf("%v", err)
	}
}

func TestAccounts(t *testing.T) {
	passwd := "# a comment\nroot:x:0:0:root:/root:/bin/bash\nbroken\nolga:x:1000:1000:Olga,,,:/home/olga:/bin/zsh\n" +
		"bare:x:1001:1001::/home/bare:\nhomeless:x:1002:1002:::\nnumber:x:10000:1::/n:/bin/sh"
	for _, c := range []struct {
		uid  int
		want string
	}{
		{0, "{root /root /bin/bash} true"},
		{1000, "{olga /home/olga /bin/zsh} true"},
		{1001, "{bare /home/bare /bin/sh} true"},
		{1002, "{  } false"},
		{10000, "{number /n /bin/sh} true"},
		{7, "{  } false"},
		{-1, "{  } false"},
	} {
		a, ok := accountIn(passwd, c.uid)
		if got := fmt.Sprint(a, " ", ok); got != c.want {
			t.Errorf("%d: %s, want %s", c.uid, got, c.want)
		}
	}
	if a, err := AccountOf(os.Getuid()); err != nil || a.Home == "" || a.Name == "" || a.Shell == "" {
		t.Errorf("%+v %v", a, err)
	}
	if a, err := AccountOf(3_999_999); err == nil {
		t.Errorf("%+v", a)
	}
}
