package study

import (
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"credence/evaluate"
)

type number struct{ X float64 }

func TestFinishedPiecesAreKept(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "out")
	calls := 0
	run := func(seed int, overwrite bool) (float64, error) {
		f, err := OpenFolder(dir, testStudy{seed}, overwrite)
		if err != nil {
			return 0, err
		}
		got, err := piece(context.Background(), f, "first", func(context.Context) (number, error) {
			calls++
			return number{float64(seed) + 0.1}, nil
		})
		return got.X, err
	}
	for range 2 {
		if x, err := run(1, false); x != 1.1 || err != nil {
			t.Fatalf("got %v, %v, want 1.1", x, err)
		}
	}
	if calls != 1 {
		t.Errorf("a finished piece was worked on %d times, want once", calls)
	}
	if _, err := run(2, false); !errors.Is(err, ErrOtherStudy) || !strings.Contains(err.Error(), `"seed":2`) {
		t.Errorf("other settings: got %v, want ErrOtherStudy that names them", err)
	}
	if x, err := run(2, true); x != 2.1 || err != nil {
		t.Errorf("overwriting: got %v, %v, want 2.1", x, err)
	}
}

// TestLeftovers: what a killed process left half written is removed, in a study
// that goes on and in one that was killed in its first write.
func TestLeftovers(t *testing.T) {
	dir := t.TempDir()
	pieces := filepath.Join(dir, piecesFolder)
	plant := func(path string) string {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("half"), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	stale := []string{plant(filepath.Join(pieces, ".settings.json.9.tmp"))}
	for range 2 {
		if _, err := OpenFolder(dir, testStudy{}, false); err != nil {
			t.Fatal(err)
		}
		for _, path := range stale {
			if _, err := os.Lstat(path); !os.IsNotExist(err) {
				t.Errorf("%s is still there: %v", path, err)
			}
		}
		stale = []string{plant(filepath.Join(pieces, ".00ff.json.9.tmp")), plant(filepath.Join(dir, ".numbers.json.9.tmp"))}
	}
}

func TestBrokenPieceIsDoneAgain(t *testing.T) {
	dir := t.TempDir()
	f, err := OpenFolder(dir, testStudy{}, false)
	if err != nil {
		t.Fatal(err)
	}
	work := func(context.Context) (number, error) { return number{3}, nil }
	if _, err := piece(t.Context(), f, "k", work); err != nil {
		t.Fatal(err)
	}
	files, _ := filepath.Glob(filepath.Join(dir, piecesFolder, "*.json"))
	for _, name := range files {
		if filepath.Base(name) != "settings.json" {
			if err := os.WriteFile(name, []byte(`{"Key":"k","Result":{"X":7`), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	if got, err := piece(t.Context(), f, "k", work); got.X != 3 || err != nil {
		t.Errorf("got %v, %v, want 3", got, err)
	}
}

func TestFailedPieceIsNotKept(t *testing.T) {
	f, err := OpenFolder(t.TempDir(), testStudy{}, false)
	if err != nil {
		t.Fatal(err)
	}
	fail := errors.New("no luck")
	if _, err := piece(t.Context(), f, "k", func(context.Context) (number, error) { return number{}, fail }); !errors.Is(err, fail) {
		t.Fatalf("got %v, want the error of the work", err)
	}
	got, err := piece(t.Context(), f, "k", func(context.Context) (number, error) { return number{5}, nil })
	if got.X != 5 || err != nil {
		t.Errorf("got %v, %v, want 5", got, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := piece(ctx, f, "other", func(context.Context) (number, error) { return number{}, nil }); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want that no further piece is begun", err)
	}
}

// TestUnknownNumberIsKept: a number that is not known is not 0 when a study goes on.
func TestUnknownNumberIsKept(t *testing.T) {
	f, err := OpenFolder(t.TempDir(), testStudy{}, false)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		got, err := piece(t.Context(), f, "k", func(context.Context) (evaluate.Number, error) { return evaluate.Number(math.NaN()), nil })
		if got.Known() || err != nil {
			t.Errorf("got %v, %v, want a number that is not known", got, err)
		}
	}
}

func TestFolderWithOtherThings(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "thesis.tex"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenFolder(dir, testStudy{}, false); !errors.Is(err, ErrTaken) {
		t.Errorf("got %v, want ErrTaken", err)
	}
	if _, err := OpenFolder(dir, testStudy{}, true); err != nil {
		t.Errorf("with overwrite: %v", err)
	}
	if _, err := os.Stat(filepath.Join(dir, "thesis.tex")); err != nil {
		t.Errorf("a file that is not the study's was touched: %v", err)
	}
}

// testStudy is a study whose numbers depend on a seed.
type testStudy struct {
	Seed int `json:"seed"`
}

func (testStudy) Name() string                                      { return "test" }
func (testStudy) Prepare(context.Context, *Folder) (int, error)     { return 0, nil }
func (testStudy) Measure(context.Context, *Folder) (Results, error) { return nil, nil }
