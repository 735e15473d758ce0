package dataset

import (
	"context"
	"errors"
	"fmt"
	"image"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestOutside checks that a table can name files in its own folder, and others only
// if that is allowed.
func TestOutside(t *testing.T) {
	dir := t.TempDir()
	inside := filepath.Join(dir, "tables")
	if err := os.Mkdir(inside, 0o777); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{filepath.Join(dir, "a.png"), filepath.Join(inside, "b.png")} {
		f, err := os.Create(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(png.Encode(f, image.NewGray(image.Rect(0, 0, 4, 4))), f.Close()); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		path string
		fine bool
	}{
		{"b.png", true}, {"./b.png", true}, {"../a.png", false}, {"../tables/b.png", false},
		{filepath.Join(dir, "a.png"), false}, {filepath.Join(inside, "b.png"), false},
	} {
		table := filepath.Join(inside, "items.csv")
		if err := os.WriteFile(table, fmt.Appendf(nil, "item,scan\n1,%s\n", c.path), 0o666); err != nil {
			t.Fatal(err)
		}
		for _, anyPath := range []bool{false, true} {
			o := FeatureOptions{ImageColumn: "scan", AnyPath: anyPath}
			ds, err := Load(context.Background(), LoadOptions{Data: []string{table}, NoVotes: true, FeatureOptions: o})
			if fine := c.fine || anyPath; fine != (err == nil) || !fine && (!errors.Is(err, ErrOutside) || !strings.Contains(err.Error(), `item "1", column "scan"`)) {
				t.Errorf("%s, any path %t: %v", c.path, anyPath, err)
			}
			if err != nil {
				continue
			}
			parts := ds.Features
			ds.Close()
			s, err := OpenStream(context.Background(), table, parts, StreamOptions{FeatureOptions: FeatureOptions{ImageColumn: "scan"}})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := s.Next(); c.fine != (err == nil) || !c.fine && !strings.Contains(err.Error(), ErrOutside.Error()) {
				t.Errorf("%s, streamed: %v", c.path, err)
			}
			s.Close()
		}
	}
}
