package demo

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"rcsupervisor/internal/supervisor"
)

// TestAPersonChatsOnThePage opens the page in headless Chromium, writes to a
// bot as a person does, and sees its answer.
func TestAPersonChatsOnThePage(t *testing.T) {
	browser := chromium(t)
	t.Setenv("TMPDIR", t.TempDir())
	s, err := setUp("127.0.0.1:0", []bot{{name: "ada"}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	running, stop := context.WithCancel(ctx)
	done := make(chan error, 1)
	super, err := s.supervise(func(supervisor.Event) {})
	if err != nil {
		t.Fatal(err)
	}
	go func() { done <- super.Run(running, nil) }()
	defer func() {
		stop()
		if err := errors.Join(<-done, s.strike()); err != nil {
			t.Error(err)
		}
	}()
	if err := s.watch.await(ctx, "ada", online); err != nil {
		t.Fatal(err)
	}

	tab := open(ctx, t, browser)
	err = chromedp.Do(tab,
		chromedp.Navigate(s.url+"/#me=olivia&room=@Ada"),
		chromedp.WaitVisible(`//span[@id="wire" and text()="online"]`),
		write("#write", "hello from a browser"),
		read("#messages", "echo: hello from a browser"),

		chromedp.Click(`//ul[@id="rooms"]//button[text()="#lounge"]`),
		chromedp.WaitVisible(`//h1[text()="#lounge"]`),
		write("#write", "@ada can you read this?"),
		read("#messages", "echo: can you read this?"),

		until(`(document.querySelector("#messages .message.mine button[title='Reply in a thread']")?.click(), !document.querySelector("#thread").hidden)`),
		write("#threadWrite", "@ada and in a thread?"),
		read("#threadMessages", "echo: and in a thread?"),

		// Escape goes back to where one writes; what marks a word is at its edges.
		chromedp.KeyEvent("\x1b"),
		until(`document.querySelector("#thread").hidden && document.activeElement.id === "write"`),
		write("#write", "*bold* is no snake_case_name, nor 2*3*4; see https://example.org/a_b_c."),
		until(`[...document.querySelectorAll("#messages .text")].some(e => e.innerHTML.startsWith(
			'<strong>bold</strong> is no snake_case_name, nor 2*3*4; see <a href="https://example.org/a_b_c"'))`),
		// The rooms are one stop of the Tab key, and the arrows go about in them;
		// what comes meanwhile takes the focus from nobody.
		until(`(document.querySelector("#rooms button[aria-current=true]").focus(), true)`),
		chromedp.KeyEvent(kb.Home),
		until(`document.activeElement === document.querySelector("#rooms li button")`),
	)
	if err != nil {
		seen, _ := chromedp.Run(tab, chromedp.Evaluate[string]("document.body.innerText"))
		t.Fatalf("%v\nthe page says:\n%s", err, seen)
	}
}

// write types into a box as a person does, ending with Enter.
func write(box chromedp.CSS, text string) chromedp.Action[chromedp.Void] {
	return chromedp.SendKeys(box, text+"\r")
}

// read waits until a list shows a message of exactly that text.
func read(list, text string) chromedp.Action[chromedp.Void] {
	return until(fmt.Sprintf(`[...document.querySelectorAll("%s .text")].some(e => e.innerText.trim() === %q)`, list, text))
}

// until waits until an expression holds on the page.
func until(expression string) chromedp.Action[chromedp.Void] {
	return chromedp.Func(func(ctx context.Context, tab *chromedp.Target) error {
		_, err := chromedp.Poll[bool](expression, chromedp.WithPollingInterval(50*time.Millisecond))(ctx, tab)
		return err
	})
}

// open starts the browser with a profile of its own.
func open(ctx context.Context, t *testing.T, browser string) context.Context {
	t.Helper()
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(browser), chromedp.UserDataDir(filepath.Join(t.TempDir(), "browser")), chromedp.NoSandbox,
		chromedp.Flag("disable-gpu", true), chromedp.Flag("disable-quic", true), chromedp.Flag("disable-component-update", true))
	allocator, end := chromedp.NewExecAllocator(ctx, options...)
	tab, _ := chromedp.NewContext(allocator)
	t.Cleanup(func() {
		_ = chromedp.Cancel(tab)
		end()
		chromedp.FromContext(tab).Allocator.Wait()
	})
	return tab
}

// chromium finds the browser. Without one the test can't run: it says so, and
// fails where everything is to be tested.
func chromium(t *testing.T) string {
	t.Helper()
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	if os.Getenv("CI") == "true" {
		t.Fatal("no Chromium: apt-get install chromium")
	}
	t.Skip("no Chromium here, so nobody opened the page: apt-get install chromium")
	return ""
}
