package main

import (
	"bytes"
	"cmp"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
)

// TestExitCodes runs a tree of fake verbs, because every kind of failure must
// end in the same way in all verbs.
func TestExitCodes(t *testing.T) {
	tree := func() *cobra.Command {
		root := &cobra.Command{Use: "credence", SilenceErrors: true, SilenceUsage: true}
		fail := func(err error) func(*cobra.Command, []string) error {
			return func(*cobra.Command, []string) error { return err }
		}
		needs := &cobra.Command{Use: "needs", RunE: fail(nil)}
		needs.Flags().String("out", "", "")
		needs.MarkFlagRequired("out")
		root.AddCommand(needs,
			&cobra.Command{Use: "good", Args: noArgs, RunE: fail(nil)},
			&cobra.Command{Use: "bad", RunE: fail(errors.New("it broke"))},
			&cobra.Command{Use: "hinted", RunE: fail(withHint(errors.New("it broke"), "fix it"))},
			&cobra.Command{Use: "broken", RunE: func(*cobra.Command, []string) error { panic("index out of range") }},
			&cobra.Command{Use: "misused", RunE: fail(usagef("--level %v is not in (0, 1)", 7))},
			&cobra.Command{Use: "misusedHinted", RunE: fail(withHint(usagef("no --alpha"), "give --alpha 1,2"))},
		)
		return root
	}
	for _, c := range []struct {
		args   string
		code   int
		stderr string
	}{
		{"good", 0, ""},
		{"bad", 1, "credence: error: it broke\n"},
		{"hinted", 1, "credence: error: it broke\ncredence: hint: fix it\n"},
		{"misused", 2, "credence: error: --level 7 is not in (0, 1)\n" +
			"credence: hint: run \"credence misused --help\" for usage\n"},
		{"misusedHinted", 2, "credence: error: no --alpha\ncredence: hint: give --alpha 1,2\n"},
		{"needs", 2, "credence: error: required flag(s) \"out\" not set\n" +
			"credence: hint: run \"credence needs --help\" for usage\n"},
		{"needs --out", 2, "credence: error: flag needs an argument: --out\n" +
			"credence: hint: run \"credence needs --help\" for usage\n"},
		{"good morning", 2, "credence: error: credence good takes no arguments, found \"morning\"\n" +
			"credence: hint: run \"credence good --help\" for usage\n"},
	} {
		var stdout, stderr bytes.Buffer
		code := execute(tree(), strings.Fields(c.args), nil, &stdout, &stderr)
		if code != c.code || stdout.String() != "" || stderr.String() != c.stderr {
			t.Errorf("%s: exit code %d, stdout %q, stderr\n%swant exit code %d, no stdout, stderr\n%s",
				c.args, code, &stdout, &stderr, c.code, c.stderr)
		}
	}

	var stderr bytes.Buffer
	if code := execute(tree(), []string{"broken"}, nil, io.Discard, &stderr); code != exitCrash ||
		!strings.HasPrefix(stderr.String(), "credence: error: internal error: index out of range\n") {
		t.Errorf("a panic: exit code %d, %s", code, &stderr)
	}
}

type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, errors.New("no space left") }

// Help and --version are printed by cobra, which drops write errors or would
// report them as usage errors.
func TestWriteErrors(t *testing.T) {
	for _, args := range [][]string{nil, {"help"}, {"--help"}, {"--version"}, {"version"}, {"completion", "bash"}} {
		var stderr bytes.Buffer
		code := program(args, nil, fullDisk{}, &stderr)
		if code != exitError || !strings.Contains(stderr.String(), "no space left\n") {
			t.Errorf("%q: exit code %d, stderr %q", args, code, &stderr)
		}
	}
}

