// Package e2e tries the page of credence serve in a real browser: Chromium, by the DevTools protocol.
//
// It is a module of its own, so that the browser's protocol is no dependency of the program. The tests
// build the program, start it as a user would, and click and type. Those named TestSmoke run with every
// commit, all of them with -tags extra.
package e2e

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/chromedp"
)

var dir string // built program, models and data, for all tests

func TestMain(m *testing.M) {
	var err error
	if dir, err = os.MkdirTemp("", "credence-e2e-"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}

// program builds the program once.
var program = sync.OnceValue(func() string {
	path := filepath.Join(dir, "credence")
	cmd := exec.Command("go", "build", "-o", path, "./cmd/credence")
	cmd.Dir = ".."
	if out, err := cmd.CombinedOutput(); err != nil {
		panic(fmt.Sprintf("building: %v\n%s", err, out))
	}
	return path
})

// credence runs the program to its end.
func credence(t *testing.T, args ...string) string {
	t.Helper()
	cmd := exec.Command(program(), args...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("credence %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// demo is the folder of the demonstration, made once.
var demoOnce sync.Once

func demo(t *testing.T) string {
	t.Helper()
	demoOnce.Do(func() { credence(t, "demo", "--out", "demo") })
	return "demo"
}

// server is a running credence serve.
type server struct {
	t    *testing.T
	args []string
	addr string
	cmd  *exec.Cmd
}

// serve starts the program and waits until its items are ready.
func serve(t *testing.T, args ...string) *server {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &server{t: t, args: args, addr: l.Addr().String()}
	l.Close()
	s.start()
	t.Cleanup(s.stop)
	return s
}

func (s *server) url() string { return "http://" + s.addr + "/" }

func (s *server) start() {
	s.t.Helper()
	s.cmd = exec.Command(program(), append([]string{"serve", "--addr", s.addr}, s.args...)...)
	s.cmd.Dir = dir
	var said strings.Builder
	s.cmd.Stderr = &said
	if err := s.cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	for range 1200 {
		time.Sleep(50 * time.Millisecond)
		if r, err := http.Get(s.url()); err == nil {
			r.Body.Close()
			return
		}
	}
	s.t.Fatalf("the server does not answer:\n%s", said.String())
}

func (s *server) stop() {
	s.cmd.Process.Signal(os.Interrupt)
	s.cmd.Wait()
}

// ready waits until the items are predicted.
func (s *server) ready() *server {
	s.t.Helper()
	for range 1200 {
		if strings.Contains(s.get("api/v1/items/progress"), `"ready":true`) {
			return s
		}
		time.Sleep(50 * time.Millisecond)
	}
	s.t.Fatal("the items are not ready: " + s.get("api/v1/items/progress"))
	return s
}

// get asks the server without the browser.
func (s *server) get(path string) string {
	s.t.Helper()
	r, err := http.Get(s.url() + path)
	if err != nil {
		s.t.Fatal(err)
	}
	defer r.Body.Close()
	text, err := io.ReadAll(r.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return string(text)
}

// tab is a tab of the browser.
type tab struct {
	t   *testing.T
	ctx context.Context

	mu     sync.Mutex
	errors []string // what the console complained of
}

// chromium is the browser that all tests share; each test has a context of its own in it, without
// the cookies and the storage of others.
var chromium = sync.OnceValue(func() context.Context {
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.NoSandbox, chromedp.DisableGPU, chromedp.WindowSize(1280, 900))
	if path := os.Getenv("CREDENCE_CHROMIUM"); path != "" {
		options = append(options, chromedp.ExecPath(path))
	}
	alloc, _ := chromedp.NewExecAllocator(context.Background(), options...)
	ctx, _ := chromedp.NewContext(alloc)
	if err := chromedp.Do(ctx); err != nil {
		panic(fmt.Sprintf("no Chromium could be started: %v (apt-get install chromium)", err))
	}
	return ctx
})

// widths are those that every view is tried at.
var widths = map[string][2]int64{"wide": {1280, 900}, "phone": {390, 844}}

// browse opens a tab of a browser of its own.
func browse(t *testing.T, size [2]int64) *tab {
	t.Helper()
	ctx, cancel := chromedp.NewContext(chromium(), chromedp.WithNewBrowserContext())
	t.Cleanup(cancel)
	return newTab(t, ctx, size)
}

// another opens a second tab of the same browser: cookies and storage are shared, but for that of
// the session.
func (b *tab) another(size [2]int64) *tab {
	b.t.Helper()
	ctx, cancel := chromedp.NewContext(b.ctx)
	b.t.Cleanup(cancel)
	return newTab(b.t, ctx, size)
}

func newTab(t *testing.T, ctx context.Context, size [2]int64) *tab {
	t.Helper()
	if err := chromedp.Do(ctx); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	t.Cleanup(cancel)
	b := &tab{t: t, ctx: ctx}
	complain := func(text string) {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.errors = append(b.errors, text)
	}
	messages, entries := chromedp.Console(ctx), chromedp.Events(ctx, log.EntryAdded)
	go func() {
		for m, err := range messages {
			if err == nil && m.IsException() {
				complain(m.String())
			}
		}
	}()
	go func() {
		for e, err := range entries {
			// Requests that fail are for the page to deal with.
			if err == nil && e.Entry.Level == log.EntryLevelError && e.Entry.Source != log.EntrySourceNetwork {
				complain(e.Entry.Text + " " + e.Entry.URL)
			}
		}
	}()
	var options []chromedp.EmulateViewportOption
	if size[0] < 600 {
		options = append(options, chromedp.EmulateMobile, chromedp.EmulateTouch)
	}
	b.run(chromedp.EmulateViewport(size[0], size[1], options...))
	t.Cleanup(func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		for _, e := range b.errors {
			t.Errorf("the console says: %s", e)
		}
	})
	return b
}

func (b *tab) run(actions ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	if err := chromedp.Do(b.ctx, actions...); err != nil {
		b.shot("failed")
		b.t.Fatal(err)
	}
}

// shot keeps a screenshot of the whole page where CREDENCE_SHOTS names a folder, and screen one of
// what the screen shows.
func (b *tab) shot(name string)   { b.keep(name, chromedp.FullScreenshot(100)) }
func (b *tab) screen(name string) { b.keep(name, chromedp.CaptureScreenshot()) }

func (b *tab) keep(name string, take chromedp.Action[[]byte]) {
	folder := os.Getenv("CREDENCE_SHOTS")
	if folder == "" {
		return
	}
	png, err := chromedp.Run(b.ctx, take)
	if err != nil {
		b.t.Logf("no screenshot: %v", err)
		return
	}
	path := filepath.Join(folder, strings.ReplaceAll(b.t.Name(), "/", "-")+"-"+name+".png")
	if err := os.WriteFile(path, png, 0o666); err != nil {
		b.t.Fatal(err)
	}
}

// open goes to a view and waits until it is shown.
func (b *tab) open(s *server, view string) {
	b.t.Helper()
	b.run(chromedp.Navigate(s.url() + "#" + view))
	name, _, _ := strings.Cut(view, "?")
	b.until(`document.documentElement.dataset.ready === ` + quoted(name))
}

// until waits for a condition in the page.
func (b *tab) until(condition string) {
	b.t.Helper()
	deadline := time.Now().Add(20 * time.Second)
	for {
		ok, err := chromedp.Run(b.ctx, chromedp.Evaluate[bool]("!!("+condition+")"))
		if err != nil {
			b.t.Fatalf("%s: %v", condition, err)
		}
		if ok {
			return
		}
		if time.Now().After(deadline) {
			b.shot("failed")
			b.t.Fatalf("this did not come true: %s; the page shows\n%s", condition, b.text("body"))
		}
		time.Sleep(15 * time.Millisecond)
	}
}

// eval returns the value of an expression of the page.
func eval[T any](b *tab, expression string) T {
	b.t.Helper()
	x, err := chromedp.Run(b.ctx, chromedp.Evaluate[T](expression))
	if err != nil {
		b.t.Fatalf("%s: %v", expression, err)
	}
	return x
}

// text returns what an element shows.
func (b *tab) text(selector string) string {
	b.t.Helper()
	return eval[string](b, "document.querySelector("+quoted(selector)+")?.innerText ?? ''")
}

// click clicks on the element, scrolled into view, as a mouse does.
func (b *tab) click(selector string) {
	b.t.Helper()
	b.run(chromedp.Click(chromedp.CSS(selector), chromedp.NodeVisible))
}

// press types keys.
func (b *tab) press(keys string) {
	b.t.Helper()
	b.run(chromedp.KeyEvent(keys))
}

// fits checks that nothing sticks out of the page sideways.
func (b *tab) fits() {
	b.t.Helper()
	if over := eval[float64](b, "document.documentElement.scrollWidth - document.documentElement.clientWidth"); over > 0 {
		b.shot("overflow")
		b.t.Errorf("the page is %v pixels wider than the screen: %v", over, eval[[]string](b,
			`[...document.querySelectorAll("body *")].filter(e => e.getBoundingClientRect().right > document.documentElement.clientWidth + 1 && !e.closest(".table")).slice(0, 8).map(e => e.tagName + "." + e.className)`))
	}
}

// quoted writes a text as JavaScript.
func quoted(s string) string { return fmt.Sprintf("%q", s) }

// write puts a file into the folder of the tests.
func write(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	return name
}
