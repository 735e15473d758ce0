package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestKubernetesJob: the arguments of the manifest train and join a run, with the folders of this
// test in the place of its claims.
func TestKubernetesJob(t *testing.T) {
	manifest, err := os.ReadFile("../../deploy/kubernetes/train.yaml")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	items, votes := smallData(40)
	for name, text := range map[string]string{"items.csv": items, "votes.csv": votes} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	var commands [][]string
	for _, m := range regexp.MustCompile(`args: \[(.*)\]`).FindAllSubmatch(manifest, -1) {
		line := strings.NewReplacer(`"`, "", ", ", " ", "/data/", dir+"/", "/runs/", dir+"/").Replace(string(m[1]))
		commands = append(commands, strings.Fields(line))
	}
	if len(commands) != 2 || !bytes.Contains(manifest, []byte("completions: 5\n  parallelism: 5\n")) {
		t.Fatalf("commands %q", commands)
	}
	for _, index := range []string{"3", "1", "4", "0", "2"} {
		t.Setenv("JOB_COMPLETION_INDEX", index)
		must(t, strings.Join(commands[0], " ")+" --epochs 1 --widths 4 --quiet")
	}
	must(t, strings.Join(commands[1], " ")+" --quiet")
	must(t, "verify "+dir+"/first --quiet")
}
