package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/json"
	"fmt"
)

// descriptor names a blob of an OCI image.
type descriptor struct {
	MediaType string            `json:"mediaType"`
	Digest    string            `json:"digest"`
	Size      int               `json:"size"`
	Platform  map[string]string `json:"platform,omitempty"`
	Notes     map[string]string `json:"annotations,omitempty"`
}

// image writes an OCI image for both architectures of Linux, as the image of deploy/Dockerfile: the static binary
// and an empty folder for temporary files, run by an ordinary user. It needs no daemon.
func (r *release) image() error {
	var blobs []entry
	blob := func(kind string, body []byte) descriptor {
		sum := fmt.Sprintf("%x", sha256.Sum256(body))
		blobs = append(blobs, entry{"blobs/sha256/" + sum, 0o644, body})
		return descriptor{MediaType: "application/vnd.oci.image." + kind, Digest: "sha256:" + sum, Size: len(body)}
	}
	asJSON := func(kind string, v any) (descriptor, error) {
		text, err := json.Marshal(v)
		return blob(kind, text), err
	}
	var manifests []descriptor
	for _, b := range r.linux() {
		if b.name != "credence" {
			continue
		}
		layer, err := r.layer(b)
		if err != nil {
			return err
		}
		var packed bytes.Buffer
		z, _ := gzip.NewWriterLevel(&packed, gzip.BestCompression)
		if _, err := z.Write(layer); err != nil {
			return err
		}
		if err := z.Close(); err != nil {
			return err
		}
		config, err := asJSON("config.v1+json", map[string]any{
			"created": r.date(), "architecture": b.arch, "os": "linux",
			"config": map[string]any{
				"User": "65532:65532", "ExposedPorts": map[string]any{"8080/tcp": struct{}{}}, "Entrypoint": []string{"/credence"},
				"Cmd":    []string{"serve", "/runs", "--addr", "0.0.0.0:8080", "--token-file", "/token", "--log", "json"},
				"Labels": map[string]string{"org.opencontainers.image.version": r.version, "org.opencontainers.image.revision": r.commit, "org.opencontainers.image.licenses": "Apache-2.0"},
			},
			"rootfs":  map[string]any{"type": "layers", "diff_ids": []string{fmt.Sprintf("sha256:%x", sha256.Sum256(layer))}},
			"history": []map[string]any{{"created": r.date(), "created_by": "credence " + r.version}},
		})
		if err != nil {
			return err
		}
		manifest, err := asJSON("manifest.v1+json", map[string]any{"schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json",
			"config": config, "layers": []descriptor{blob("layer.v1.tar+gzip", packed.Bytes())}})
		if err != nil {
			return err
		}
		manifest.Platform = map[string]string{"os": "linux", "architecture": b.arch}
		manifests = append(manifests, manifest)
	}
	if len(manifests) == 0 {
		return nil // no build for Linux was asked for
	}
	both, err := asJSON("index.v1+json", map[string]any{"schemaVersion": 2, "mediaType": "application/vnd.oci.image.index.v1+json", "manifests": manifests})
	if err != nil {
		return err
	}
	both.Notes = map[string]string{"org.opencontainers.image.ref.name": r.version}
	index, err := json.Marshal(map[string]any{"schemaVersion": 2, "manifests": []descriptor{both}})
	if err != nil {
		return err
	}
	blobs = append(blobs, entry{"index.json", 0o644, index}, entry{"oci-layout", 0o644, []byte(`{"imageLayoutVersion":"1.0.0"}`)})
	var file bytes.Buffer
	if err := writeTar(tar.NewWriter(&file), blobs, r.time()); err != nil {
		return err
	}
	return r.write(fmt.Sprintf("credence_%s_oci.tar", r.version), file.Bytes())
}

// layer returns the file system of the image as a tar file.
func (r *release) layer(b binary) ([]byte, error) {
	var file bytes.Buffer
	t := tar.NewWriter(&file)
	at := r.time()
	head := &tar.Header{Typeflag: tar.TypeDir, Name: "tmp/", Mode: 0o1777, Uid: 65532, Gid: 65532, ModTime: at, Format: tar.FormatPAX}
	if err := t.WriteHeader(head); err != nil {
		return nil, err
	}
	err := writeTar(t, append([]entry{{"credence", 0o755, b.body}}, prefixed("licenses/", r.docs)...), at)
	return file.Bytes(), err
}

// prefixed returns entries in a folder.
func prefixed(folder string, entries []entry) []entry {
	var list []entry
	for _, e := range entries {
		list = append(list, entry{folder + e.name, e.mode, e.body})
	}
	return list
}
