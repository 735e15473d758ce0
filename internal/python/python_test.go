package python

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// TestMain lets the test's own binary stand in for an interpreter whose only
// modules are json and sys.
func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == "-c" {
		if os.Args[2] == "import json, sys" {
			os.Exit(0)
		}
		fmt.Println("ModuleNotFoundError")
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// outcome notes how a test that asks for an interpreter ends.
type outcome struct {
	testing.TB
	text string
}

func (o *outcome) Helper() {}

func (o *outcome) Fatalf(format string, args ...any) {
	o.text = "failed: " + fmt.Sprintf(format, args...)
	runtime.Goexit()
}

func (o *outcome) Skipf(format string, args ...any) {
	o.text = "skipped: " + fmt.Sprintf(format, args...)
	runtime.Goexit()
}

func TestInterpreter(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	none := filepath.Join(t.TempDir(), "none")
	for _, c := range []struct {
		name, env string
		modules   []string
		want      []string
	}{
		{"has the modules", self, []string{"json", "sys"}, []string{"found " + self}},
		{"lacks a module", self, []string{"json", "nibabel"}, []string{"failed: ", self, "json and nibabel", "ModuleNotFoundError"}},
		{"is not there", none, []string{"json"}, []string{"failed: ", none}},
		{"is not named", "", []string{"json"}, []string{"skipped: python3", "json", "CREDENCE_PYTHON"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Setenv("CREDENCE_PYTHON", c.env)
			t.Setenv("PATH", filepath.Dir(none))
			o := &outcome{TB: t}
			done := make(chan struct{})
			go func() {
				defer close(done)
				o.text = "found " + Interpreter(o, c.modules...)
			}()
			<-done
			for _, want := range c.want {
				if !strings.Contains(o.text, want) {
					t.Errorf("%q, want %q in it", o.text, want)
				}
			}
		})
	}
}