// Every command must have help and examples, on lines that fit a terminal.
func TestHelpTexts(t *testing.T) {
	eachCommand(newRoot(), func(c *cobra.Command) {
		path := c.CommandPath()
		if c.Short == "" || c.Long == "" || c.Example == "" {
			t.Errorf("%s: short help, long help or example missing", path)
		}
		seen := map[string]bool{}
		for _, sub := range c.Commands() {
			if seen[sub.Name()] {
				t.Errorf("%s: %s is there twice", path, sub.Name())
			}
			seen[sub.Name()] = true
		}
		for line := range strings.Lines(c.Long + "\n" + c.Example) {
			if n := len([]rune(strings.TrimRight(line, "\n"))); n > 80 {
				t.Errorf("%s: line of %d characters: %s", path, n, line)
			}
		}
	})
}

// build compiles the binary the way it is released.
func build(tb testing.TB) string {
	tb.Helper()
	bin := filepath.Join(tb.TempDir(), "credence")
	cmd := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w", "-o", bin, ".")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		tb.Fatalf("go build: %v\n%s", err, out)
	}
	return bin
}

// TestBinary checks that the program is static and silent when its reader is gone. CREDENCE_BINARY names a build to check, as in .ci/run;
// compiling one here would take as long as a third of all tests, since without cgo everything that imports net is compiled again.
func TestBinary(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("reads ELF and relies on SIGPIPE")
	}
	bin := os.Getenv("CREDENCE_BINARY")

	t.Run("static", func(t *testing.T) {
		if bin == "" {
			// Only purego, which calls libraries without cgo, makes a build without cgo dynamic.
			cmd := exec.Command("go", "list", "-deps", ".")
			cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
			out, err := cmd.Output()
			if err != nil {
				t.Fatalf("go list: %v", err)
			}
			if list := strings.Fields(string(out)); slices.Contains(list, "github.com/ebitengine/purego") || !slices.Contains(list, "net/http") {
				t.Errorf("the program depends on %q, want net/http and not purego", list)
			}
			return
		}
		f, err := elf.Open(bin)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		for _, p := range f.Progs {
			if p.Type == elf.PT_DYNAMIC || p.Type == elf.PT_INTERP {
				t.Errorf("the binary is not static: it has a %v segment", p.Type)
			}
		}
	})

	t.Run("closed pipe", func(t *testing.T) {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		r.Close()
		defer w.Close()
		var stderr bytes.Buffer
		cmd := exec.Command(cmp.Or(bin, "credence"), "help") // the one of TestMain, or a build
		cmd.Stdout, cmd.Stderr = w, &stderr
		err = cmd.Run()
		if err == nil || err.Error() != "signal: broken pipe" || stderr.Len() > 0 {
			t.Errorf("ended with %v, stderr %q; want the signal for a broken pipe and silence", err, &stderr)
		}
	})
}

// BenchmarkStart measures processes from start to exit: one that does nothing, and the prediction of one item with a model
// of default settings. CREDENCE_BINARY names a build to measure. Medians are reported, since other programs delay some starts.
func BenchmarkStart(b *testing.B) {
	bin := os.Getenv("CREDENCE_BINARY")
	if bin == "" {
		bin = build(b)
	}
	start := func(args ...string) func(b *testing.B) {
		return func(b *testing.B) {
			var times []float64
			for b.Loop() {
				begin := time.Now()
				if err := exec.Command(bin, args...).Run(); err != nil {
					b.Fatal(err)
				}
				times = append(times, time.Since(begin).Seconds()*1e3)
			}
			slices.Sort(times)
			b.ReportMetric(times[len(times)/2], "median-ms")
		}
	}
	b.Run("version", start("version"))
	for _, classes := range []int{2, 5} {
		dir := b.TempDir()
		at := func(name string) string { return filepath.Join(dir, name) }
		blobs(b, at("items.csv"), at("votes.csv"), classes, 1000)
		blobs(b, at("new.csv"), "", classes, 1)
		train := exec.Command(bin, "train", "--data", at("items.csv"), "--votes", at("votes.csv"), "--out", at("run"))
		if out, err := train.CombinedOutput(); err != nil {
			b.Fatalf("%v\n%s", err, out)
		}
		b.Run(fmt.Sprintf("predict/classes=%d", classes), start("predict", at("run"), at("new.csv")))
	}
}
