package pretend

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestOfficialClients installs the official npm clients and lets each log in,
// subscribe, hear and send. Without node, npm or a registry it says so; with
// CI=true that is a failure.
func TestOfficialClients(t *testing.T) {
	dir := installClients(t)
	if dir == "" {
		return
	}
	for _, c := range []struct {
		name, script string
		v            Version
	}{
		{"sdk 0.2.9 on 3.4", "sdk.js", V34},
		{"sdk 0.2.9 on 7", "sdk.js", V7},
		{"ddp-client 1.1.2 on 3.4", "ddp-client.js", V34},
		{"ddp-client 1.1.2 on 7", "ddp-client.js", V7},
		{"ddp-client 1.1.2 on 9", "ddp-client.js", V9},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, Options{Version: c.v})
			runClient(t, w, dir, c.script)
		})
	}
}

func installClients(t *testing.T) string {
	t.Helper()
	missing := func(why string, err error) string {
		if os.Getenv("CI") == "true" {
			t.Fatalf("%s: %v", why, err)
		}
		t.Logf("NOT TESTED against the official clients: %s: %v", why, err)
		return ""
	}
	for _, program := range []string{"node", "npm"} {
		if _, err := exec.LookPath(program); err != nil {
			return missing("no "+program, err)
		}
	}
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(filepath.Join("testdata", "clients"))); err != nil {
		t.Fatal(err)
	}
	npm := exec.CommandContext(t.Context(), "npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--prefer-offline")
	npm.Dir = dir
	if out, err := npm.CombinedOutput(); err != nil {
		return missing("npm ci: "+string(out), err)
	}
	return dir
}

func runClient(t *testing.T, w *world, dir, script string) {
	bot := w.AddUser("bender", UserOptions{Bot: true, Password: "bite"})
	w.Join(w.lab, bot)
	token := bot.Token
	if w.Version() == V9 {
		// ddp-client reads tokenExpires.$date of every login; the streamer
		// leaves tokenExpires out for a personal access token. A session's token
		// has an end.
		token, _ = w.post(User{}, "login", object{"user": "bender", "password": "bite"}).get("data.authToken").(string)
	}
	node := exec.CommandContext(ctx(t), "node", script)
	node.Dir = dir
	node.Env = append(os.Environ(), "PRETEND_URL="+w.url, "PRETEND_USERNAME=bender", "PRETEND_PASSWORD=bite",
		"PRETEND_TOKEN="+token, "PRETEND_ROOM=lab", "PRETEND_ROOM_ID="+w.lab.ID)
	var stderr bytes.Buffer
	node.Stderr = &stderr
	stdout, err := node.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := node.Start(); err != nil {
		t.Fatal(err)
	}
	heard, sent := false, false
	for lines := bufio.NewScanner(stdout); lines.Scan(); {
		var l struct {
			Login, Heard, Kind, Sent string
			Ready, Participant       bool
		}
		if err := json.Unmarshal(lines.Bytes(), &l); err != nil {
			t.Errorf("odd line %q", lines.Text())
		}
		switch {
		case l.Login != "" && l.Login != bot.ID:
			t.Errorf("logged in as %q", l.Login)
		case l.Ready:
			w.Say(w.alice, w.lab, "@bender hello")
		case l.Heard != "":
			heard = l.Heard == "@bender hello" && l.Participant && l.Kind == "c"
		case l.Sent != "":
			sent = l.Sent == w.lab.ID
		}
	}
	if err := node.Wait(); err != nil || !heard || !sent {
		t.Errorf("heard %v, sent %v, %v\n%s", heard, sent, err, stderr.String())
	}
	list := w.Messages(w.lab)
	if m := list[len(list)-1]; m.User.ID != bot.ID {
		t.Errorf("the last message is %q by %s", m.Text, m.User.Username)
	}
}
