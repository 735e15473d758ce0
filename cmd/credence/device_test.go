package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"credence/dataset"
	"credence/internal/atomicfile"
	"credence/internal/cuda"
	"credence/internal/gpu"
	"credence/internal/kernel"
	"credence/internal/safetensors"
	"credence/model"
	"credence/nn"
)

// otherGPU is the name of a GPU that no machine has.
const otherGPU = "cuda sm_99 Another GPU"

// asOf rewrites a file of tensors as if it had been trained on otherGPU.
func asOf(t *testing.T, path string) {
	t.Helper()
	f, err := safetensors.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	changed := false
	for k, v := range f.Metadata {
		if f.Metadata[k] = strings.ReplaceAll(v, fmt.Sprintf(`"kernel":%q`, kernel.Name()), fmt.Sprintf(`"kernel":%q`, otherGPU)); f.Metadata[k] != v {
			changed = true
		}
	}
	if !changed {
		t.Fatalf("%s does not say what it was trained on: %v", path, f.Metadata)
	}
	if err := atomicfile.Write(path, func(w io.Writer) error { return safetensors.Write(w, f) }); err != nil {
		t.Fatal(err)
	}
}

func called(line string) (code int, stdout, stderr string) {
	var out, err bytes.Buffer
	root := newRoot()
	root.SetContext(context.Background())
	code = execute(root, strings.Fields(line), nil, &out, &err)
	return code, out.String(), err.String()
}

// Runs of a GPU that does not exist here: verify fails before training, join continues with a warning.
func TestTrainedElsewhere(t *testing.T) {
	t.Chdir(t.TempDir())
	items, votes := smallData(40)
	for name, text := range map[string]string{"items.csv": items, "votes.csv": votes} {
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	const flags = "train --data items.csv --votes votes.csv --epochs 1 --widths 4 --quiet --out "
	must(t, flags+"run --ensemble 2")
	asOf(t, "run/model.credence")
	code, stdout, stderr := called("verify run")
	if code != exitError || stdout != "" || !strings.Contains(stderr, "credence: error: run cannot be repeated here: trained on the GPU "+otherGPU+": ") ||
		!strings.Contains(stderr, "credence: hint: run credence-full verify on a machine with such a GPU") {
		t.Errorf("verify: exit code %d, stdout %q, stderr %q", code, stdout, stderr)
	}

	must(t, flags+"parts --member 0/2")
	must(t, flags+"parts --member 1/2")
	found, err := filepath.Glob("parts*/*/networks.part")
	if err != nil || len(found) != 2 {
		t.Fatal(found, err)
	}
	for _, path := range found {
		asOf(t, path)
	}
	code, _, stderr = called("join parts")
	if code != 0 || !strings.Contains(stderr, "credence: warning: the CPU joins these members (trained on the GPU "+otherGPU+": ") {
		t.Errorf("join: exit code %d, stderr %q", code, stderr)
	}
	m, err := model.Load("parts/model.credence")
	if err != nil {
		t.Fatal(err)
	}
	if m.Provenance.Kernel != otherGPU {
		t.Errorf("the joined model was trained on %q", m.Provenance.Kernel)
	}
}

// A recorded engine is used whatever auto would select.
func TestDeviceLike(t *testing.T) {
	for _, d := range []device{"", "auto", "cpu", "gpu", "gpu:3"} {
		if e, err := d.matching("avx2"); err != nil || e != nn.Engine(nn.CPU{}) {
			t.Errorf("%q: %v, %v", d, e, err)
		}
	}
	if _, err := device("gpu:x").matching(otherGPU); !errors.As(err, new(*usageError)) {
		t.Errorf("gpu:x: %v", err)
	}
}

// With auto, a GPU is opened only if it would be used: for images and volumes.
func TestDeviceSuited(t *testing.T) {
	opened := 0
	defer func(open func(int) (*gpu.Engine, error)) { openGPU = open }(openGPU)
	openGPU = func(int) (*gpu.Engine, error) { opened++; return nil, cuda.ErrNoDevice }
	for _, c := range []struct {
		part dataset.Feature
		want int
	}{
		{dataset.Feature{Kind: dataset.Numeric}, 0},
		{dataset.Feature{Kind: dataset.Tensor, Shape: []int{16}}, 0},
		{dataset.Feature{Kind: dataset.Tensor, Shape: []int{1, 8, 8}}, 1},
	} {
		opened = 0
		if e, err := device("auto").forTraining([]dataset.Feature{c.part}); err != nil || e != (nn.CPU{}) || opened != c.want {
			t.Errorf("%v %v: %v, %v, %d GPUs opened, want %d", c.part.Kind, c.part.Shape, e, err, opened, c.want)
		}
	}
}
