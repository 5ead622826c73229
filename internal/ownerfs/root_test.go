package ownerfs

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"rcsupervisor/internal/ownerfs/ownertest"
)

const rootsSecret = "only root may read this"

// secretFile is a file that only root, or only root's group, may read.
func secretFile(t *testing.T, mode os.FileMode) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "secret")
	must(t, os.WriteFile(path, []byte(rootsSecret), 0o600))
	must(t, os.Chmod(path, mode))
	return path
}

// Alice offers root's file by every means she has, and by some that only root
// could have made. It must never come back, nor change.
func TestRootsFileIsNeverReadForATenant(t *testing.T) {
	ownertest.NeedRoot(t)
	for _, mode := range []os.FileMode{0o600, 0o640, 0o660} {
		secret := secretFile(t, mode)
		dir := home(t, alice)
		at := func(name string) string { return filepath.Join(dir, name) }
		must(t, os.Symlink(secret, at("link")))
		must(t, os.Link(secret, at("hard")))
		must(t, syscall.Mkfifo(at("fifo"), 0o600))
		must(t, os.Chown(at("fifo"), alice, alice))
		put(t, at("roots"), 0, mode, rootsSecret)
		put(t, at("bobs"), bob, 0o644, rootsSecret)
		must(t, unix.Mknod(at("null"), unix.S_IFCHR|0o600, int(unix.Mkdev(1, 5))))
		must(t, os.Chown(at("null"), alice, alice))
		must(t, os.Symlink(filepath.Dir(secret), at("folder")))

		d := open(t, dir)
		if d.Owner().UID != alice {
			t.Fatal(d.Owner())
		}
		for _, name := range []string{"link", "hard", "roots"} {
			if data, err := d.ReadFollowing(name, 1<<20); !errors.Is(err, fs.ErrPermission) {
				t.Errorf("%s (%v) was followed: %q, %v", name, mode, data, err)
			}
		}
		for name, want := range map[string]error{
			"link": ErrLink, "hard": ErrForeign, "fifo": ErrNotRegular, "roots": ErrForeign, "bobs": ErrForeign, "null": ErrNotRegular,
		} {
			data, _, err := d.ReadFile(name, 1<<20)
			if !errors.Is(err, want) || data != nil {
				t.Errorf("%s (%v): %q, %v", name, mode, data, err)
			}
			err = d.ReplaceFile(name, []byte("overwritten"), 0o600, nil)
			if name == "link" && err == nil {
				t.Error("a link was written through or cut")
			}
		}
		if _, err := d.Sub("folder"); !errors.Is(err, ErrLink) {
			t.Error(err)
		}
		if data, _ := os.ReadFile(secret); string(data) != rootsSecret {
			t.Fatalf("root's file is %q", data)
		}
		// Even asked for by the bare system calls the rights are hers alone.
		err := As(d.Owner(), func() error {
			_, err := os.ReadFile(secret)
			return err
		})
		if !errors.Is(err, fs.ErrPermission) {
			t.Errorf("%v: read as alice: %v", mode, err)
		}
	}
}

func TestWhatIsWrittenIsTheOwners(t *testing.T) {
	ownertest.NeedRoot(t)
	dir := home(t, alice)
	d := open(t, dir)
	must(t, d.Mkdir("rocketchat", 0o700))
	sub, err := d.Sub("rocketchat")
	must(t, err)
	defer sub.Close()
	must(t, sub.ReplaceFile("access.yaml", []byte("x"), 0o600, nil))
	for _, p := range []string{"rocketchat", "rocketchat/access.yaml"} {
		if uid := ownerOf(t, filepath.Join(dir, p)); uid != alice {
			t.Errorf("%s belongs to %d", p, uid)
		}
	}
	if data, _, err := sub.ReadFile("access.yaml", 10); err != nil || string(data) != "x" {
		t.Error(string(data), err)
	}
	// A folder of bob's below alice's home is not entered.
	must(t, os.Mkdir(filepath.Join(dir, "bobs"), 0o755))
	must(t, os.Chown(filepath.Join(dir, "bobs"), bob, bob))
	if _, err := d.Sub("bobs"); !errors.Is(err, ErrForeign) {
		t.Error(err)
	}
}

