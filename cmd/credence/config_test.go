package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// The published schema is what the command prints. UPDATE_GOLDEN=1 rewrites it.
func TestPublishedSchema(t *testing.T) {
	var stdout, stderr bytes.Buffer
	if code := program([]string{"config", "schema"}, nil, &stdout, &stderr); code != exitOK {
		t.Fatalf("exit code %d: %s", code, &stderr)
	}
	path := filepath.Join("..", "..", "docs", "config.schema.json")
	if os.Getenv("UPDATE_GOLDEN") != "" {
		if err := os.WriteFile(path, stdout.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(stdout.Bytes(), want) {
		t.Errorf("docs/config.schema.json is not what credence config schema prints; UPDATE_GOLDEN=1 rewrites it")
	}
}
