package browser

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// script writes a program that stands for a browser.
func script(t *testing.T, body string) string {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("programs of tests are shell scripts")
	}
	path := filepath.Join(t.TempDir(), "chromium")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+body), 0o777); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestFind(t *testing.T) {
	path := script(t, "exit 0")
	t.Setenv(Variable, "")
	t.Setenv("PATH", filepath.Dir(path))
	if got, err := Find(); got != path || err != nil {
		t.Errorf("found %q, %v, want %q", got, err, path)
	}
	t.Setenv("PATH", t.TempDir())
	if got, err := Find(); runtime.GOOS == "linux" && !errors.Is(err, ErrNone) {
		t.Errorf("found %q, %v in an empty folder", got, err)
	}
	t.Setenv(Variable, path)
	if got, err := Find(); got != path || err != nil {
		t.Errorf("found %q, %v, want that of the variable", got, err)
	}
	t.Setenv(Variable, "no-such-browser")
	want := `$CREDENCE_BROWSER: expected the program of a browser, found "no-such-browser": executable file not found in $PATH`
	if _, err := Find(); err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
}

func TestNumbersPages(t *testing.T) {
	for text, want := range map[string]bool{
		"Chromium 156.0.8078.79 built on Debian GNU/Linux 12": true, "Google Chrome 131.0.6778.85": true,
		"Microsoft Edge 130.0.2849.80": false, "Chromium 99.0.1": false, "": true,
	} {
		if got := NumbersPages(t.Context(), script(t, "echo '"+text+"'")); got != want {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
}

// TestFailures: whatever a browser does, there is either a PDF file or an error.
func TestFailures(t *testing.T) {
	for body, want := range map[string]string{
		"echo cannot open display >&2; exit 3": ": exit status 3: cannot open display",
		"exit 0":                               ": expected a PDF file, found none",
		`for a; do case $a in --print-to-pdf=*) echo "<html>" >"${a#*=}"; esac; done`: ": expected a PDF file, found none",
	} {
		path := script(t, body)
		pdf, err := PDF(t.Context(), path, []byte("<p>text</p>"))
		if pdf != nil || err == nil || !strings.HasSuffix(err.Error(), want) || !strings.HasPrefix(err.Error(), path) {
			t.Errorf("%s: %q, %v, want an error that ends in %q", body, pdf, err, want)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := PDF(ctx, script(t, "sleep 60"), nil); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v of a canceled print", err)
	}
}

func TestPDF(t *testing.T) {
	path, err := Find()
	if err != nil {
		t.Skip(err)
	}
	pdf, err := PDF(t.Context(), path, []byte("<!DOCTYPE html><title>Title</title><p>text"))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(pdf, []byte("%%EOF")) {
		t.Errorf("the file ends %q", pdf[max(0, len(pdf)-20):])
	}
}
