// Command credence trains neural classifiers on items with several votes each
// and predicts a distribution of every class probability.
//
// Each verb, or group of verbs, has a file of its own; root.go assembles them, with their help from help/. A verb
// parses its flags into the options of a library package, calls the package, and prints the result.
package main

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"credence/internal/budget"
	"credence/internal/kernel"
)

// The exit codes, as documented in the help of the root command.
const (
	exitOK    = 0
	exitError = 1
	exitUsage = 2
	exitCrash = 3
)

func main() {
	budget.BoundGarbage(256 << 20)
	args := os.Args[1:]
	root := newRoot(args...)
	root.SetContext(endWithParent())
	os.Exit(execute(root, args, os.Stdin, os.Stdout, os.Stderr))
}

// program executes one command line and returns its exit code.
func program(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	return execute(newRoot(args...), args, stdin, stdout, stderr)
}

// execute runs args on the command tree under root. It recovers from panics: Go would
// exit with 2, which here stands for a usage error, before any work; after a panic some
// work may have been done.
func execute(root *cobra.Command, args []string, stdin io.Reader, stdout, stderr io.Writer) (code int) {
	defer func() {
		if p := recover(); p != nil {
			fmt.Fprintf(stderr, "credence: error: internal error: %v\n%s", p, debug.Stack())
			fmt.Fprintln(stderr, "credence: hint: please report it with the lines above and, if you can, with the files")
			code = exitCrash
		}
	}()
	out := &output{w: stdout}
	root.SetIn(stdin)
	root.SetOut(out)
	root.SetErr(stderr)
	addDefaults(root)
	// cobra falls back on os.Args for nil, so no arguments must not be nil.
	root.SetArgs(slices.Concat([]string{}, args))

	if cmd, err := unknownVerb(root, args); err != nil {
		return reportError(stderr, cmd, err)
	}
	useRenamed(root, args)

	// cobra has no type for usage errors; every error before the verb itself
	// starts is one.
	began := false
	eachCommand(root, func(c *cobra.Command) {
		if runE := c.RunE; runE != nil {
			c.RunE = func(c *cobra.Command, args []string) error {
				defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0)) // which --threads may change
				if err := cmp.Or(refuseZeros(c), useThreads(c.Flags())); err != nil {
					return err
				}
				began = true
				return runE(c, args)
			}
		}
	})

	cmd, err := root.ExecuteC()
	switch {
	case err == nil && out.err == nil:
		return exitOK
	case err == nil:
		err = fmt.Errorf("writing results: %w", out.err)
	case !began && out.err == nil:
		err = asUsage(err)
	}
	return reportError(stderr, cmd, err)
}

// output is the standard output of a verb. It keeps the first write error, so
// that help, tables and other unchecked prints still fail on a full disk. A
// reader that goes away, such as head, needs no handling: Go ends a program
// that writes to a closed standard output, without a message.
type output struct {
	w   io.Writer
	err error
}

func (o *output) Write(p []byte) (int, error) {
	if o.err != nil {
		return 0, o.err
	}
	n, err := o.w.Write(p)
	o.err = err
	return n, err
}

// addKernelFlag adds --kernel to every verb. The flag takes precedence over
// the environment variable, which package kernel reads itself.
func addKernelFlag(root *cobra.Command) {
	var name string
	root.PersistentFlags().StringVar(&name, "kernel", "",
		"instruction `set` to use: generic, avx2, avx512 or neon (default $"+kernel.Env+", else the fastest)")
	root.PersistentPreRunE = func(cmd *cobra.Command, _ []string) error {
		if !cmd.Flags().Changed("kernel") {
			return kernel.Err()
		}
		return kernel.Use(name)
	}
}

// sourceVersion is the next release of this source tree.
const sourceVersion = "0.1.0-dev"

// stampedVersion, if set at build time, overrides the other versions; stampedCommit and stampedDate state what it was
// built from, where the build has no record of that:
//
//	go build -ldflags "-X main.stampedVersion=0.1.0" ./cmd/credence
var stampedVersion, stampedCommit, stampedDate string

// versionInfo is the JSON output of credence version.
type versionInfo struct {
	Version string `json:"version"`
	Commit  string `json:"commit,omitempty"`
	Date    string `json:"date,omitempty"` // of the commit
	Go      string `json:"go"`
	OS      string `json:"os"`
	Arch    string `json:"arch"`
	Kernel  string `json:"kernel"`
}

func newVersion() *cobra.Command {
	var asJSON bool
	run := func(cmd *cobra.Command, _ []string) error {
		v := versionInfo{Version: buildVersion(), Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH, Kernel: kernel.Name()}
		from := ""
		if v.Commit, v.Date = buildCommit(); v.Commit != "" {
			from = fmt.Sprintf("commit   %s, %s\n", v.Commit[:min(12, len(v.Commit))], v.Date)
		}
		return printResult(cmd, asJSON, v, "credence %s\n%sgo       %s\nsystem   %s/%s\nkernel   %s\n",
			v.Version, from, strings.TrimPrefix(v.Go, "go"), v.OS, v.Arch, v.Kernel)
	}
	cmd := newVerb("version", "Print the version and the instruction set in use", "", run)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one line of JSON")
	return cmd
}

// buildCommit returns the commit that this binary was built from and its date, "" if they are unknown.
func buildCommit() (commit, date string) {
	if stampedCommit != "" {
		return stampedCommit, stampedDate
	}
	info, ok := debug.ReadBuildInfo()
	for i := 0; ok && i < len(info.Settings); i++ {
		switch s := info.Settings[i]; s.Key {
		case "vcs.revision":
			commit = s.Value
		case "vcs.time":
			date = s.Value
		}
	}
	return commit, date
}

// buildVersion returns the version of this binary.
func buildVersion() string {
	if info, ok := debug.ReadBuildInfo(); ok && stampedVersion == "" {
		return versionFrom(info)
	}
	return cmp.Or(stampedVersion, sourceVersion)
}

// versionFrom returns the release if a module proxy served it, or else the
// version of the source tree with the commit it was built from, if known:
//
//	0.1.0    0.1.0-dev    0.1.0-dev+94d8182c0a1f    0.1.0-dev+94d8182c0a1f.dirty
func versionFrom(info *debug.BuildInfo) string {
	var revision, dirty string
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			revision = s.Value[:min(12, len(s.Value))]
		case s.Key == "vcs.modified" && s.Value == "true":
			dirty = ".dirty"
		}
	}
	if revision != "" {
		return sourceVersion + "+" + revision + dirty
	}
	if v := info.Main.Version; v != "" && v != "(devel)" {
		return strings.TrimPrefix(v, "v")
	}
	return sourceVersion
}
