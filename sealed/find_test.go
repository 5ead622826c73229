package sealed

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// env is an environment for one test, never the process'.
func env(pairs ...string) func(string) string {
	m := map[string]string{}
	for i := 0; i+1 < len(pairs); i += 2 {
		m[pairs[i]] = pairs[i+1]
	}
	return func(name string) string { return m[name] }
}

// place puts a new identity under dir and returns it with its path.
func place(t *testing.T, dir, name string, perm os.FileMode) (string, *Identity) {
	t.Helper()
	text := hybridText(t)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	return writeFile(t, dir, name, text+"\n", perm), mustParse(t, text)
}

// pipe returns a descriptor that gives text and ends.
func pipe(t *testing.T, text string) *int {
	t.Helper()
	var p [2]int
	if err := syscall.Pipe2(p[:], syscall.O_CLOEXEC); err != nil {
		t.Fatal(err)
	}
	if _, err := syscall.Write(p[1], []byte(text)); err != nil {
		t.Fatal(err)
	}
	syscall.Close(p[1])
	return &p[0]
}

func TestIdentitySourcesInTheirOrder(t *testing.T) {
	dir := privateDir(t)
	flag, flagID := place(t, dir, "flag.txt", 0o600)
	variable, variableID := place(t, dir, "variable.txt", 0o400)
	credentials := filepath.Join(dir, "credentials")
	_, credentialID := place(t, credentials, CredentialName, 0o440)
	home := filepath.Join(dir, "home")
	standard, standardID := place(t, filepath.Join(home, ".config", "rcsupervisor"), "identity.txt", 0o600)
	fdText := hybridText(t)

	all := []string{IdentityVar, variable, "CREDENTIALS_DIRECTORY", credentials, "HOME", home}
	for name, tc := range map[string]struct {
		o      Options
		want   *Identity
		path   string
		source string
	}{
		"--identity":           {Options{File: flag, Getenv: env(all...)}, flagID, flag, "identity " + flag},
		"--identity-fd":        {Options{FD: pipe(t, fdText), Getenv: env(all...)}, mustParse(t, fdText), "", "descriptor"},
		"the variable":         {Options{Getenv: env(all...)}, variableID, variable, "identity "},
		"the credential":       {Options{Getenv: env(all[2:]...)}, credentialID, filepath.Join(credentials, CredentialName), "credential"},
		"the standard place":   {Options{Getenv: env(all[4:]...)}, standardID, standard, "identity "},
		"credentials of other": {Options{Getenv: env("CREDENTIALS_DIRECTORY", home, "HOME", home)}, standardID, standard, "identity "},
	} {
		t.Run(name, func(t *testing.T) {
			id, err := FindIdentity(tc.o)
			if err != nil {
				t.Fatal(err)
			}
			if id.Recipient() != tc.want.Recipient() || id.Path() != tc.path || !strings.HasPrefix(id.Source(), tc.source) {
				t.Errorf("%v from %q (%s)", id, id.Path(), id.Source())
			}
		})
	}
	_, err := FindIdentity(Options{Getenv: env("HOME", dir)})
	checkError(t, err, ErrNoIdentity, "has no identity")
	_, err = FindIdentity(Options{Getenv: env()})
	checkError(t, err, ErrNoIdentity, "HOME")
	_, err = FindIdentity(Options{File: flag, FD: pipe(t, fdText)})
	checkError(t, err, ErrIdentity, "both")
}

