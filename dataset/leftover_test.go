package dataset

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// An incomplete cache of a killed process is removed when the next one is made.
func TestCacheLeftover(t *testing.T) {
	inDir(t, "items.csv", many("id,a,b", "#,#,-#", 50))
	if err := os.Mkdir("cache", 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile("cache/.rows-00ff.npy.5.tmp", []byte("half"), 0o600); err != nil {
		t.Fatal(err)
	}
	got := readCached(t, "items.csv", FeatureOptions{Memory: 100, CacheDir: "cache"})
	if want := readCached(t, "items.csv", FeatureOptions{}); !slices.Equal(got, want) {
		t.Error("the cache gives other values")
	}
	files, err := filepath.Glob("cache/*")
	if err != nil || len(files) != 1 || filepath.Ext(files[0]) != ".npy" {
		t.Errorf("left in the cache: %q, %v", files, err)
	}
}
