package sealed

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"syscall"

	"rcsupervisor/internal/atomicfile"
)

// The test binary run again as another process, in the folder childDir names.
const (
	childDir  = "SEALED_CHILD_DIR"
	childVerb = "SEALED_CHILD_VERB"
	childArg  = "SEALED_CHILD_ARG"
)

func child() {
	n, err := strconv.Atoi(os.Getenv(childArg))
	if err == nil {
		switch os.Getenv(childVerb) {
		case "panic":
			panics[n](NewSecret(testToken), envelope("alice"))
		case "rekey":
			err = childRekey(os.Getenv(childDir), n)
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
}

// childRekey reseals the homes below dir and kills itself, as nothing but the
// kernel can, at the nth step.
func childRekey(dir string, n int) error {
	var ids []*Identity
	for _, name := range []string{"before.txt", "after.txt"} {
		id, err := FindIdentity(Options{File: filepath.Join(dir, name)})
		if err != nil {
			return err
		}
		ids = append(ids, id)
	}
	r, err := ParseRecipients([]byte(ids[1].Recipient()), "recipients")
	if err != nil {
		return err
	}
	k, err := NewKeyring(ids[1], r, false)
	if err != nil {
		return err
	}
	journal, err := os.OpenRoot(filepath.Join(dir, "state"))
	if err != nil {
		return err
	}
	defer journal.Close()
	var homes []Home
	for i := 0; ; i++ {
		key := fmt.Sprintf("home%02d", i)
		root, err := os.OpenRoot(filepath.Join(dir, key))
		if err != nil {
			break
		}
		defer root.Close()
		homes = append(homes, Home{Key: key, Profile: fmt.Sprintf("p%02d", i), Folder: DirFolder(root)})
	}
	count := 0
	atomicfile.SetHook(func(atomicfile.Step) error {
		if count++; count == n {
			syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {}
		}
		return nil
	})
	_, err = Rekey(context.Background(), journal, homes, ids[0], k)
	return err
}
