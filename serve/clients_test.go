package serve

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"credence/internal/python"
)

// TestTriton sends requests with Triton's own client.
func TestTriton(t *testing.T) {
	interpreter := python.Interpreter(t, "numpy", "tritonclient.http")
	_, url := start(t, Options{})
	out, err := exec.Command(interpreter, "testdata/triton.py", strings.TrimPrefix(url, "http://"), "first").CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestManifests validates the manifests with Kubernetes' own schemas.
func TestManifests(t *testing.T) {
	interpreter := python.Interpreter(t, "kubernetes_validate")
	files, err := filepath.Glob("../deploy/kubernetes/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("manifests %v, %v", files, err)
	}
	out, err := exec.Command(interpreter, append([]string{"-m", "kubernetes_validate", "--strict"}, files...)...).CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
