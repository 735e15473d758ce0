package credence_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestExamples runs the programs in examples, which are modules of their own, and compares what they print with their
// output.txt.
func TestExamples(t *testing.T) {
	if testing.Short() {
		t.Skip("builds five programs")
	}
	mains, err := filepath.Glob("examples/*/main.go")
	if err != nil || len(mains) < 5 {
		t.Fatal(mains, err)
	}
	for _, main := range mains {
		dir := filepath.Dir(main)
		t.Run(filepath.Base(dir), func(t *testing.T) {
			want, err := os.ReadFile(filepath.Join(dir, "output.txt"))
			if err != nil {
				t.Fatal(err)
			}
			cmd := exec.Command("go", "run", ".")
			cmd.Dir = dir
			if out, err := cmd.CombinedOutput(); err != nil || string(out) != string(want) {
				t.Errorf("printed\n%s\nwant\n%s\n%v", out, want, err)
			}
		})
	}
}
