package main

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// module is a module that some binary contains.
type module struct {
	path, version string
	licenses      []string // their identifiers by SPDX, of the usual ones
	texts         []entry
}

// licenses finds the modules in the binaries, and collects their licenses.
func (r *release) licenses() error {
	found := map[string]module{}
	folders := map[string][]string{} // of the packages, by module; the module's own comes first
	for _, b := range r.binaries {
		info, err := buildinfo.Read(bytes.NewReader(b.body))
		if err != nil {
			return fmt.Errorf("%s for %s/%s: %w", b.name, b.os, b.arch, err)
		}
		for _, d := range info.Deps {
			if d.Replace != nil {
				d = d.Replace
			}
			found[d.Path] = module{path: d.Path, version: d.Version}
		}
		if err := r.packages(b.target, folders); err != nil {
			return err
		}
	}
	goroot, err := run(r.source, nil, "go", "env", "GOROOT", "GOVERSION")
	if err != nil {
		return err
	}
	root, version, _ := strings.Cut(strings.TrimSpace(string(goroot)), "\n")
	std, err := licenseOf(module{path: "std", version: version}, root)
	if err != nil {
		return err
	}
	r.modules = []module{std}
	for _, m := range found {
		if folders[m.path] == nil {
			return fmt.Errorf("%s: expected packages of it, since it is in a binary, found none", m.path)
		}
		if m, err = licenseOf(m, folders[m.path]...); err != nil {
			return err
		}
		r.modules = append(r.modules, m)
	}
	slices.SortFunc(r.modules, func(a, b module) int { return cmp.Compare(a.path, b.path) })
	var third strings.Builder
	third.WriteString("Credence is licensed under the Apache License 2.0 (LICENSE). The programs contain these modules:\n")
	for _, m := range r.modules {
		for _, t := range m.texts {
			fmt.Fprintf(&third, "\n%s\n%s %s: %s\n%s\n\n%s\n", strings.Repeat("=", 80), m.path, m.version, t.name, strings.Repeat("=", 80), bytes.TrimSpace(t.body))
		}
	}
	for _, name := range []string{"LICENSE", "README.md", "CHANGELOG.md"} {
		text, err := os.ReadFile(filepath.Join(r.source, name))
		if err != nil {
			return err
		}
		r.docs = append(r.docs, entry{name, 0o644, text})
	}
	r.docs = append(r.docs, entry{"THIRD-PARTY-LICENSES.txt", 0o644, []byte(third.String())})
	return nil
}

// packages adds the folders of the packages in a binary to those of their modules, with the folders between: a module may have
// packages that others wrote, with licenses of their own.
func (r *release) packages(t target, folders map[string][]string) error {
	const form = "{{with .Module}}{{if .Dir}}{{.Path}}\t{{.Dir}}\t{{$.Dir}}{{end}}{{end}}"
	list, err := run(r.source, t.env(), "go", "list", "-deps", "-tags", t.tags, "-f", form, "./cmd/credence")
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(list)) {
		fields := strings.Split(strings.TrimSpace(line), "\t")
		if len(fields) != 3 {
			continue // of the standard library
		}
		path, top, folder := fields[0], fields[1], fields[2]
		if folders[path] == nil {
			folders[path] = []string{top}
		}
		for ; len(folder) > len(top) && !slices.Contains(folders[path], folder); folder = filepath.Dir(folder) {
			folders[path] = append(folders[path], folder)
		}
	}
	return nil
}

// licenseOf reads the license files in folders of a module, of which the first is its own and must have one.
func licenseOf(m module, folders ...string) (module, error) {
	top := folders[0]
	slices.Sort(folders[1:])
	for _, folder := range folders {
		list, err := os.ReadDir(folder)
		if err != nil {
			return m, fmt.Errorf("%s: %w", m.path, err)
		}
		for _, f := range list {
			name := strings.ToUpper(f.Name())
			if f.IsDir() || !strings.HasPrefix(name, "LICEN") && !strings.HasPrefix(name, "COPYING") && !strings.HasPrefix(name, "NOTICE") && name != "PATENTS" {
				continue
			}
			text, err := os.ReadFile(filepath.Join(folder, f.Name()))
			if err != nil {
				return m, err
			}
			place, err := filepath.Rel(top, filepath.Join(folder, f.Name()))
			if err != nil {
				return m, err
			}
			m.texts = append(m.texts, entry{filepath.ToSlash(place), 0o644, text})
			if id := spdx(string(text)); id != "" && !slices.Contains(m.licenses, id) {
				m.licenses = append(m.licenses, id)
			}
		}
		if folder == top && m.texts == nil {
			return m, fmt.Errorf("%s: expected a license in its module, found none", m.path)
		}
	}
	return m, nil
}

