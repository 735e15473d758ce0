package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// repository writes files and adds them to a repository.
func repository(t *testing.T, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for name, text := range files {
		if err := writeFile(filepath.Join(root, name), []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	for _, args := range [][]string{{"init", "--quiet"}, {"add", "."}} {
		if out, err := exec.Command("git", append([]string{"-C", root}, args...)...).CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	return root
}

// Links to files and anchors that do not exist, and commands that the program does not have, are errors with the page's name.
func TestCheck(t *testing.T) {
	root := repository(t, map[string]string{
		"README.md":     "# Top\n\n[a](docs/a.md#the-second-part) [b](docs/b.md) [c](#nowhere) [web](https://example.org)\n",
		"docs/a.md":     "# A\n\n## The second part\n\n![p](p.png)\n\n```sh\ncredence train --data a.csv \\\n  --vots b.csv\ncredence trian x\necho x | credence mixture --json # --none\n```\n",
		"docs/p.png":    "picture",
		"testdata/x.md": "[never](read)",
	})
	s := &site{root: root, pages: map[string]*page{}, verbs: map[string][]string{"train": {"data", "votes"}, "mixture": {"json"}}}
	if err := s.read(); err != nil {
		t.Fatal(err)
	}
	err := s.check()
	if err == nil {
		t.Fatal("expected errors")
	}
	found := strings.Split(err.Error(), "\n")
	want := []string{
		"README.md: link docs/b.md: expected a file",
		"README.md: link #nowhere: expected a heading",
		"credence train has no flag --vots",
		`docs/a.md: "credence trian x": expected a verb of credence, found "trian"`,
	}
	if len(found) != len(want) {
		t.Fatalf("found %q", found)
	}
	for i := range want {
		if !strings.Contains(found[i], want[i]) {
			t.Errorf("found %q, expected %q", found[i], want[i])
		}
	}
}

// Pages link to each other as they are rendered, and show their pictures.
func TestWrite(t *testing.T) {
	root := repository(t, map[string]string{"README.md": "# Top\n\n[a](docs/a.md#part)\n", "docs/a.md": "# A & B\n\n![p](p.png)\n\n| x |\n| - |\n| 1 |\n\n## Part\n", "docs/p.png": "picture"})
	s := &site{root: root, pages: map[string]*page{}}
	out := t.TempDir()
	for _, f := range []func() error{s.read, s.check, func() error { return s.write(out) }} {
		if err := f(); err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string]string{"README.html": `href="docs/a.html#part"`, "docs/a.html": "<title>A &amp; B</title>", "docs/p.png": "picture"} {
		text, err := os.ReadFile(filepath.Join(out, name))
		if err != nil || !strings.Contains(string(text), want) {
			t.Errorf("%s: expected %q, found %q, %v", name, want, text, err)
		}
	}
}
