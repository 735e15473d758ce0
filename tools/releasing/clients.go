package main

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// hatchling is what builds the Python package.
const hatchling = "hatchling==1.33.0"

// wheels builds a wheel for every system, with the binaries of the release, and the source distribution.
func (r *release) wheels() error {
	// A folder of .ci is not needed: the environment has just the builder.
	venv := filepath.Join(r.work, "python")
	if _, err := run(r.work, nil, "python3", "-m", "venv", venv); err != nil {
		return err
	}
	python := filepath.Join(venv, "bin", "python")
	if _, err := run(r.work, nil, python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", hatchling); err != nil {
		return err
	}
	made := filepath.Join(r.work, "wheels")
	env := []string{"CREDENCE_BINARIES=" + filepath.Join(r.work, "bin"), "CREDENCE_VERSION=" + r.version, "SOURCE_DATE_EPOCH=" + strconv.FormatInt(r.epoch, 10)}
	folder := filepath.Join(r.source, "python")
	for _, b := range r.binaries {
		if b.name != "credence" {
			continue
		}
		if _, err := run(folder, append(env, "GOOS="+b.os, "GOARCH="+b.arch), python, "-m", "hatchling", "build", "-t", "wheel", "-d", made); err != nil {
			return err
		}
	}
	if _, err := run(folder, env, python, "-m", "hatchling", "build", "-t", "sdist", "-d", made); err != nil {
		return err
	}
	list, err := os.ReadDir(made)
	if err != nil {
		return err
	}
	for _, f := range list {
		body, err := os.ReadFile(filepath.Join(made, f.Name()))
		if err != nil {
			return err
		}
		if err := r.write(f.Name(), body); err != nil {
			return err
		}
	}
	return nil
}

// rVersion is the line of DESCRIPTION with the version.
var rVersion = regexp.MustCompile(`(?m)^Version:.*$`)

// rPackage writes the source package for R. A release candidate is 0.2.0.1 to R, which knows numbers only.
func (r *release) rPackage() error {
	version := regexp.MustCompile(`-(alpha|beta|rc)\.`).ReplaceAllString(r.version, ".9")
	root := filepath.Join(r.source, "r")
	var entries []entry
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, err := filepath.Rel(root, path)
		if err != nil || name == "generate.R" {
			return err
		}
		body, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if name == "DESCRIPTION" {
			body = rVersion.ReplaceAll(body, []byte("Version: "+version))
		}
		entries = append(entries, entry{"credence/" + filepath.ToSlash(name), 0o644, body})
		return nil
	})
	if err != nil {
		return err
	}
	body, err := tarred(entries, r.time())
	if err != nil {
		return err
	}
	return r.write("credence_"+version+".tar.gz", body)
}

// cask writes the file for Homebrew, with the sums of the archives for macOS. The address of the archives is that of
// releases on the host of the module path.
func (r *release) cask() error {
	var sums []string
	for _, arch := range []string{"arm64", "amd64"} {
		name := fmt.Sprintf("credence_%s_darwin_%s.tar.gz", r.version, arch)
		if !slices.Contains(r.files, name) {
			return nil // not asked for
		}
		sum, err := sumOf(filepath.Join(r.out, name))
		if err != nil {
			return err
		}
		sums = append(sums, sum)
	}
	path := r.module
	if path == "" {
		path = "example.org/credence"
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, `cask "credence" do
  arch arm: "arm64", intel: "amd64"

  version "%s"
  sha256 arm:   "%s",
         intel: "%s"

  url "https://%s/releases/download/v#{version}/credence_#{version}_darwin_#{arch}.tar.gz"
  name "Credence"
  desc "%s"
  homepage "https://%s"

  binary "credence_#{version}_darwin_#{arch}/credence"
  bash_completion "credence_#{version}_darwin_#{arch}/completions/credence.bash"
  zsh_completion "credence_#{version}_darwin_#{arch}/completions/credence.zsh"
  fish_completion "credence_#{version}_darwin_#{arch}/completions/credence.fish"
`, r.version, sums[0], sums[1], path, summary, path)
	for _, e := range r.manual {
		if strings.HasPrefix(e.name, "man/") {
			fmt.Fprintf(&b, "  manpage \"credence_#{version}_darwin_#{arch}/%s\"\n", e.name)
		}
	}
	b.WriteString("end\n")
	return r.write("credence.rb", b.Bytes())
}
