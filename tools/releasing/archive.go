package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"
)

// entry is a file of an archive.
type entry struct {
	name string
	mode int64
	body []byte
}

// time returns the time of the commit, which all files have.
func (r *release) time() time.Time { return time.Unix(r.epoch, 0).UTC() }

// date returns the time of the commit as text.
func (r *release) date() string { return r.time().Format(time.RFC3339) }

// archives writes a .tar.gz for each system, a .zip for Windows: the program, licenses, manual pages and completions.
func (r *release) archives() error {
	for _, b := range r.binaries {
		folder := fmt.Sprintf("%s_%s_%s_%s", b.name, r.version, b.os, b.arch)
		entries := slices.Concat([]entry{{b.file(), 0o755, b.body}}, r.docs, r.manual)
		for i := range entries {
			entries[i].name = folder + "/" + entries[i].name
		}
		var body []byte
		var err error
		name := folder + ".tar.gz"
		if b.os == "windows" {
			name = folder + ".zip"
			body, err = zipped(entries, r.time())
		} else {
			body, err = tarred(entries, r.time())
		}
		if err == nil {
			err = r.write(name, body)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// tarred returns a compressed tar file of the entries, in order of their names and with their folders.
func tarred(entries []entry, at time.Time) ([]byte, error) {
	var b bytes.Buffer
	z, _ := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err := writeTar(tar.NewWriter(z), entries, at); err != nil {
		return nil, err
	}
	if err := z.Close(); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// writeTar writes the entries, and closes the tar file.
func writeTar(t *tar.Writer, entries []entry, at time.Time) error {
	entries = slices.Clone(entries)
	slices.SortFunc(entries, func(a, b entry) int { return strings.Compare(a.name, b.name) })
	made := map[string]bool{".": true, "/": true}
	var folders func(name string) error
	folders = func(name string) error {
		dir := path.Dir(name)
		if made[dir] {
			return nil
		}
		made[dir] = true
		if err := folders(dir); err != nil {
			return err
		}
		return t.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: dir + "/", Mode: 0o755, ModTime: at, Format: tar.FormatPAX})
	}
	for _, e := range entries {
		if err := folders(e.name); err != nil {
			return err
		}
		head := &tar.Header{Typeflag: tar.TypeReg, Name: e.name, Mode: e.mode, Size: int64(len(e.body)), ModTime: at, Format: tar.FormatPAX}
		if err := t.WriteHeader(head); err != nil {
			return err
		}
		if _, err := t.Write(e.body); err != nil {
			return err
		}
	}
	return t.Close()
}

// zipped returns a zip file of the entries.
func zipped(entries []entry, at time.Time) ([]byte, error) {
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, e := range entries {
		w, err := z.CreateHeader(&zip.FileHeader{Name: e.name, Method: zip.Deflate, Modified: at})
		if err != nil {
			return nil, err
		}
		if _, err := w.Write(e.body); err != nil {
			return nil, err
		}
	}
	if err := z.Close(); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}
