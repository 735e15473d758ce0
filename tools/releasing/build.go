package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

// target is a system to build for. A name other than credence is a build with tags.
type target struct{ name, os, arch, tags string }

// allTargets are the builds of a release. The full builds, with GPUs and ONNX Runtime, are dynamically linked, and for Linux only.
var allTargets = []target{
	{"credence", "linux", "amd64", ""},
	{"credence", "linux", "arm64", ""},
	{"credence", "darwin", "amd64", ""},
	{"credence", "darwin", "arm64", ""},
	{"credence", "windows", "amd64", ""},
	{"credence", "windows", "arm64", ""},
	{"credence-full", "linux", "amd64", "full"},
	{"credence-full", "linux", "arm64", "full"},
}

// binary is a target that was built.
type binary struct {
	target
	path string
	body []byte
}

// file returns the file name of the program.
func (t target) file() string {
	if t.os == "windows" {
		return t.name + ".exe"
	}
	return t.name
}

// env returns the variables of the environment that build for it.
func (t target) env() []string {
	return []string{"CGO_ENABLED=0", "GOOS=" + t.os, "GOARCH=" + t.arch, "GOFLAGS=", "GOAMD64=v1"}
}

// mostBytes is the largest size of a binary.
const mostBytes = 34 << 20

// clone makes a clean copy of the commit, and gives it the module path.
func (r *release) clone() error {
	changed, err := r.git(r.root, "status", "--porcelain")
	if err != nil {
		return err
	}
	if changed != "" {
		return fmt.Errorf("expected a clean checkout, found changes:\n%s", changed)
	}
	if _, err := run(r.work, nil, "git", "clone", "--quiet", "--no-hardlinks", absolute(r.root), r.source); err != nil {
		return err
	}
	head, err := r.git(r.source, "log", "-1", "--format=%H %ct")
	if err != nil {
		return err
	}
	commit, seconds, _ := strings.Cut(head, " ")
	r.commit = commit
	if r.epoch, err = strconv.ParseInt(seconds, 10, 64); err != nil {
		return err
	}
	if r.module != "" {
		_, err = run(r.source, nil, filepath.Join(r.source, "tools", "rename-module"), r.module)
	}
	return err
}

func (r *release) git(folder string, args ...string) (string, error) {
	out, err := run(folder, nil, "git", args...)
	return strings.TrimSpace(string(out)), err
}

// build builds the binaries of all targets.
func (r *release) build() error {
	for _, t := range r.targets {
		path := filepath.Join(r.work, "bin", t.os+"_"+t.arch, t.file())
		stamp := fmt.Sprintf("-s -w -X main.stampedVersion=%s -X main.stampedCommit=%s -X main.stampedDate=%s", r.version, r.commit, r.date())
		_, err := run(r.source, t.env(),
			"go", "build", "-trimpath", "-buildvcs=false", "-tags", t.tags, "-ldflags", stamp, "-o", path, "./cmd/credence")
		if err != nil {
			return err
		}
		body, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if len(body) > mostBytes {
			return fmt.Errorf("%s for %s/%s: expected at most %d MB, found %.1f MB", t.name, t.os, t.arch, mostBytes>>20, float64(len(body))/(1<<20))
		}
		fmt.Fprintf(os.Stderr, "release: %s for %s/%s: %.1f MB\n", t.name, t.os, t.arch, float64(len(body))/1e6)
		r.binaries = append(r.binaries, binary{t, path, body})
	}
	return nil
}

// host returns the static binary for this machine, which writes the manual: built if it is no target.
func (r *release) host() (string, error) {
	path := filepath.Join(r.work, "bin", "host", "credence")
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	_, err := run(r.source, []string{"CGO_ENABLED=0"}, "go", "build", "-trimpath", "-buildvcs=false",
		"-ldflags", "-X main.stampedVersion="+r.version, "-o", path, "./cmd/credence")
	return path, err
}

// run runs a program in a folder, with further variables of the environment, and returns its output.
func run(folder string, env []string, program string, args ...string) ([]byte, error) {
	cmd := exec.Command(program, args...)
	cmd.Dir, cmd.Env = folder, append(os.Environ(), env...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		return out, fmt.Errorf("%s %s: %w\n%s%s", filepath.Base(program), strings.Join(args, " "), err, out, stderr.Bytes())
	}
	return out, err
}

func absolute(path string) string {
	if p, err := filepath.Abs(path); err == nil {
		return p
	}
	return path
}
