// Command releasing makes everything that a user would download, in one folder: binaries, archives, packages for
// Debian and Red Hat systems, wheels, the R source package, an OCI image, a Homebrew cask, a bill of materials,
// provenance, checksums and their signature.
//
// All of it is a function of the commit, the version, the module path and the versions of Go and hatchling: no clock,
// host or path goes in, so two releases of one commit have the same bytes.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

func main() {
	var o options
	flag.StringVar(&o.root, "root", ".", "`folder` of the repository")
	flag.StringVar(&o.out, "out", "dist", "`folder` to write to; it must not exist or be empty")
	flag.StringVar(&o.module, "module", "", "`path` of the module in the release, such as example.org/team/credence")
	flag.StringVar(&o.key, "key", "", "`file` of an Ed25519 private key (PEM, PKCS #8) that signs SHA256SUMS")
	targets := flag.String("targets", "", "only these `systems`, such as linux/amd64,darwin/arm64 (default: all)")
	skip := flag.String("skip", "", "leave out `kinds`: archives, deb, rpm, python, r, oci, cask")
	flag.Usage = func() {
		fmt.Fprintln(os.Stderr, "usage: release VERSION [flags]\n\nVERSION is such as 0.1.0 or 0.2.0-rc.1.")
		flag.PrintDefaults()
	}
	version, args := "", os.Args[1:]
	if len(args) > 0 && !strings.HasPrefix(args[0], "-") {
		version, args = args[0], args[1:]
	}
	flag.CommandLine.Parse(args)
	if version == "" || flag.NArg() > 0 {
		flag.Usage()
		os.Exit(2)
	}
	o.version = version
	for name := range strings.SplitSeq(*skip, ",") {
		if name != "" {
			o.skip = append(o.skip, name)
		}
	}
	if err := o.choose(*targets); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(2)
	}
	if err := makeRelease(o); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

// options is the command line.
type options struct {
	root, out, module, key, version string
	targets                         []target
	skip                            []string
}

// kinds are the names that -skip takes.
var kinds = []string{"archives", "deb", "rpm", "python", "r", "oci", "cask"}

var versionForm = regexp.MustCompile(`^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-(alpha|beta|rc)\.\d+)?$`)

// choose checks the options, and selects the targets by a list of systems.
func (o *options) choose(systems string) error {
	if !versionForm.MatchString(o.version) {
		return fmt.Errorf("expected a version such as 0.1.0 or 0.2.0-rc.1, found %q", o.version)
	}
	for _, name := range o.skip {
		if !slices.Contains(kinds, name) {
			return fmt.Errorf("-skip: expected some of %s, found %q", strings.Join(kinds, ", "), name)
		}
	}
	if systems == "" {
		o.targets = allTargets
		return nil
	}
	for name := range strings.SplitSeq(systems, ",") {
		found := false
		for _, t := range allTargets {
			if t.os+"/"+t.arch == name {
				o.targets, found = append(o.targets, t), true
			}
		}
		if !found {
			return fmt.Errorf("-targets: expected systems such as linux/amd64, found %q", name)
		}
	}
	return nil
}

// release is a release in the making.
type release struct {
	options
	work   string // a temporary folder
	source string // a clone of the commit, renamed if a module path was given
	commit string
	epoch  int64 // time of the commit, in seconds since 1970

	binaries []binary
	docs     []entry // that go into every archive
	manual   []entry // pages and completions
	modules  []module
	files    []string // names in out, in the order they were made
}

// makeRelease makes all files of a release.
func makeRelease(o options) error {
	if list, err := os.ReadDir(o.out); err == nil && len(list) > 0 {
		return fmt.Errorf("%s: expected an empty folder or none, found %d files", o.out, len(list))
	}
	work, err := os.MkdirTemp("", "credence-release-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	r := &release{options: o, work: work, source: filepath.Join(work, "source")}
	if err := os.MkdirAll(o.out, 0o777); err != nil {
		return err
	}
	for _, s := range []struct {
		name string
		do   func() error
	}{
		{"source", r.clone}, {"binaries", r.build}, {"licenses", r.licenses}, {"manual", r.pages},
		{"archives", r.archives}, {"deb", r.debs}, {"rpm", r.rpms}, {"oci", r.image}, {"python", r.wheels}, {"r", r.rPackage},
		{"cask", r.cask}, {"sbom", r.sbom}, {"provenance", r.provenance}, {"sums", r.sums},
	} {
		if slices.Contains(o.skip, s.name) {
			continue
		}
		fmt.Fprintf(os.Stderr, "release: %s\n", s.name)
		if err := s.do(); err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
	}
	return nil
}

// write writes a file of the release.
func (r *release) write(name string, body []byte) error {
	r.files = append(r.files, name)
	return os.WriteFile(filepath.Join(r.out, name), body, 0o666)
}