// spdx returns the identifier of a license by its words, "" if it is not one of the usual ones.
func spdx(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	has := func(s string) bool { return strings.Contains(text, s) }
	switch {
	case has("Apache License Version 2.0"):
		return "Apache-2.0"
	case has("Permission is hereby granted, free of charge"):
		return "MIT"
	case has("Redistribution and use in source and binary forms") && (has("Neither the name") || has("neither the name")):
		return "BSD-3-Clause"
	case has("Redistribution and use in source and binary forms"):
		return "BSD-2-Clause"
	}
	return ""
}

// sbom writes the bill of materials, in CycloneDX's form.
func (r *release) sbom() error {
	type license struct {
		License map[string]string `json:"license"`
	}
	type component struct {
		Type     string    `json:"type"`
		Ref      string    `json:"bom-ref"`
		Name     string    `json:"name"`
		Version  string    `json:"version"`
		Licenses []license `json:"licenses,omitempty"`
		URL      string    `json:"purl"`
	}
	of := func(kind, path, version string, ids ...string) component {
		c := component{Type: kind, Name: path, Version: version, URL: "pkg:golang/" + path + "@" + version}
		c.Ref = c.URL
		for _, id := range ids {
			c.Licenses = append(c.Licenses, license{map[string]string{"id": id}})
		}
		return c
	}
	self := of("application", cmp.Or(r.module, "credence"), "v"+r.version, "Apache-2.0")
	var components []component
	var refs []string
	for _, m := range r.modules {
		c := of("library", m.path, m.version, m.licenses...)
		components, refs = append(components, c), append(refs, c.Ref)
	}
	// The serial number is a UUID of version 8, made from the commit and the version.
	sum := sha256.Sum256([]byte(r.commit + " " + r.version + " " + r.module))
	sum[6], sum[8] = sum[6]&0x0f|0x80, sum[8]&0x3f|0x80
	text, err := json.MarshalIndent(map[string]any{
		"bomFormat": "CycloneDX", "specVersion": "1.6", "version": 1,
		"serialNumber": fmt.Sprintf("urn:uuid:%x-%x-%x-%x-%x", sum[:4], sum[4:6], sum[6:8], sum[8:10], sum[10:16]),
		"metadata":     map[string]any{"timestamp": r.date(), "component": self},
		"components":   components,
		"dependencies": []map[string]any{{"ref": self.Ref, "dependsOn": refs}},
	}, "", "  ")
	if err != nil {
		return err
	}
	return r.write(fmt.Sprintf("credence_%s.cdx.json", r.version), append(text, '\n'))
}

// provenance writes an in-toto statement on how the files were made, in SLSA's form.
func (r *release) provenance() error {
	type subject struct {
		Name   string            `json:"name"`
		Digest map[string]string `json:"digest"`
	}
	var subjects []subject
	for _, name := range r.files {
		sum, err := sumOf(filepath.Join(r.out, name))
		if err != nil {
			return err
		}
		subjects = append(subjects, subject{name, map[string]string{"sha256": sum}})
	}
	version, err := run(r.source, nil, "go", "env", "GOVERSION")
	if err != nil {
		return err
	}
	statement := map[string]any{
		"_type": "https://in-toto.io/Statement/v1", "subject": subjects, "predicateType": "https://slsa.dev/provenance/v1",
		"predicate": map[string]any{
			"buildDefinition": map[string]any{
				"buildType":            "tools/release",
				"externalParameters":   map[string]any{"version": r.version, "module": r.module},
				"resolvedDependencies": []map[string]any{{"uri": "git+" + cmp.Or(r.module, "credence"), "digest": map[string]string{"gitCommit": r.commit}}, {"uri": "go", "name": strings.TrimSpace(string(version))}},
			},
			"runDetails": map[string]any{"builder": map[string]string{"id": "tools/release"}},
		},
	}
	text, err := json.Marshal(statement)
	if err != nil {
		return err
	}
	return r.write(fmt.Sprintf("credence_%s.intoto.jsonl", r.version), append(text, '\n'))
}
