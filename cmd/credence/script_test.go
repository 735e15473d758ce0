package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"credence": main, "orphan": orphan})
}

// TestScripts runs testdata/script, one file per verb or convention of the command
// line.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		UpdateScripts:       os.Getenv("UPDATE_SCRIPTS") != "",
		Setup: func(env *testscript.Env) error {
			// Under the race detector every program would sleep a second
			// before it ends.
			env.Setenv("GORACE", "atexit_sleep_ms=0")
			// .ci/compare runs other builds of the program.
			if dir := os.Getenv("CREDENCE_PATH"); dir != "" {
				env.Setenv("PATH", dir+string(os.PathListSeparator)+env.Getenv("PATH"))
			}
			return nil
		},
		Condition: func(cond string) (bool, error) {
			if cond == "static" { // the program loads no libraries
				return static, nil
			}
			if cond == "root" { // permissions do not apply to root
				return os.Geteuid() == 0, nil
			}
			return false, fmt.Errorf("unknown condition %q", cond)
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"exits":           exits,
			"makedata":        makeData,
			"makearray":       makeArray,
			"makebooleans":    makeBooleans,
			"makecollections": makeCollections,
			"makeembeds":      makeEmbeddings,
			"maketexts":       makeTexts,
			"makefolder":      makeFolder,
			"makelong":        makeLong,
			"makerated":       makeRated,
			"members":         trainMembers,
			"cut":             cut,
			"metadata":        metadata,
			"patch":           patch,
			"makevolumes":     makeVolumes,
			"trained-model":   trainedModel,
		},
	})
}

// exits runs a program that must exit with a given code, which "! exec" cannot
// check:
//
//	exits 2 credence nonsense
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits code program [args...]")
	}
	want, err := strconv.Atoi(args[0])
	if err != nil {
		ts.Fatalf("exits: %v", err)
	}
	code := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		exit, ok := errors.AsType[*exec.ExitError](err)
		if !ok {
			ts.Fatalf("exits: %v", err)
		}
		code = exit.ExitCode()
	}
	if code != want {
		ts.Fatalf("%s exited with code %d, want %d", args[1], code, want)
	}
}
