package atomicfile

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func text(s string) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := io.WriteString(w, s)
		return err
	}
}

func TestWrite(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.txt")
	for _, s := range []string{"first", "second, longer", ""} {
		if err := Write(path, text(s)); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(path); err != nil || string(got) != s {
			t.Errorf("read %q, %v; want %q", got, err, s)
		}
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o644 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
}

func TestFailureLeavesTheOldFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a.txt")
	if err := Write(path, text("old")); err != nil {
		t.Fatal(err)
	}
	full := errors.New("disk full")
	err := Write(path, func(w io.Writer) error {
		if _, err := w.Write(make([]byte, 1<<20)); err != nil {
			return err
		}
		return full
	})
	if !errors.Is(err, full) || !strings.Contains(err.Error(), path) {
		t.Errorf("error %v, want one that names the file and the reason", err)
	}
	if got, _ := os.ReadFile(path); string(got) != "old" {
		t.Errorf("the old file is gone: %q", got)
	}
	if files, _ := os.ReadDir(dir); len(files) != 1 {
		t.Errorf("left behind: %v", files)
	}
	lost := filepath.Join(dir, "missing", "a.txt")
	if err := Write(lost, text("")); !errors.Is(err, os.ErrNotExist) || err.Error() != "writing "+lost+": no such file or directory" {
		t.Errorf("a missing folder gave %v", err)
	}
	called := func(io.Writer) error { t.Error("called for a folder"); return nil }
	if err := Write(dir, called); err == nil || err.Error() != "writing "+dir+": is a directory" {
		t.Errorf("a folder gave %v", err)
	}
}

// TestDevice: what cannot be replaced is written to, and stays what it is.
func TestDevice(t *testing.T) {
	before, err := os.Stat("/dev/full")
	if err != nil {
		t.Skip("no /dev/full on this system")
	}
	if err := Write("/dev/full", text("something")); err == nil || err.Error() != "writing /dev/full: no space left on device" {
		t.Errorf("a full disk gave %v", err)
	}
	if after, err := os.Stat("/dev/full"); err != nil || after.Mode() != before.Mode() {
		t.Errorf("/dev/full became %v, %v", after, err)
	}
}
