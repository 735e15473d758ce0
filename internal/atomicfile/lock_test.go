package atomicfile

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestLock checks that one process at a time holds a lock, that errors name it, and that no file remains.
func TestLock(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.lock")
	first, err := TakeLock(path)
	if err != nil {
		t.Fatal(err)
	}
	_, err = TakeLock(path)
	var held *HeldError
	if !errors.As(err, &held) || !strings.HasPrefix(held.Holder, fmt.Sprintf("process %d on ", os.Getpid())) || !strings.Contains(held.Error(), " since 20") {
		t.Errorf("a second holder: %v", err)
	}
	if err := removeLeftover(path); err != nil || !first.Holds() {
		t.Errorf("a lock that is held was removed, %v", err)
	}
	if err := first.Release(); err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the file is left: %v", err)
	}

	// The file of a killed process is reused, or removed.
	if err := os.WriteFile(path, []byte("process 1 on a host of long ago, with a long name\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	second, err := TakeLock(path)
	if err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(path); err != nil || strings.Contains(string(text), "long ago") {
		t.Errorf("holder %q, %v", text, err)
	}
	if err := os.Remove(path); err == nil { // not on Windows, where it is open
		third, err := TakeLock(path)
		if err != nil || second.Holds() || !third.Holds() {
			t.Fatalf("after the file was removed: %v", err)
		}
		if err := second.Release(); err != nil || !third.Holds() {
			t.Errorf("the loser took the other's file with it, %v", err)
		}
		second = third
	}
	if err := second.Release(); err != nil {
		t.Error(err)
	}
	os.WriteFile(path, nil, 0o666)
	long := time.Now().Add(-2 * unlocked)
	os.Chtimes(path, long, long)
	if err := removeLeftover(path); err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a leftover stays: %v", err)
	}
}

// TestLockLink checks that a symbolic link instead of a lock file is not followed.
func TestLockLink(t *testing.T) {
	dir := t.TempDir()
	precious, path := filepath.Join(dir, "precious"), filepath.Join(dir, "a.lock")
	if err := os.WriteFile(precious, []byte("text"), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(precious, path); err != nil {
		t.Skip(err)
	}
	if info, err := os.Lstat(path); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Skip("this system makes no links") // Wine
	}
	if _, err := TakeLock(path); err == nil {
		t.Error("a link was locked")
	}
	if text, _ := os.ReadFile(precious); string(text) != "text" {
		t.Errorf("the file that the link names holds %q", text)
	}
}

// TestSynced checks that errors of the disk are returned, but not those of systems that cannot
// sync a folder.
func TestSynced(t *testing.T) {
	if !foldersSync {
		t.Skip("folders cannot be synced on this system")
	}
	for _, err := range []error{syscall.EIO, syscall.ENOSPC} {
		if got := synced(&os.PathError{Op: "sync", Path: "x", Err: err}); !errors.Is(got, err) {
			t.Errorf("%v became %v", err, got)
		}
	}
	for _, err := range []error{nil, syscall.EINVAL, syscall.ENOTSUP} {
		if got := synced(err); got != nil {
			t.Errorf("%v is returned", got)
		}
	}
}

func TestMkdirAll(t *testing.T) {
	dir := t.TempDir()
	deep := filepath.Join(dir, "a", "b", "c")
	for range 2 {
		if err := MkdirAll(deep); err != nil {
			t.Fatal(err)
		}
	}
	if info, err := os.Stat(deep); err != nil || !info.IsDir() {
		t.Error(err)
	}
	file := filepath.Join(dir, "file")
	os.WriteFile(file, nil, 0o666)
	if err := MkdirAll(filepath.Join(file, "x")); err == nil {
		t.Error("a folder in a file")
	}
}