// Where recipients are and no identity is, it was lost: a new one is no help.
func TestALostIdentity(t *testing.T) {
	dir := privateDir(t)
	o := Options{Getenv: func(name string) string { return map[string]string{"HOME": dir}[name] }}
	standard := filepath.Join(dir, ".config", "rcsupervisor")
	if err := os.MkdirAll(standard, 0o700); err != nil {
		t.Fatal(err)
	}
	_, err := FindIdentity(o)
	checkError(t, err, ErrNoIdentity, "has no identity")
	if err := os.WriteFile(filepath.Join(standard, "recipients.txt"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	_, err = FindIdentity(o)
	checkError(t, err, ErrNoIdentity, "identity is gone")
	if e, ok := errors.AsType[*Error](err); !ok || !strings.HasPrefix(e.Try, "cp BACKUP ") {
		t.Errorf("%+v", e)
	}
}

func TestASourceThatIsThereIsNeverPassedOver(t *testing.T) {
	dir := privateDir(t)
	home := filepath.Join(dir, "home")
	place(t, filepath.Join(home, ".config", "rcsupervisor"), "identity.txt", 0o600)
	_, err := FindIdentity(Options{File: filepath.Join(dir, "absent"), Getenv: env("HOME", home)})
	checkError(t, err, ErrIdentity, "absent")
	if !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("err = %v", err)
	}
	_, err = FindIdentity(Options{Getenv: env(IdentityVar, filepath.Join(dir, "absent"), "HOME", home)})
	checkError(t, err, ErrIdentity, "absent")
	credentials := filepath.Join(dir, "credentials")
	place(t, credentials, CredentialName, 0o644)
	_, err = FindIdentity(Options{Getenv: env("CREDENTIALS_DIRECTORY", credentials, "HOME", home)})
	checkError(t, err, ErrIdentity, "open to others")
	_, err = FindIdentity(Options{FD: new(-1), Getenv: env("HOME", home)})
	checkError(t, err, ErrIdentity, "no descriptor")
	_, err = FindIdentity(Options{FD: new(987), Getenv: env("HOME", home)})
	checkError(t, err, ErrIdentity, "descriptor 987")
}

func TestAKeyInsteadOfAFileIsNotShown(t *testing.T) {
	key := hybridText(t)
	for _, o := range []Options{{File: key}, {Getenv: env(IdentityVar, "  "+strings.ToLower(key))}} {
		_, err := FindIdentity(o)
		checkError(t, err, ErrIdentity, "holds a key instead")
		if strings.Contains(strings.ToUpper(err.Error()), key[:30]) {
			t.Errorf("the error quotes it: %v", err)
		}
	}
}

func TestIdentityFileChecks(t *testing.T) {
	base := privateDir(t)
	folder := func(name string, perm os.FileMode) string {
		dir := filepath.Join(base, name)
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { os.Chmod(dir, 0o700) })
		place(t, dir, "identity.txt", 0o600)
		if err := os.Chmod(dir, perm); err != nil {
			t.Fatal(err)
		}
		return filepath.Join(dir, "identity.txt")
	}
	file := func(name string, perm os.FileMode) string {
		path, _ := place(t, base, name, perm)
		return path
	}
	link := filepath.Join(base, "link")
	if err := os.Symlink(file("target", 0o600), link); err != nil {
		t.Fatal(err)
	}
	fifo := filepath.Join(base, "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	large := writeFile(t, base, "large", "# "+strings.Repeat("x", maxKeyFile)+"\n", 0o600)
	for name, tc := range map[string]struct{ path, word string }{
		"readable by the group":   {file("g", 0o640), "mode 0640"},
		"readable by all":         {file("o", 0o604), "mode 0604"},
		"writable by the group":   {file("w", 0o620), "mode 0620"},
		"executable by all":       {file("x", 0o601), "mode 0601"},
		"a link":                  {link, "symbolic link"},
		"a FIFO":                  {fifo, "no regular file"},
		"a folder":                {base, "no regular file"},
		"a device":                {"/dev/null", "no regular file"},
		"in a folder of a group":  {folder("group", 0o770), "mode 0770"},
		"in a folder of everyone": {folder("all", 0o777), "mode 0777"},
		"in a sticky folder":      {folder("sticky", 0o777|os.ModeSticky), "others can write"},
		"too large":               {large, "more than"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := FindIdentity(Options{File: tc.path, Getenv: env()})
			checkError(t, err, ErrIdentity, tc.word)
		})
	}
	if _, err := FindIdentity(Options{File: folder("readable", 0o755), Getenv: env()}); err != nil {
		t.Errorf("a folder others may read: %v", err)
	}
}

