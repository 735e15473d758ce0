package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestRename(t *testing.T) {
	const to = "example.org/team/credence"
	cases := map[string]struct{ before, after string }{
		"go.mod":       {"module credence\n\ngo 1.26\n\nrequire github.com/x/credence v1.0.0\n", "module " + to + "\n\ngo 1.26\n\nrequire github.com/x/credence v1.0.0\n"},
		"tools/go.mod": {"module credence/tools\n\nrequire credence v0.0.0\n\nreplace credence => ../\n", "module " + to + "/tools\n\nrequire " + to + " v0.0.0\n\nreplace " + to + " => ../\n"},
		"mixture/beta.go": {"package mixture\n\nimport (\n\t\"credence/internal/rng\"\n\t\"fmt\"\n)\n\n// See [credence/internal/rng.Source] and /credence/ping.\nconst a = \"credence/v1\"\n\nconst modulePath = \"credence\"\n",
			"package mixture\n\nimport (\n\t\"" + to + "/internal/rng\"\n\t\"fmt\"\n)\n\n// See [" + to + "/internal/rng.Source] and /credence/ping.\nconst a = \"credence/v1\"\n\nconst modulePath = \"" + to + "\"\n"},
		"internal/rng/rng.go": {"package rng\n", "package rng\n"},
		"README.md": {"Run `credence/mixture`, credence/mixture and credence/mixture.\n`credence train` in cmd/credence; go mod edit -require credence@v0.0.0 -replace credence=../credence\nThe models are in /var/lib/credence/mixture, or credence/models.\n",
			"Run `" + to + "/mixture`, " + to + "/mixture and " + to + "/mixture.\n`credence train` in cmd/credence; go mod edit -require " + to + "@v0.0.0 -replace " + to + "=../credence\nThe models are in /var/lib/credence/mixture, or credence/models.\n"},
		"CHANGELOG.md": {"`credence/mixture` is new.\n", "`credence/mixture` is new.\n"},
	}
	dir := t.TempDir()
	for name, c := range cases {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(c.before), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	n, err := rename(dir, to)
	if err != nil {
		t.Fatal(err)
	}
	if n != 4 {
		t.Errorf("%d files rewritten, expected 4", n)
	}
	for name, c := range cases {
		if got, _ := os.ReadFile(filepath.Join(dir, name)); string(got) != c.after {
			t.Errorf("%s is now\n%s\nexpected\n%s", name, got, c.after)
		}
	}
	for _, bad := range []string{"", "Not A Path", "example.org/../x", to} {
		if _, err := rename(dir, bad); err == nil {
			t.Errorf("renamed to %q", bad)
		}
	}
}

// TestUsage runs the script without a path: it prints its usage and exits with 2.
func TestUsage(t *testing.T) {
	script := exec.Command("../rename-module")
	out, err := script.CombinedOutput()
	if code := script.ProcessState.ExitCode(); code != 2 || !strings.HasPrefix(string(out), "usage: rename-module PATH\n") {
		t.Errorf("exit status %d (%v), expected 2 and the usage; output:\n%s", code, err, out)
	}
}
