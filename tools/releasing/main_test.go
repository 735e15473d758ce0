package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestChoose(t *testing.T) {
	for _, x := range []struct{ version, targets, skip, err string }{
		{"0.1.0", "", "", ""},
		{"0.2.0-rc.1", "linux/arm64,darwin/arm64", "oci", ""},
		{"v0.1.0", "", "", `expected a version such as 0.1.0 or 0.2.0-rc.1, found "v0.1.0"`},
		{"0.01.0", "", "", "expected a version"},
		{"0.1", "", "", "expected a version"},
		{"0.1.0", "linux", "", `expected systems such as linux/amd64, found "linux"`},
		{"0.1.0", "", "wheels", `expected some of archives, deb, rpm, python, r, oci, cask, found "wheels"`},
	} {
		o := options{version: x.version}
		if x.skip != "" {
			o.skip = []string{x.skip}
		}
		err := o.choose(x.targets)
		if (err == nil) != (x.err == "") || err != nil && !strings.Contains(err.Error(), x.err) {
			t.Errorf("%+v: found %v", x, err)
		}
	}
	o := options{version: "0.1.0"}
	if o.choose("linux/arm64"); len(o.targets) != 2 {
		t.Errorf("expected both builds for Linux on arm64, found %v", o.targets)
	}
}

// An archive does not depend on the order of its files, and has their folders once, before them.
func TestTarred(t *testing.T) {
	at := time.Unix(1700000000, 0)
	files := []entry{{"a/b/x", 0o644, []byte("x")}, {"a/y", 0o755, []byte("yy")}}
	one, err := tarred(files, at)
	if err != nil {
		t.Fatal(err)
	}
	two, err := tarred([]entry{files[1], files[0]}, at)
	if err != nil || !bytes.Equal(one, two) {
		t.Errorf("another order gives other bytes, %v", err)
	}
	z, err := gzip.NewReader(bytes.NewReader(one))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil || !h.ModTime.Equal(at) {
			t.Fatal(h, err)
		}
		names = append(names, h.Name)
	}
	if got := strings.Join(names, " "); got != "a/ a/b/ a/b/x a/y" {
		t.Errorf("found %s", got)
	}
}

// A .deb is an ar archive of three members, each at an even place.
func TestDeb(t *testing.T) {
	r := &release{options: options{out: t.TempDir(), version: "0.2.0-rc.1"}, epoch: 1700000000,
		binaries: []binary{{target{"credence", "linux", "arm64", ""}, "", []byte("program")}, {target{"credence", "darwin", "arm64", ""}, "", nil}},
		docs:     []entry{{"LICENSE", 0o644, []byte("license")}}, manual: []entry{{"completions/credence.zsh", 0o644, nil}, {"completions/credence.ps1", 0o644, nil}}}
	if err := r.debs(); err != nil {
		t.Fatal(err)
	}
	if len(r.files) != 1 || r.files[0] != "credence_0.2.0-rc.1_arm64.deb" {
		t.Fatalf("found %v", r.files)
	}
	body, err := os.ReadFile(filepath.Join(r.out, r.files[0]))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	at := len("!<arch>\n")
	for at < len(body) {
		head := string(body[at : at+60])
		names = append(names, strings.TrimSpace(head[:16]))
		size := 0
		for _, c := range strings.TrimSpace(head[48:58]) {
			size = 10*size + int(c-'0')
		}
		if head[58:] != "`\n" || at%2 != 0 {
			t.Fatalf("member at %d: %q", at, head)
		}
		at += 60 + size + size%2
	}
	if strings.Join(names, " ") != "debian-binary control.tar.gz data.tar.gz" || at != len(body) {
		t.Errorf("found %v, the end at %d of %d", names, at, len(body))
	}
	for _, e := range r.installed(r.binaries[0]) {
		if strings.HasSuffix(e.name, ".ps1") {
			t.Errorf("found %s in a package for Linux", e.name)
		}
	}
}

func TestRoff(t *testing.T) {
	if got := roff("a-b\n.c\\d\n'e"); got != `a\-b`+"\n"+`\&.c\ed`+"\n"+`\&'e` {
		t.Errorf("found %q", got)
	}
}

func TestSPDX(t *testing.T) {
	for text, want := range map[string]string{
		"  Apache License\n Version 2.0, January 2004":                                                    "Apache-2.0",
		"Permission is hereby granted, free\nof charge, to":                                               "MIT",
		"Redistribution and use in source and binary forms, with … Neither the name of Google Inc.":       "BSD-3-Clause",
		"Redistribution and use in source and binary forms, with or without\nmodification, are permitted": "BSD-2-Clause",
		"All rights reserved": "",
	} {
		if got := spdx(text); got != want {
			t.Errorf("%q: found %q, expected %q", text, got, want)
		}
	}
}

func TestReadKey(t *testing.T) {
	path := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(path, []byte("no key"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := readKey(path); err == nil || !strings.Contains(err.Error(), "expected a private key in PEM") {
		t.Errorf("found %v", err)
	}
}

// A release refuses a folder with files, and a module without a license.
func TestRefusals(t *testing.T) {
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "old"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := makeRelease(options{out: folder, version: "0.1.0"}); err == nil || !strings.Contains(err.Error(), "expected an empty folder") {
		t.Errorf("found %v", err)
	}
	if _, err := licenseOf(module{path: "example.org/m"}, folder); err == nil || !strings.Contains(err.Error(), "expected a license") {
		t.Errorf("found %v", err)
	}
}

// The licenses of a module are its own and those of packages that it took from others, by their places.
func TestLicenseOf(t *testing.T) {
	top := t.TempDir()
	inner := filepath.Join(top, "internal", "hash")
	if err := os.MkdirAll(inner, 0o777); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"LICENSE": "Apache License Version 2.0", "NOTICE": "by us", "internal/hash/LICENSE.txt": "Permission is hereby granted, free of charge",
		"internal/hash/README": "no license"} {
		if err := os.WriteFile(filepath.Join(top, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	m, err := licenseOf(module{path: "example.org/m"}, top, inner, filepath.Dir(inner))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range m.texts {
		names = append(names, e.name)
	}
	if got := strings.Join(names, " "); got != "LICENSE NOTICE internal/hash/LICENSE.txt" || strings.Join(m.licenses, " ") != "Apache-2.0 MIT" {
		t.Errorf("found %s, %v", got, m.licenses)
	}
	if _, err := licenseOf(module{path: "example.org/m"}, filepath.Dir(inner), inner); err == nil {
		t.Error("a module without a license of its own was accepted")
	}
}
