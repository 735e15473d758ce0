package train

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"
)

// TestOutside runs a program of another module that trains, saves, loads and
// predicts with a layer and a method of its own.
func TestOutside(t *testing.T) {
	if testing.Short() {
		t.Skip("builds a program")
	}
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	// The versions of Go and of the modules that this one needs come from its go.mod.
	ours, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	version := regexp.MustCompile(`(?m)^go .*$`).FindString(string(ours))
	source, err := os.ReadFile(filepath.Join("testdata", "outside", "main.go"))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for name, text := range map[string]string{
		"main.go": string(source),
		"go.mod":  "module outside\n\n" + version + "\n",
		"go.work": version + "\n\nuse .\nuse " + root + "\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command("go", "run", ".")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOWORK="+filepath.Join(dir, "go.work"), "GOFLAGS=-trimpath")
	out, err := cmd.CombinedOutput()
	const want = `without them: true
trained: 0.s true sharpness true
nodule 2 is rather a yes: false the same: true
nodule 57 is rather a yes: true the same: true
`
	if err != nil || string(out) != want {
		t.Errorf("printed\n%s\nwant\n%s\n%v", out, want, err)
	}
}
