package main

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
)

// sums writes SHA256SUMS and, if a key was given, its signature and the public key:
//
//	openssl pkeyutl -verify -pubin -inkey credence.pub.pem -rawin -in SHA256SUMS -sigfile SHA256SUMS.sig
func (r *release) sums() error {
	slices.Sort(r.files)
	var text bytes.Buffer
	for _, name := range r.files {
		sum, err := sumOf(filepath.Join(r.out, name))
		if err != nil {
			return err
		}
		fmt.Fprintf(&text, "%s  %s\n", sum, name)
	}
	if err := r.write("SHA256SUMS", text.Bytes()); err != nil || r.key == "" {
		return err
	}
	key, err := readKey(r.key)
	if err != nil {
		return err
	}
	public, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		return err
	}
	if err := r.write("credence.pub.pem", pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: public})); err != nil {
		return err
	}
	return r.write("SHA256SUMS.sig", ed25519.Sign(key, text.Bytes()))
}

// readKey reads a private key, as "openssl genpkey -algorithm ed25519" writes it.
func readKey(path string) (ed25519.PrivateKey, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	block, _ := pem.Decode(text)
	if block == nil {
		return nil, fmt.Errorf("%s: expected a private key in PEM, found none", path)
	}
	key, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	private, ok := key.(ed25519.PrivateKey)
	if !ok {
		return nil, fmt.Errorf("%s: expected an Ed25519 key, found %T", path, key)
	}
	return private, nil
}

// sumOf returns the SHA-256 of a file in hexadecimal.
func sumOf(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}
