//go:build cuda

package gpu

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"credence/dataset"
	"credence/internal/cuda"
	"credence/model"
	"credence/nn"
	"credence/train"
)

// images are a few of two classes.
func images() *dataset.Dataset {
	const n, side = 24, 8
	ds := &dataset.Dataset{Classes: []string{"no", "yes"}, Features: []dataset.Feature{{Name: "image", Kind: dataset.Tensor, Shape: []int{1, side, side}}}}
	rows := &dataset.Memory{N: n, W: side * side}
	for i := range n {
		ds.Items = append(ds.Items, fmt.Sprint("item ", i))
		for k := range side * side {
			rows.Values = append(rows.Values, float32((i*k)%7)+float32(i%2)*float32(k%3))
		}
		ds.Counts = append(ds.Counts, float32(1+i%2), float32(2-i%2))
	}
	ds.Rows = rows
	return ds
}

var fitOptions = train.Options{Network: "cnn2d", Widths: []int{4}, Epochs: 3, Ensemble: 2, Batch: 8, Seed: 1, NoReferences: true}

// A whole fit on images: an ensemble whose members train side by side, a model that says what it was
// trained on and predicts alike on both engines.
func TestFit(t *testing.T) {
	ds, o := images(), fitOptions
	o.Engine = open(t)
	fit := func() *model.Model {
		res, err := train.Fit(context.Background(), ds, o)
		if err != nil {
			t.Fatal(err)
		}
		return res.Model
	}
	m, again := fit(), fit()
	if !strings.HasPrefix(m.Provenance.Kernel, "cuda sm_") {
		t.Errorf("kernel %q", m.Provenance.Kernel)
	}
	for i := range m.Members {
		if !slices.Equal(m.Members[i].Values, again.Members[i].Values) {
			t.Errorf("network %d: a second fit gives other bits", i)
		}
	}
	cpu, err := m.Predict(context.Background(), ds, model.PredictOptions{})
	if err != nil {
		t.Fatal(err)
	}
	m.Engine = o.Engine
	gpu, err := m.Predict(context.Background(), ds, model.PredictOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range cpu {
		if d := math.Abs(cpu[i].Mean[0] - gpu[i].Mean[0]); !(d < 1e-5) {
			t.Errorf("item %d: means %v and %v", i, cpu[i].Mean, gpu[i].Mean)
		}
	}
}

// A run that is stopped goes on elsewhere, and ends where one ends that stays, up to rounding.
func TestMove(t *testing.T) {
	gpu := open(t)
	fit := func(e nn.Engine, folder string, resume, stop bool) (*model.Model, error) {
		o := fitOptions
		o.Engine, o.Checkpoint, o.Resume = e, folder, resume
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		if stop {
			o.AfterEpoch = func(s train.Snapshot) { cancel() }
		}
		res, err := train.Fit(ctx, images(), o)
		if err != nil {
			return nil, err
		}
		return res.Model, nil
	}
	stays, err := fit(nn.CPU{}, t.TempDir(), false, false)
	if err != nil {
		t.Fatal(err)
	}
	for name, way := range map[string][2]nn.Engine{"to the GPU": {nn.CPU{}, gpu}, "to the CPU": {gpu, nn.CPU{}}, "nowhere": {gpu, gpu}} {
		folder := t.TempDir()
		if _, err := fit(way[0], folder, false, true); !errors.Is(err, train.ErrStopped) {
			t.Fatalf("%s: %v", name, err)
		}
		m, err := fit(way[1], folder, true, false)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if want := way[1].Name(); m.Provenance.Kernel != want {
			t.Errorf("%s: trained on %q, want %q", name, m.Provenance.Kernel, want)
		}
		for i := range m.Members {
			if d := far(m.Members[i].Values, stays.Members[i].Values); !(d < 1e-3) {
				t.Errorf("%s: weights of network %d differ by %g", name, i, d)
			}
		}
		if name == "nowhere" {
			whole, err := fit(gpu, t.TempDir(), false, false)
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(whole.Members[1].Values, m.Members[1].Values) {
				t.Error("a run that is stopped and goes on has other bits than one that is not")
			}
		}
	}
}

// helperEnv lets the test program be one of several processes: open opens a GPU and names its kernels, and fit trains with
// checkpoints in the folder that follows.
const helperEnv = "CREDENCE_TEST_HELPER"

func help(what string) int {
	what, folder, _ := strings.Cut(what, " ")
	e, err := Open(0)
	if err == nil && what == "open" {
		fmt.Println(e.devices[0].Image)
	}
	if err == nil && what == "fit" {
		o := fitOptions
		o.Engine, o.Checkpoint, o.Resume, o.CheckpointEvery = e, folder, true, 1
		var res *train.Result
		if res, err = train.Fit(context.Background(), images(), o); err == nil {
			fmt.Println(res.Model.Members[0].Values[:8])
		}
	}
	if err != nil {
		fmt.Println("error:", err)
		return 1
	}
	return 0
}

// process runs the test program as a helper with more in its environment.
func process(what string, env ...string) *exec.Cmd {
	c := exec.Command(os.Args[0])
	c.Env = append(append(os.Environ(), helperEnv+"="+what), env...)
	return c
}

// Two processes share a GPU, and each gets the bits that it gets alone.
func TestTwoProcesses(t *testing.T) {
	var outs []string
	run := make(chan string)
	for range 2 {
		dir := t.TempDir()
		go func() {
			out, err := process("fit " + dir).CombinedOutput()
			run <- fmt.Sprint(string(out), err)
		}()
	}
	for range 2 {
		outs = append(outs, <-run)
	}
	alone, err := process("fit " + t.TempDir()).CombinedOutput()
	if want := fmt.Sprint(string(alone), err); err != nil || outs[0] != want || outs[1] != want {
		t.Errorf("side by side %q and %q, alone %q", outs[0], outs[1], want)
	}
}

// What can go wrong with a driver is said, and nothing is lost. It is provoked with the emulator.
func TestFailures(t *testing.T) {
	if os.Getenv(deviceEnv) != "" {
		t.Skip("no driver fails when asked")
	}
	old := filepath.Join(t.TempDir(), "libold.so")
	if out, err := exec.Command("g++", "-O0", "-w", "-shared", "-fPIC", "-DOLD_DRIVER", "-o", old, "../cuda/kernels/emulate.cc").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, c := range []struct{ what, env, want string }{
		{"open", cuda.LibraryEnv + "=/nowhere/libcuda.so.1", "error: no GPU can be used: the NVIDIA driver is not installed: "},
		{"open", cuda.LibraryEnv + "=" + old, "libold.so has no cuGraphInstantiateWithFlags: the NVIDIA driver is too old: expected 450 or later"},
		{"open", "EMULATE_ERRORS=cuInit=100", "error: no GPU can be used: cuInit: there is no GPU (CUDA_ERROR_NO_DEVICE, 100)"},
		{"open", "EMULATE_ERRORS=cuInit=803", "the kernel module and the driver's library are of other versions: restart after an update"},
		{"open", "EMULATE_ERRORS=cuModuleLoadData=222", "error: GPU 0: compiling the kernels: cuModuleLoadData: the driver is too old (CUDA_ERROR_UNSUPPORTED_PTX_VERSION, 222)"},
		{"open", "EMULATE_ERRORS=cuDevicePrimaryCtxRetain=46", "error: GPU 0: cuDevicePrimaryCtxRetain: another process has the GPU for itself"},
		{"open", "EMULATE_DEVICES=0", "error: no GPU can be used: number 0 of 0"},
		{"open", "EMULATE_CAPABILITY=61", "Emulator: found compute capability 6.1, expected at least 7.5"},
		{"fit " + t.TempDir(), "EMULATE_MEMORY=20000", "bytes: cuMemAlloc: not enough free memory (CUDA_ERROR_OUT_OF_MEMORY, 2)"},
	} {
		out, err := process(c.what, c.env).CombinedOutput()
		if err == nil || !strings.Contains(string(out), c.want) {
			t.Errorf("%s with %s: %v, %q, want %q", c.what, c.env, err, out, c.want)
		}
	}
}

// A driver older than the machine code, and a GPU without any, get PTX.
func TestKernelImages(t *testing.T) {
	if os.Getenv(deviceEnv) != "" {
		t.Skip("a GPU has one architecture")
	}
	for env, want := range map[string]string{
		"EMULATE_CAPABILITY=90": "sm_90", "EMULATE_CAPABILITY=89": "sm_80", "EMULATE_CAPABILITY=100": "kernels.ptx", "EMULATE_OLD=1": "kernels.ptx",
	} {
		if out, err := process("open", env).CombinedOutput(); err != nil || string(out) != want+"\n" {
			t.Errorf("%s: %v, %q, want %q", env, err, out, want)
		}
	}
}

// A device that is lost in the middle of a run costs nothing that was checkpointed: it goes on
// with another process.
func TestLostDevice(t *testing.T) {
	if os.Getenv(deviceEnv) != "" {
		t.Skip("no GPU is lost when asked")
	}
	folder := t.TempDir()
	out, err := process("fit "+folder, "EMULATE_FAIL=300").CombinedOutput()
	if err == nil || !strings.Contains(string(out), "a kernel went wrong (CUDA_ERROR_LAUNCH_FAILED, 719)") {
		t.Fatalf("%v: %s", err, out)
	}
	if found, err := filepath.Glob(filepath.Join(folder, "*")); err != nil || len(found) == 0 {
		t.Fatalf("no checkpoint: %v", err)
	}
	resumed, err := process("fit " + folder).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, resumed)
	}
	if whole, err := process("fit " + t.TempDir()).CombinedOutput(); err != nil || string(whole) != string(resumed) {
		t.Errorf("%v: weights %s, of a run that was not interrupted %s", err, resumed, whole)
	}
}