// Where alice may not go root does not go for her.
func TestNoMoreThanTheOwnersRights(t *testing.T) {
	ownertest.NeedRoot(t)
	dir := home(t, alice)
	put(t, dir+"/none", alice, 0, "x")
	d := open(t, dir)
	if _, _, err := d.ReadFile("none", 10); !errors.Is(err, fs.ErrPermission) {
		t.Error("a file of mode 0 was read:", err)
	}
	must(t, os.Chmod(dir, 0o500))
	if err := d.ReplaceFile("new", nil, 0o600, nil); !errors.Is(err, fs.ErrPermission) {
		t.Error("written into a folder that is not writable:", err)
	}
	must(t, os.Chmod(dir, 0))
	if _, err := Open(dir); !errors.Is(err, fs.ErrPermission) {
		t.Error(err)
	}
}

// A home may lie where its owner can't get to alone: the folder is opened, and
// not the path.
func TestAClosedParent(t *testing.T) {
	ownertest.NeedRoot(t)
	dir := home(t, alice)
	put(t, dir+"/a", alice, 0o600, "x")
	must(t, os.Chmod(filepath.Dir(dir), 0o700))
	d := open(t, dir)
	if _, _, err := d.ReadFile("a", 10); err != nil {
		t.Error(err)
	}
}

// Alice may not lead root into bob's home by a link in her own.
func TestATenantsLinkOnTheWayIsNotFollowed(t *testing.T) {
	ownertest.NeedRoot(t)
	alices, bobs := home(t, alice), home(t, bob)
	must(t, os.Mkdir(bobs+"/p", 0o755))
	must(t, os.Chown(bobs+"/p", bob, bob))
	must(t, os.Symlink(bobs, alices+"/profiles"))
	must(t, os.Lchown(alices+"/profiles", alice, alice))
	if _, err := Open(alices + "/profiles/p"); !errors.Is(err, ErrLink) {
		t.Error(err)
	}
	if _, err := Resolve(alices + "/profiles"); !errors.Is(err, ErrLink) {
		t.Error(err)
	}
	// Root's own link is.
	must(t, os.Lchown(alices+"/profiles", 0, 0))
	d, err := Open(alices + "/profiles/p")
	must(t, err)
	defer d.Close()
	if d.Owner().UID != bob {
		t.Error(d.Owner())
	}
}

// The calling goroutine, and every thread, is root again afterwards.
func TestIdentityIsRestored(t *testing.T) {
	ownertest.NeedRoot(t)
	groups, err := unix.Getgroups()
	must(t, err)
	check := func(when string) {
		t.Helper()
		if uid, _ := unix.SetfsuidRetUid(-1); uid != 0 {
			t.Errorf("%s: fsuid %d", when, uid)
		}
		if gid, _ := unix.SetfsgidRetGid(-1); gid != 0 {
			t.Errorf("%s: fsgid %d", when, gid)
		}
		if now, _ := unix.Getgroups(); !slices.Equal(now, groups) {
			t.Errorf("%s: groups %v, were %v", when, now, groups)
		}
	}
	broken := errors.New("broken")
	if err := As(Owner{alice, alice}, func() error {
		if uid, _ := unix.SetfsuidRetUid(-1); uid != alice {
			t.Errorf("fsuid %d inside", uid)
		}
		if now, _ := unix.Getgroups(); len(now) != 0 {
			t.Errorf("groups %v inside", now)
		}
		return broken
	}); err != broken {
		t.Error(err)
	}
	check("after an error")
	func() {
		defer func() {
			if recover() != "bang" {
				t.Error("the panic was lost")
			}
		}()
		As(Owner{alice, alice}, func() error { panic("bang") })
	}()
	check("after a panic")
	if err := As(Owner{alice, alice}, func() error { runtime.Goexit(); return nil }); err == nil {
		t.Error("a goroutine that ended early was taken for a success")
	}
	check("after Goexit")

	// Many at once, among others who must stay root.
	var wg sync.WaitGroup
	for i := range 50 {
		wg.Go(func() {
			if i%2 == 0 {
				for range 20 {
					As(Owner{alice, alice}, func() error { runtime.Gosched(); return nil })
				}
				return
			}
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			for range 200 {
				check("beside others")
				runtime.Gosched()
			}
		})
	}
	wg.Wait()
	for _, status := range threadStatus(t) {
		for _, line := range strings.Split(status, "\n") {
			if strings.HasPrefix(line, "Uid:") && !strings.HasSuffix(line, "\t0") {
				t.Errorf("a thread is left with %s", line)
			}
		}
	}
}

