package serve

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"credence/internal/python"
)

// TestTriton has Triton's own client ask.
func TestTriton(t *testing.T) {
	interpreter := python.Interpreter(t, "numpy", "tritonclient.http")
	_, url := start(t, Options{})
	out, err := exec.Command(interpreter, "testdata/triton.py", strings.TrimPrefix(url, "http://"), "first").CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestManifests has Kubernetes' own schemas look at the manifests.
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
