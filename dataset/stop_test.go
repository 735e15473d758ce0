package dataset

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
)

// countdown is a context that is done after a number of calls of Err.
type countdown struct {
	context.Context
	at    int32
	asked atomic.Int32
}

func (c *countdown) Err() error {
	if c.asked.Add(1) >= c.at {
		return context.Canceled
	}
	return nil
}

// Reading any format ends soon after its context is done, and leaves no files
// behind.
func TestStop(t *testing.T) {
	image, err := os.ReadFile("testdata/gray.png")
	if err != nil {
		t.Fatal(err)
	}
	cohort(t, 6)
	write := func(name string, text []byte) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"a.png", "b.png", "c.png", "d.png", "e.png"} {
		write("images/"+name, image)
	}
	write("rows.csv", []byte(many("id,a,b", "#,1,2", 3000)))
	for _, c := range []struct {
		path string
		at   int32 // the question that is answered with a stop
	}{{"rows.csv", 2}, {"rows.csv", 5}, {"images", 3}, {"scans", 3}} {
		ctx := &countdown{Context: context.Background(), at: c.at}
		_, err := readFeatures(ctx, c.path, FeatureOptions{Memory: 1, CacheDir: "cache"})
		if !errors.Is(err, context.Canceled) || ctx.asked.Load() < c.at {
			t.Errorf("%s: got %v after %d questions", c.path, err, ctx.asked.Load())
		}
		if left, err := filepath.Glob("cache/*.tmp"); err != nil || len(left) > 0 {
			t.Errorf("%s: left %v (%v)", c.path, left, err)
		}
	}
}
