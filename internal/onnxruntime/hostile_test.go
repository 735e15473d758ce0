//go:build full || cuda

package onnxruntime

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// hostile writes graphs that take 16 GB of memory, that do not end, and whose weights are in another file.
const hostile = `
import sys, numpy, onnx
from onnx import helper, numpy_helper, TensorProto as T
def save(name, nodes, weights, **options):
    graph = helper.make_graph(nodes, name, [helper.make_tensor_value_info("x", T.FLOAT, [1, 4])],
                              [helper.make_tensor_value_info("y", T.FLOAT, [1, None])], weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.save(model, sys.argv[1] + "/" + name, **options)
node = helper.make_node
number = lambda name, *values: numpy_helper.from_array(numpy.array(values, numpy.int64), name)
save("memory.onnx", [node("ReduceMax", ["x"], ["m"]), node("Cast", ["m"], ["i"], to=T.INT64), node("Mul", ["i", "n"], ["k"]), node("Reshape", ["k", "one"], ["s"]),
                     node("ConstantOfShape", ["s"], ["c"]), node("Reshape", ["c", "row"], ["y"])],
     [number("n", 1 << 32), number("one", 1), number("row", 1, -1)])
body = helper.make_graph([node("Identity", ["cin"], ["cout"]), node("Identity", ["vin"], ["vout"])], "body",
                         [helper.make_tensor_value_info("it", T.INT64, []), helper.make_tensor_value_info("cin", T.BOOL, []), helper.make_tensor_value_info("vin", T.FLOAT, [1, 4])],
                         [helper.make_tensor_value_info("cout", T.BOOL, []), helper.make_tensor_value_info("vout", T.FLOAT, [1, 4])])
save("loop.onnx", [node("Loop", ["most", "go", "x"], ["y"], body=body)],
     [numpy_helper.from_array(numpy.array(1 << 62), "most"), numpy_helper.from_array(numpy.array(True), "go")])
save("external.onnx", [node("MatMul", ["x", "w"], ["y"])], [numpy_helper.from_array(numpy.ones((4, 400), numpy.float32), "w")],
     save_as_external_data=True, location="weights.bin", size_threshold=0)
`

// A worker keeps hostile graphs within its memory, ends with its caller, and reads no other file.
func TestHostile(t *testing.T) {
	interpreter, folder := graphs(t)
	if out, err := exec.Command(interpreter, "-c", hostile, folder).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	start := func(name string) (*Worker, error) {
		model, err := os.ReadFile(filepath.Join(folder, name))
		if err != nil {
			t.Fatal(err)
		}
		return Start([]string{self, "worker"}, libraryOf(t, interpreter), model, 1<<30)
	}
	one := [][]Tensor{{{[]int64{1, 4}, []byte("\x00\x00\x80\x3f\x00\x00\x80\x3f\x00\x00\x80\x3f\x00\x00\x80\x3f")}}}
	for name, stopped := range map[string]bool{"memory.onnx": false, "loop.onnx": true} {
		w, err := start(name)
		if err != nil {
			t.Fatal(name, err)
		}
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		if stopped {
			ctx, cancel = context.WithTimeout(context.Background(), time.Second)
		}
		_, err = w.Run(ctx, "y", one)
		cancel()
		if err == nil || stopped != errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s: %v", name, err)
		}
		if err := w.Close(); err != nil {
			t.Error(name, err)
		}
	}
	if _, err := start("external.onnx"); !errors.Is(err, ErrExternal) {
		t.Errorf("external data: %v", err)
	}
	if _, err := Start([]string{self, "worker"}, filepath.Join(folder, "resnet.onnx"), []byte("x"), 1<<30); !errors.Is(err, ErrNoLibrary) {
		t.Errorf("another library: %v", err)
	}
	if _, err := Start([]string{self, "worker"}, libraryOf(t, interpreter), []byte("x"), 1<<30); err == nil || !strings.Contains(err.Error(), "protobuf") {
		t.Errorf("another file: %v", err)
	}
}