func TestIdentityOfAnotherUser(t *testing.T) {
	if os.Geteuid() != 0 {
		if os.Getenv("CI") == "true" {
			t.Fatal("this test gives files away, for which it must run as root")
		}
		t.Log("not run as root: files can't be given away")
		return
	}
	dir := privateDir(t)
	path, _ := place(t, dir, "identity.txt", 0o600)
	if err := os.Chown(path, 12345, 12345); err != nil {
		t.Fatal(err)
	}
	_, err := FindIdentity(Options{File: path})
	checkError(t, err, ErrIdentity, "another user (uid 12345)")
	theirs := filepath.Join(dir, "theirs")
	path, _ = place(t, theirs, "identity.txt", 0o600)
	if err := os.Chown(theirs, 12345, 12345); err != nil {
		t.Fatal(err)
	}
	_, err = FindIdentity(Options{File: path})
	checkError(t, err, ErrIdentity, "a folder of another user")
	recipients := writeFile(t, dir, "recipients.txt", newIdentity(t).Recipient(), 0o644)
	if err := os.Chown(recipients, 12345, 12345); err != nil {
		t.Fatal(err)
	}
	_, id := place(t, dir, "ours.txt", 0o600)
	id.path = filepath.Join(dir, "ours.txt")
	_, err = FindRecipients(id, Options{})
	checkError(t, err, ErrRecipients, "another user")
}

func TestIdentityByDescriptorIsReadOnceAndBounded(t *testing.T) {
	fd := pipe(t, hybridText(t))
	if _, err := FindIdentity(Options{FD: fd}); err != nil {
		t.Fatal(err)
	}
	if _, err := FindIdentity(Options{FD: fd}); err == nil {
		t.Error("the descriptor was left open")
	}
	f, err := os.Open("/dev/zero")
	if err != nil {
		t.Fatal(err)
	}
	endless, err := syscall.Dup(int(f.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	f.Close()
	_, err = FindIdentity(Options{FD: &endless})
	checkError(t, err, ErrIdentity, "more than")
	path, want := place(t, privateDir(t), "identity.txt", 0o600)
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	regular, err := syscall.Dup(int(file.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	file.Close()
	if id, err := FindIdentity(Options{FD: &regular}); err != nil || id.Recipient() != want.Recipient() {
		t.Errorf("a file as descriptor: %v", err)
	}
}

func TestADescriptorThatGivesNothingIsGivenUp(t *testing.T) {
	var p [2]int
	if err := syscall.Pipe2(p[:], syscall.O_CLOEXEC); err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(p[0])
	defer syscall.Close(p[1]) // open all the while, as a leaked one is
	old := fdPatience
	fdPatience = 0
	defer func() { fdPatience = old }()
	if _, err := readPatiently(p[0]); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("err = %v", err)
	}
}

func TestFindRecipients(t *testing.T) {
	dir := privateDir(t)
	home := filepath.Join(dir, "home")
	path, id := place(t, filepath.Join(home, ".config", "rcsupervisor"), "identity.txt", 0o600)
	id.path = path
	_, err := FindRecipients(id, Options{Getenv: env("HOME", home)})
	checkError(t, err, ErrNoRecipients, "recipients.txt is not there")
	beside := writeFile(t, filepath.Dir(path), "recipients.txt", id.Recipient()+"\n", 0o644)
	for _, from := range []string{path, ""} { // beside the file, or in the standard place
		id.path = from
		if r, err := FindRecipients(id, Options{Getenv: env("HOME", home)}); err != nil || !r.Contains(id.Recipient()) {
			t.Errorf("%q: %v", from, err)
		}
	}
	if _, err := FindKeyring(Options{Getenv: env("HOME", home)}, false); err != nil {
		t.Error(err)
	}
	if err := os.Chmod(beside, 0o664); err != nil {
		t.Fatal(err)
	}
	_, err = FindRecipients(id, Options{Getenv: env("HOME", home)})
	checkError(t, err, ErrRecipients, "mode 0664")
	_, err = FindKeyring(Options{Getenv: env("HOME", home)}, true)
	checkError(t, err, ErrRecipients, "mode 0664")
}
