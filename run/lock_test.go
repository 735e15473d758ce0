package run

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"credence/train"
)

// TestInUse: while a run is trained its folder is refused to every other, with who
// has it; nothing of the others gets into it, and afterwards it is free.
func TestInUse(t *testing.T) {
	folder := Folder(filepath.Join(t.TempDir(), "run[1]")) // a pattern, if anybody took it for one
	d := &Partition{Items: plane(80), Learn: plane(80)}
	foreign := func(w io.Writer, _ *train.Options) error {
		_, err := io.WriteString(w, "another run's")
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	tried := false
	o := Options{Fit: quick(), Config: writeConfig}
	o.Fit.Progress = func(train.Event) {
		defer cancel()
		if tried {
			return
		}
		tried = true
		for _, mode := range []Mode{New, Resume, Overwrite} {
			for name, err := range map[string]error{
				"Check": folder.Check(mode),
				"Train": func() error {
					_, err := Train(context.Background(), folder, d, Options{Mode: mode, Fit: quick(), Config: foreign})
					return err
				}(),
			} {
				if !errors.Is(err, ErrInUse) || !strings.Contains(err.Error(), fmt.Sprintf("is in use by process %d on ", os.Getpid())) {
					t.Errorf("%s, mode %d: %v", name, mode, err)
				}
			}
		}
	}
	if _, err := Train(ctx, folder, d, o); !errors.Is(err, train.ErrStopped) || !tried {
		t.Fatalf("stopped: %v", err)
	}
	if !folder.Unfinished() {
		t.Error("no checkpoints were found")
	}
	o.Mode, o.Fit.Progress = Resume, nil
	trained(t, folder, d, o)
	if text := string(read(t, folder, ConfigFile)); !strings.HasPrefix(text, "rate") {
		t.Errorf("configuration %q", text)
	}
	if folder.Has(lockFile) || folder.Has("checkpoint") {
		t.Error("a lock or checkpoints are left")
	}
}

// TestReplaced: a run whose folder was removed, and which another has taken since,
// does not write into it.
func TestReplaced(t *testing.T) {
	folder := Folder(filepath.Join(t.TempDir(), "run"))
	d := &Partition{Items: plane(80), Learn: plane(80)}
	o := Options{Fit: quick(), Config: writeConfig}
	if runtime.GOOS == "windows" {
		t.Skip("the folder of an open file cannot be removed on this system")
	}
	o.Fit.Progress = func(train.Event) { os.RemoveAll(string(folder)) }
	if _, err := Train(context.Background(), folder, d, o); err == nil || !strings.Contains(err.Error(), "was removed or replaced") {
		t.Errorf("error %v", err)
	}
	if folder.Has(ModelFile) || folder.Has(ConfigFile) {
		t.Error("files of the run were written")
	}
}

// TestKilledEarly: a run that was killed in the first write of its configuration
// leaves a folder that every mode accepts.
func TestKilledEarly(t *testing.T) {
	for _, mode := range []Mode{New, Resume, Overwrite} {
		folder := Folder(filepath.Join(t.TempDir(), "run"))
		if err := os.Mkdir(string(folder), 0o755); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{lockFile, ".config.yaml.12.tmp"} {
			long := time.Now().Add(-time.Hour) // on Windows a fresh one could be a file that is about to be renamed
			if err := errors.Join(os.WriteFile(folder.Path(name), []byte("half"), 0o600), os.Chtimes(folder.Path(name), long, long)); err != nil {
				t.Fatal(err)
			}
		}
		trained(t, folder, &Partition{Items: plane(80), Learn: plane(80)}, Options{Mode: mode, Fit: quick(), Config: writeConfig})
		if folder.stale() {
			t.Errorf("mode %d: leftovers stay", mode)
		}
	}
}
