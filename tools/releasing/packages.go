package main

import (
	"bytes"
	"crypto/md5"
	"fmt"
	"slices"
	"strings"

	"github.com/google/rpmpack"
)

const (
	summary     = "Distributions of class probabilities from several votes per item"
	description = "Trains neural classifiers on items that carry several labels each, and predicts a distribution of each class probability with credible intervals."
)

// installed returns the files of a package for Linux, by their places.
func (r *release) installed(b binary) []entry {
	list := []entry{{"usr/bin/" + b.name, 0o755, b.body}}
	for _, e := range r.docs {
		list = append(list, entry{"usr/share/doc/" + b.name + "/" + e.name, e.mode, e.body})
	}
	if b.name != "credence" {
		return list // manual pages and completions are those of the package credence
	}
	for _, e := range r.manual {
		place, name := "usr/share/", e.name
		switch {
		case strings.HasPrefix(name, "man/"):
		case strings.HasSuffix(name, ".bash"):
			place, name = place+"bash-completion/completions/", "credence"
		case strings.HasSuffix(name, ".zsh"):
			place, name = place+"zsh/vendor-completions/", "_credence"
		case strings.HasSuffix(name, ".fish"):
			place, name = place+"fish/vendor_completions.d/", "credence.fish"
		default:
			continue
		}
		list = append(list, entry{place + name, e.mode, e.body})
	}
	return list
}

// debs writes a .deb for each build for Linux.
func (r *release) debs() error {
	for _, b := range r.linux() {
		files := r.installed(b)
		slices.SortFunc(files, func(a, b entry) int { return strings.Compare(a.name, b.name) })
		size, sums := 0, ""
		for i := range files {
			size += len(files[i].body)
			sums += fmt.Sprintf("%x  %s\n", md5.Sum(files[i].body), files[i].name)
		}
		// A release candidate comes before its release: 0.2.0~rc.1.
		version := strings.Replace(r.version, "-", "~", 1)
		depends := ""
		if b.tags != "" {
			depends = "Depends: libc6\n"
		}
		control := fmt.Sprintf("Package: %s\nVersion: %s\nArchitecture: %s\nMaintainer: The Credence authors <credence@example.org>\n%sInstalled-Size: %d\nSection: science\nPriority: optional\nDescription: %s\n %s\n",
			b.name, version, b.arch, depends, (size+1023)/1024, summary, description)
		head, err := tarred([]entry{{"control", 0o644, []byte(control)}, {"md5sums", 0o644, []byte(sums)}}, r.time())
		if err != nil {
			return err
		}
		data, err := tarred(files, r.time())
		if err != nil {
			return err
		}
		var file bytes.Buffer
		file.WriteString("!<arch>\n")
		for _, m := range []entry{{"debian-binary", 0o644, []byte("2.0\n")}, {"control.tar.gz", 0o644, head}, {"data.tar.gz", 0o644, data}} {
			fmt.Fprintf(&file, "%-16s%-12d%-6d%-6d%-8o%-10d`\n", m.name, r.epoch, 0, 0, 0o100644, len(m.body))
			file.Write(m.body)
			if len(m.body)%2 == 1 {
				file.WriteByte('\n')
			}
		}
		if err := r.write(fmt.Sprintf("%s_%s_%s.deb", b.name, r.version, b.arch), file.Bytes()); err != nil {
			return err
		}
	}
	return nil
}

// rpms writes an .rpm for each build for Linux.
func (r *release) rpms() error {
	for _, b := range r.linux() {
		arch := map[string]string{"amd64": "x86_64", "arm64": "aarch64"}[b.arch]
		p, err := rpmpack.NewRPM(rpmpack.RPMMetaData{Name: b.name, Summary: summary, Description: description,
			Version: strings.Replace(r.version, "-", "~", 1), Release: "1", Arch: arch, OS: "linux", Licence: "Apache-2.0", Compressor: "gzip",
			BuildHost: "localhost", BuildTime: r.time()})
		if err != nil {
			return err
		}
		for _, e := range r.installed(b) {
			p.AddFile(rpmpack.RPMFile{Name: "/" + e.name, Body: e.body, Mode: uint(e.mode), Owner: "root", Group: "root", MTime: uint32(r.epoch)})
		}
		var file bytes.Buffer
		if err := p.Write(&file); err != nil {
			return err
		}
		if err := r.write(fmt.Sprintf("%s-%s-1.%s.rpm", b.name, strings.Replace(r.version, "-", "~", 1), arch), file.Bytes()); err != nil {
			return err
		}
	}
	return nil
}

// linux returns the binaries for Linux.
func (r *release) linux() []binary {
	return slices.DeleteFunc(slices.Clone(r.binaries), func(b binary) bool { return b.os != "linux" })
}
