package main

import (
	"runtime/debug"
	"testing"
)

func TestVersionFrom(t *testing.T) {
	commit := debug.BuildSetting{Key: "vcs.revision", Value: "94d8182c0a1f2b3c4d5e6f708192a3b4c5d6e7f8"}
	for _, c := range []struct {
		module   string
		settings []debug.BuildSetting
		want     string
	}{
		{"", nil, sourceVersion},
		{"(devel)", nil, sourceVersion},
		{"v1.2.3", nil, "1.2.3"},
		{"(devel)", []debug.BuildSetting{commit}, sourceVersion + "+94d8182c0a1f"},
		// In a clone Go derives the module's version from tags and commits.
		{"v0.0.0-20260102030405-94d8182c0a1f+dirty", []debug.BuildSetting{commit, {Key: "vcs.modified", Value: "true"}},
			sourceVersion + "+94d8182c0a1f.dirty"},
		{"", []debug.BuildSetting{commit, {Key: "vcs.modified", Value: "false"}}, sourceVersion + "+94d8182c0a1f"},
	} {
		info := &debug.BuildInfo{Main: debug.Module{Version: c.module}, Settings: c.settings}
		if got := versionFrom(info); got != c.want {
			t.Errorf("version of module %q with %v = %q, want %q", c.module, c.settings, got, c.want)
		}
	}
}
