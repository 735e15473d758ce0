// Package browser prints pages to PDF with a browser of the machine: Chromium or one built on it.
package browser

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Variable is the environment variable that names the browser: a program on the path, or a file.
const Variable = "CREDENCE_BROWSER"

// ErrNone is the error when no browser is found.
var ErrNone = errors.New("no browser is found: a PDF file is printed by Chromium, Chrome or Edge")

// names are the programs looked for, in order.
var names = []string{"chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "microsoft-edge",
	"microsoft-edge-stable", "msedge", "brave-browser"}

// places are where installers put browsers that are not on the path.
var places = map[string][]string{
	"darwin": {"/Applications/Google Chrome.app/Contents/MacOS/Google Chrome", "/Applications/Chromium.app/Contents/MacOS/Chromium",
		"/Applications/Microsoft Edge.app/Contents/MacOS/Microsoft Edge"},
	"windows": {`C:\Program Files\Google\Chrome\Application\chrome.exe`, `C:\Program Files (x86)\Google\Chrome\Application\chrome.exe`,
		`C:\Program Files (x86)\Microsoft\Edge\Application\msedge.exe`, `C:\Program Files\Microsoft\Edge\Application\msedge.exe`},
}

// Find returns the path of a browser: the one that [Variable] names if it is set, or the first of the usual ones.
func Find() (string, error) {
	if name := os.Getenv(Variable); name != "" {
		path, err := exec.LookPath(name)
		if err != nil {
			return "", fmt.Errorf("$%s: expected the program of a browser, found %q: %w", Variable, name, errors.Unwrap(err))
		}
		return path, nil
	}
	for _, name := range append(names, places[runtime.GOOS]...) {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", ErrNone
}

// NumberingVersion is the first major version that prints the margin boxes of a style sheet, and so page numbers.
const NumberingVersion = 131

var version = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\b(\d+)\.\d+\.\d+`) })

// NumbersPages reports whether a browser is recent enough to number the pages of what it prints. One that does not
// state its version, as on Windows, is taken to be.
func NumbersPages(ctx context.Context, path string) bool {
	if runtime.GOOS == "windows" { // where --version opens a window
		return true
	}
	text, _ := exec.CommandContext(ctx, path, "--version").Output()
	found := version().FindSubmatch(text)
	if found == nil {
		return true
	}
	major, err := strconv.Atoi(string(found[1]))
	return err != nil || major >= NumberingVersion
}

// longest is how long a browser may take.
const longest = 2 * time.Minute

// PDF returns a page of HTML as the PDF file that the browser at path prints. The page must load nothing: it is
// opened from a temporary folder.
func PDF(ctx context.Context, path string, page []byte) (pdf []byte, err error) {
	dir, err := os.MkdirTemp("", "credence-pdf-")
	if err != nil {
		return nil, err
	}
	defer func() {
		// The processes of a browser may write to its profile a little longer than it runs.
		for range 20 {
			if os.RemoveAll(dir) == nil {
				return
			}
			time.Sleep(50 * time.Millisecond)
		}
	}()
	in, out := filepath.Join(dir, "page.html"), filepath.Join(dir, "page.pdf")
	if err := os.WriteFile(in, page, 0o600); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, longest)
	defer cancel()
	args := []string{"--headless", "--disable-gpu", "--disable-extensions", "--disable-dev-shm-usage", "--disable-background-networking",
		"--no-first-run", "--no-default-browser-check", "--user-data-dir=" + filepath.Join(dir, "profile"),
		"--no-pdf-header-footer", "--print-to-pdf=" + out}
	if os.Geteuid() == 0 { // Chromium refuses to run as root inside its sandbox; the page has no scripts
		args = append(args, "--no-sandbox")
	}
	var said bytes.Buffer
	address := url.URL{Scheme: "file", Path: "/" + strings.TrimPrefix(filepath.ToSlash(in), "/")}
	cmd := exec.CommandContext(ctx, path, append(args, address.String())...)
	cmd.Stdout, cmd.Stderr, cmd.WaitDelay = &said, &said, time.Second
	err = cmd.Run()
	if ctx.Err() != nil {
		return nil, fmt.Errorf("%s: %w", path, ctx.Err())
	}
	pdf, readErr := os.ReadFile(out)
	switch {
	case readErr == nil && bytes.HasPrefix(pdf, []byte("%PDF-")):
		return pdf, nil
	case err != nil:
		return nil, fmt.Errorf("%s: %w%s", path, err, lastLine(said.String()))
	}
	return nil, fmt.Errorf("%s: expected a PDF file, found none%s", path, lastLine(said.String()))
}

// lastLine returns the last line of a program's messages, after ": ", or "".
func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	if last := strings.TrimSpace(lines[len(lines)-1]); last != "" {
		return ": " + last
	}
	return ""
}
