//go:build full || cuda

package onnxruntime

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"credence/internal/python"
)

// TestMain lets the test's own binary be the worker.
func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == "worker" {
		if err := Serve(os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// reference runs a graph on inputs that are a function of their size, by the Python package of ONNX Runtime.
const reference = `
import sys, numpy, onnxruntime
options = onnxruntime.SessionOptions()
options.intra_op_num_threads = options.inter_op_num_threads = 1
session = onnxruntime.InferenceSession(sys.argv[1], options, providers=["CPUExecutionProvider"])
feed = {}
for value in session.get_inputs():
    if "int64" in value.type:
        x = (numpy.arange(11) * 37 % 1999).reshape(1, 11)
        feed[value.name] = x if value.name == "input_ids" else numpy.ones_like(x) if value.name == "attention_mask" else numpy.zeros_like(x)
    else:
        shape = [1] + [n if isinstance(n, int) else 32 for n in value.shape[1:]]
        x = numpy.arange(numpy.prod(shape)) * 2654435761 % 4096
        feed[value.name] = (x.astype(numpy.float32) / 2048 - 1).reshape(shape)
sys.stdout.buffer.write(session.run([sys.argv[2]], feed)[0].tobytes())
`

// inputs returns the inputs of reference.
func inputs(g Graph) []Tensor {
	var list []Tensor
	for _, v := range g.Inputs {
		shape := []int64{1}
		var data []byte
		if v.Type == Int64 {
			shape = append(shape, 11)
			for i := range 11 {
				x := map[string]int{"input_ids": i * 37 % 1999, "attention_mask": 1}[v.Name]
				data = binary.LittleEndian.AppendUint64(data, uint64(x))
			}
		} else {
			n := 1
			for _, s := range v.Shape[1:] {
				if s < 0 {
					s = 32
				}
				shape = append(shape, s)
				n *= int(s)
			}
			for i := range n {
				x := float32(i*2654435761%4096)/2048 - 1
				data = binary.LittleEndian.AppendUint32(data, math.Float32bits(x))
			}
		}
		list = append(list, Tensor{shape, data})
	}
	return list
}

// graphs returns a folder with the graphs that graphs.py writes.
func graphs(t *testing.T) (interpreter, folder string) {
	t.Helper()
	interpreter, folder = python.Interpreter(t, "onnx", "onnxruntime"), t.TempDir()
	if out, err := exec.Command(interpreter, "../backbone/testdata/graphs.py", folder).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return interpreter, folder
}

// libraryOf returns the library of an interpreter.
func libraryOf(t *testing.T, interpreter string) string {
	t.Helper()
	files, _ := filepath.Glob(filepath.Join(filepath.Dir(interpreter), "..", "lib", "python3*", "site-packages", "onnxruntime", "capi", "libonnxruntime.so*"))
	if len(files) == 0 {
		t.Fatalf("no library next to %s", interpreter)
	}
	return files[0]
}

// Sessions and workers give the bits of ONNX Runtime's own Python package.
func TestSameBits(t *testing.T) {
	interpreter, folder := graphs(t)
	lib := libraryOf(t, interpreter)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ file, output string }{{"resnet.onnx", "pooler_output"}, {"resnet.onnx", "feature_map"}, {"resnet-nhwc.onnx", "pooler_output"},
		{"vit.onnx", "last_hidden_state"}, {"bert/model.onnx", "last_hidden_state"}} {
		t.Run(c.file, func(t *testing.T) {
			path := filepath.Join(folder, c.file)
			cmd := exec.Command(interpreter, "-c", reference, path, c.output)
			cmd.Stderr = os.Stderr
			want, err := cmd.Output()
			if err != nil {
				t.Fatal(err)
			}
			model, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			session, err := Open(lib, model)
			if err != nil {
				t.Fatal(err)
			}
			worker, err := Start([]string{self, "worker"}, lib, model, 1<<30)
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range []Runner{session, worker} {
				item := inputs(r.Graph())
				out, err := r.Run(context.Background(), c.output, [][]Tensor{item, item, item})
				if err != nil {
					t.Fatal(err)
				}
				for i := range out {
					if string(out[i].Data) != string(want) {
						t.Errorf("%T, item %d: %d bytes differ from the %d of Python", r, i, len(out[i].Data), len(want))
					}
				}
				if _, err := r.Run(context.Background(), "none", [][]Tensor{item}); err == nil || !strings.Contains(err.Error(), `no output "none"`) {
					t.Error(err)
				}
				item[0].Data = item[0].Data[1:]
				if _, err := r.Run(context.Background(), c.output, [][]Tensor{item}); err == nil || !strings.Contains(err.Error(), "expected") {
					t.Error(err)
				}
				if err := r.Close(); err != nil {
					t.Error(err)
				}
			}
		})
	}
}
