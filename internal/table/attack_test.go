//go:build attack

package table

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"credence/internal/python"
)

// TestAttackParquetValues compares the values of files that pyarrow writes, with every codec,
// encoding and page version and all types, with those that it was given. There are 72
// files, or the number in CREDENCE_ATTACK_PARQUET.
func TestAttackParquetValues(t *testing.T) {
	const each = 36 // files per number of rows
	n := 72
	if k, err := strconv.Atoi(os.Getenv("CREDENCE_ATTACK_PARQUET")); err == nil {
		n = k
	}
	interpreter := python.Interpreter(t, "pyarrow.parquet")
	dir := t.TempDir()
	args, files := []string{"testdata/codecs.py", dir}, 0
	for rows := 7; files < n; rows = rows*3/2 + 1 {
		if rows > 10_000 { // of which fewer files are written
			rows = 8
		}
		args = append(args, strconv.Itoa(rows))
		files += each
	}
	if out, err := exec.Command(interpreter, args...).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	paths, err := filepath.Glob(dir + "/*.parquet")
	if err != nil || len(paths) < n {
		t.Fatalf("%d files, want %d or more (%v)", len(paths), n, err)
	}
	for _, path := range paths {
		checkCodecFile(t, path)
	}
	t.Logf("%d files", len(paths))
}