// threadStatus is /proc's word on each thread of this process.
func threadStatus(t *testing.T) []string {
	t.Helper()
	tasks, err := filepath.Glob("/proc/self/task/*/status")
	must(t, err)
	var all []string
	for _, task := range tasks {
		if b, err := os.ReadFile(task); err == nil { // the thread may be gone
			all = append(all, string(b))
		}
	}
	return all
}

// While root reads and writes, alice swaps the file for links to root's, and
// its folder for one to root's folder.
func TestSymlinkRace(t *testing.T) {
	ownertest.NeedRoot(t)
	secret := secretFile(t, 0o600)
	must(t, os.WriteFile(filepath.Join(filepath.Dir(secret), "access.yaml"), []byte(rootsSecret), 0o600))
	dir := home(t, alice)
	must(t, os.Mkdir(dir+"/rc", 0o700))
	must(t, os.Chown(dir+"/rc", alice, alice))
	put(t, dir+"/rc/access.yaml", alice, 0o600, "good")

	stop := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() { // alice, with her own rights
		As(Owner{alice, alice}, func() error {
			for i := 0; ; i++ {
				select {
				case <-stop:
					return nil
				default:
				}
				switch i % 4 {
				case 0:
					os.Remove(dir + "/rc/access.yaml")
					os.Symlink(secret, dir+"/rc/access.yaml")
				case 1:
					os.Rename(dir+"/rc", dir+"/rc.real")
					os.Symlink(filepath.Dir(secret), dir+"/rc")
				case 2:
					os.Remove(dir + "/rc")
					os.Rename(dir+"/rc.real", dir+"/rc")
				case 3:
					os.Remove(dir + "/rc/access.yaml")
					os.WriteFile(dir+"/rc/access.yaml", []byte("good"), 0o600)
				}
			}
		})
	})
	d := open(t, dir)
	var read, written int
	for range 200 {
		sub, err := d.Sub("rc")
		if err != nil {
			continue
		}
		data, _, err := sub.ReadFile("access.yaml", 1<<20)
		if strings.Contains(string(data), rootsSecret) {
			t.Fatal("root's file was read for alice")
		}
		if err == nil {
			read++
		}
		if sub.ReplaceFile("access.yaml", []byte("written"), 0o600, nil) == nil {
			written++
		}
		sub.Close()
	}
	close(stop)
	wg.Wait()
	if read == 0 || written == 0 {
		t.Fatalf("nothing was tried: %d reads, %d writes", read, written)
	}
	names, err := os.ReadDir(filepath.Dir(secret))
	must(t, err)
	if len(names) != 2 {
		t.Errorf("something was written into root's folder: %v", names)
	}
	for _, n := range []string{"secret", "access.yaml"} {
		if b, _ := os.ReadFile(filepath.Join(filepath.Dir(secret), n)); string(b) != rootsSecret {
			t.Errorf("%s is %q", n, b)
		}
	}
}

func TestAnUnknownUserGetsNobodysGroup(t *testing.T) {
	if o := OwnerOf(2_000_000_000); o.GID != nobodyGID {
		t.Fatal(o)
	}
	if o := OwnerOf(os.Geteuid()); o.GID != os.Getegid() {
		t.Fatal(o)
	}
}

// An ordinary user enters nobody else's folder. The child is this test binary
// run as alice.
func TestAnOrdinaryUserEntersOnlyHisOwn(t *testing.T) {
	ownertest.NeedRoot(t)
	// The rule itself, without the switch of a process: bob's folder for alice.
	dir := home(t, bob)
	d := open(t, home(t, alice))
	f, err := os.Open(dir)
	must(t, err)
	defer f.Close()
	if _, err := enter(f, dir, &d.owner); !errors.Is(err, ErrForeign) {
		t.Fatal(err)
	}
	if !asOrdinaryUser(t, alice, "TestRefusedFolders|TestRefusedFiles|TestReadAndReplace|TestForeignHome", dir) {
		t.Fatal("as an ordinary user it fails")
	}
}
