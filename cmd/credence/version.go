package main

import (
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"

	"credence/internal/kernel"
)

// sourceVersion is the version that this source tree is on its way to.
const sourceVersion = "0.1.0-dev"

// stampedVersion, where a build sets it, replaces every other version:
//
//	go build -ldflags "-X main.stampedVersion=0.1.0" ./cmd/credence
var stampedVersion string

// versionInfo is what credence version prints, under its JSON names.
type versionInfo struct {
	Version string `json:"version"`
	Go      string `json:"go"`
	OS      string `json:"os"`
	Arch    string `json:"arch"`
	Kernel  string `json:"kernel"`
}

func newVersion() *cobra.Command {
	var asJSON bool
	run := func(cmd *cobra.Command, _ []string) error {
		v := versionInfo{
			Version: buildVersion(),
			Go:      runtime.Version(),
			OS:      runtime.GOOS,
			Arch:    runtime.GOARCH,
			Kernel:  kernel.Name(),
		}
		return printResult(cmd, asJSON, v, "credence %s\ngo       %s\nsystem   %s/%s\nkernel   %s\n",
			v.Version, strings.TrimPrefix(v.Go, "go"), v.OS, v.Arch, v.Kernel)
	}
	cmd := newVerb("version", "Print the version and the instruction set in use", "", run)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one line of JSON")
	return cmd
}

// buildVersion returns the version of this binary.
func buildVersion() string {
	if stampedVersion != "" {
		return stampedVersion
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return sourceVersion
	}
	return versionFrom(info)
}

// versionFrom returns the release that a module proxy served, or else the
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
