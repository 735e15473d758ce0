//go:build unix

package atomicfile

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// TestUmask checks that new files and folders follow the umask, and that a file that is
// replaced keeps its mode.
func TestUmask(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a.txt")
	for _, c := range []struct {
		umask        int
		mode, folder os.FileMode
	}{{0o022, 0o644, 0o755}, {0o077, 0o600, 0o700}, {0o002, 0o664, 0o775}, {0o027, 0o640, 0o750}} {
		os.RemoveAll(path)
		old := syscall.Umask(c.umask)
		err := Write(path, text("new"))
		made := MkdirAll(filepath.Join(dir, "f"))
		syscall.Umask(old)
		if err != nil || made != nil {
			t.Fatal(err, made)
		}
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != c.mode {
			t.Errorf("umask %03o: mode %v, %v; want %v", c.umask, info.Mode(), err, c.mode)
		}
		if info, err := os.Stat(filepath.Join(dir, "f")); err != nil || info.Mode().Perm() != c.folder {
			t.Errorf("umask %03o: folder %v, %v; want %v", c.umask, info.Mode(), err, c.folder)
		}
		os.Remove(filepath.Join(dir, "f"))
	}
	for _, mode := range []os.FileMode{0o600, 0o666} {
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		if err := Write(path, text("other")); err != nil {
			t.Fatal(err)
		}
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != mode {
			t.Errorf("replaced: mode %v, %v; want %v", info.Mode(), err, mode)
		}
	}
}
