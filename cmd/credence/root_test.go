package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// TestOneVerb checks that the tree of one verb has this verb only, and the help that it has among all others.
func TestOneVerb(t *testing.T) {
	helpOf := func(root *cobra.Command, path []string) string {
		t.Helper()
		var out bytes.Buffer
		if code := execute(root, append(path, "--help"), nil, &out, &out); code != exitOK {
			t.Fatalf("%q: exit code %d\n%s", path, code, &out)
		}
		return out.String()
	}
	for _, s := range stages() {
		for _, v := range s.verbs {
			verbs := newRoot(v.name, "argument").Commands()
			if len(verbs) != 1 || verbs[0].Name() != v.name {
				t.Errorf("%s: the tree has %d verbs, the first of them %s", v.name, len(verbs), verbs[0].Name())
				continue
			}
			eachCommand(verbs[0], func(c *cobra.Command) {
				if c.DisableFlagParsing {
					return
				}
				path := strings.Fields(c.CommandPath())[1:]
				if one, all := helpOf(newRoot(path...), path), helpOf(newRoot(), path); one != all {
					t.Errorf("%q: the help is\n%s\nand among all verbs\n%s", path, one, all)
				}
			})
		}
	}
	for _, args := range [][]string{nil, {"--kernel", "generic", "version"}, {"help", "version"}, {"__complete", "version"}, {"versoin"}} {
		if n := len(newRoot(args...).Commands()); n < 20 {
			t.Errorf("%q: the tree has %d verbs", args, n)
		}
	}
}
