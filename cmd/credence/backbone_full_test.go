//go:build full || cuda

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"credence/internal/python"
)

// static reports whether the program loads no libraries.
const static = false

// TestBackboneScripts runs testdata/backbone with graphs, photographs, votes and the library of ONNX Runtime.
func TestBackboneScripts(t *testing.T) {
	interpreter := python.Interpreter(t, "onnx", "onnxruntime", "PIL", "numpy")
	libraries, _ := filepath.Glob(filepath.Join(filepath.Dir(interpreter), "..", "lib", "python3*", "site-packages", "onnxruntime", "capi", "libonnxruntime.so*"))
	if len(libraries) == 0 {
		t.Fatalf("no library next to %s", interpreter)
	}
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	internal := filepath.Join(here, "..", "..", "internal")
	testscript.Run(t, testscript.Params{
		Dir: "testdata/backbone", RequireExplicitExec: true, RequireUniqueNames: true, UpdateScripts: os.Getenv("UPDATE_SCRIPTS") != "",
		Setup: func(env *testscript.Env) error {
			env.Setenv("CREDENCE_ONNXRUNTIME", libraries[0])
			env.Setenv("XDG_CACHE_HOME", filepath.Join(env.WorkDir, "cache"))
			env.Setenv("HOME", env.WorkDir)
			for _, args := range [][]string{{filepath.Join(internal, "backbone", "testdata", "graphs.py"), "graphs"}, {filepath.Join(here, "testdata", "backbone", "items.py")}} {
				cmd := exec.Command(interpreter, args...)
				cmd.Dir, cmd.Stderr = env.WorkDir, os.Stderr
				if err := cmd.Run(); err != nil {
					return err
				}
			}
			text, err := os.ReadFile(filepath.Join(internal, "tokenizer", "testdata", "tokenizer.json"))
			if err != nil {
				return err
			}
			return os.WriteFile(filepath.Join(env.WorkDir, "graphs", "bert", "tokenizer.json"), text, 0o600)
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){"exits": exits},
	})
}
