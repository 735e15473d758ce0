package atomicfile

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
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
	if err := Write(lost, text("")); !errors.Is(err, os.ErrNotExist) || !strings.HasPrefix(err.Error(), "writing "+lost+": ") {
		t.Errorf("a missing folder gave %v", err)
	}
	called := func(io.Writer) error { t.Error("called for a folder"); return nil }
	if err := Write(dir, called); err == nil || err.Error() != "writing "+dir+": is a directory" {
		t.Errorf("a folder gave %v", err)
	}
}

// TestDevice checks that devices are written to, not replaced.
func TestDevice(t *testing.T) {
	before, err := os.Stat("/dev/full")
	if err != nil || runtime.GOOS == "windows" {
		t.Skip("no /dev/full on this system")
	}
	if err := Write("/dev/full", text("something")); !errors.Is(err, syscall.ENOSPC) || err.Error() != "writing /dev/full: no space left on device" {
		t.Errorf("a full disk gave %v", err)
	}
	if after, err := os.Stat("/dev/full"); err != nil || after.Mode() != before.Mode() {
		t.Errorf("/dev/full became %v, %v", after, err)
	}
}

// TestClean checks that leftovers of killed processes are removed, while files of running
// processes and unrelated files are kept.
func TestClean(t *testing.T) {
	dir := t.TempDir()
	plant := func(name string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte("half"), 0o600); err != nil {
			t.Fatal(err)
		}
		long := time.Now().Add(-2 * unlocked)
		if err := os.Chtimes(path, long, long); err != nil {
			t.Fatal(err)
		}
		return path
	}
	stale := []string{plant(".a.bin.123.tmp"), plant(".b[1].bin.7.tmp")}
	foreign := []string{
		plant("a.bin.123.tmp"), plant(".a.bin.x1.tmp"), plant(".a.bin.tmp"), plant(".a.bin..tmp"), plant(".tmp"),
		plant(".a.txt.123.tmp"), plant(".a.bin.123"), plant("a.bin"),
	}
	if err := os.Mkdir(filepath.Join(dir, ".c.bin.5.tmp"), 0o755); err != nil {
		t.Fatal(err)
	}
	there := func(path string) bool {
		_, err := os.Lstat(path)
		return err == nil
	}
	err := Write(filepath.Join(dir, "b[1].bin"), func(io.Writer) error {
		if there(stale[1]) {
			t.Error("Write did not remove the leftover of its file")
		}
		if !there(stale[0]) {
			t.Error("Write removed the leftover of another file")
		}
		if err := Clean(dir, "*.bin"); err != nil {
			t.Error(err)
		}
		if mine, _ := filepath.Glob(filepath.Join(dir, ".b*.tmp")); len(mine) != 1 {
			t.Errorf("the file that is being written is gone: %q", mine)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if there(stale[0]) {
		t.Error("a leftover stays")
	}
	for _, path := range foreign {
		if !there(path) {
			t.Errorf("%s is gone", path)
		}
	}
	if err := Clean(filepath.Join(dir, "missing"), "*"); err != nil {
		t.Errorf("a missing folder: %v", err)
	}
	if err := Clean(dir, "["); err == nil {
		t.Error("a bad pattern passes")
	}
}

// TestRename checks that a file which others have open for a moment is replaced when they have closed it, and that any other error is
// returned at once.
func TestRename(t *testing.T) {
	dir := t.TempDir()
	from, to := filepath.Join(dir, "from"), filepath.Join(dir, "folder", "to")
	if err := os.WriteFile(from, []byte("new"), 0o600); err != nil {
		t.Fatal(err)
	}
	tries := 0
	closes := func(error) bool { // the folder is missing until the third attempt
		if tries++; tries == 2 {
			os.Mkdir(filepath.Dir(to), 0o777)
		}
		return true
	}
	if err := rename(from, to, closes); err != nil || tries != 2 {
		t.Errorf("%d failed attempts, %v", tries, err)
	}
	if got, err := os.ReadFile(to); err != nil || string(got) != "new" {
		t.Errorf("read %q, %v", got, err)
	}
	began := time.Now()
	if err := rename(from, to, func(error) bool { return false }); !errors.Is(err, os.ErrNotExist) || time.Since(began) > replaceWithin {
		t.Errorf("a missing file gave %v", err)
	}
}

// TestReplaceOpen replaces a file while a reader has it open: on Unix at once, on Windows when the reader has closed it.
func TestReplaceOpen(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.txt")
	if err := Write(path, text("old")); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	time.AfterFunc(100*time.Millisecond, func() { f.Close() })
	if err := Write(path, text("new")); err != nil {
		t.Error(err)
	}
	if got, err := os.ReadFile(path); err != nil || string(got) != "new" {
		t.Errorf("read %q, %v", got, err)
	}
}

// TestStream checks that open files of the process are appended to, even regular files.
func TestStream(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a.txt")
	if err := os.WriteFile(path, []byte("first\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if IsStream(path) || IsStream(dir) || IsStream(filepath.Join(dir, "missing")) {
		t.Error("files and folders are taken for streams")
	}
	if !IsStream(os.DevNull) {
		t.Errorf("%s is no stream", os.DevNull)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	open := fmt.Sprintf("/dev/fd/%d", f.Fd())
	if _, err := os.Stat(open); err != nil || runtime.GOOS == "windows" {
		t.Skip("no /dev/fd on this system")
	}
	if !IsStream(open) {
		t.Errorf("%s is no stream", open)
	}
	if err := Write(open, text("second\n")); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(path); err != nil || string(got) != "first\nsecond\n" {
		t.Errorf("read %q, %v", got, err)
	}
}
