//go:build full || cuda

package backbone

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"credence/internal/onnxruntime"
	"credence/internal/python"
)

// TestMain lets the test's own binary be the worker.
func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == "worker" {
		if err := onnxruntime.Serve(os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// setup returns options for the graphs in a folder, and an interpreter of Python.
func setup(t testing.TB) (o Options, interpreter, folder string) {
	t.Helper()
	interpreter, folder = python.Interpreter(t, "onnx", "onnxruntime", "tokenizers", "numpy"), t.TempDir()
	if out, err := exec.Command(interpreter, "testdata/graphs.py", folder).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	text, err := os.ReadFile("../tokenizer/testdata/tokenizer.json")
	if err == nil {
		err = os.WriteFile(filepath.Join(folder, "bert", tokenizerFile), text, 0o600)
	}
	libraries, _ := filepath.Glob(filepath.Join(filepath.Dir(interpreter), "..", "lib", "python3*", "site-packages", "onnxruntime", "capi", "libonnxruntime.so*"))
	self, failed := os.Executable()
	if err = errors.Join(err, failed); err != nil || len(libraries) == 0 {
		t.Fatal(err, libraries)
	}
	return Options{Library: libraries[0], Worker: []string{self, "worker"}, Cache: t.TempDir()}, interpreter, folder
}

// reference computes vectors with the Python packages alone: of the image that pattern(300, 260) returns, and of texts.
const reference = `
import sys, numpy, onnxruntime, tokenizers
from numpy import float64, float32
options = onnxruntime.SessionOptions()
options.intra_op_num_threads = options.inter_op_num_threads = 1
session = onnxruntime.InferenceSession(sys.argv[1], options, providers=["CPUExecutionProvider"])
if sys.argv[2] == "image":
    from PIL import Image
    a = (numpy.arange(300 * 260 * 3) * 97 % 256).astype(numpy.uint8).reshape(260, 300, 3)
    size = 256 if len(sys.argv) < 5 else int(sys.argv[4])
    crop = 224 if len(sys.argv) < 5 else int(sys.argv[5])
    image = Image.fromarray(a).resize((int(size * 300 / 260), size), 2)
    left, top = (image.width - crop) // 2, (image.height - crop) // 2
    x = numpy.asarray(image)[top:top + crop, left:left + crop].astype(float64)
    x = ((x * (1 / 255) - [0.485, 0.456, 0.406]) / [0.229, 0.224, 0.225]).astype(float32)
    name = session.get_inputs()[0].name
    if session.get_inputs()[0].shape[-1] != 3:
        x = x.transpose(2, 0, 1)
    y = session.run([sys.argv[3]], {name: numpy.ascontiguousarray(x[None])})[0]
    y = y[0, 0] if y.ndim == 3 else y[0]
else:
    encoded = tokenizers.Tokenizer.from_file(sys.argv[3]).encode(sys.argv[4])
    feed = dict(input_ids=encoded.ids, attention_mask=encoded.attention_mask, token_type_ids=encoded.type_ids)
    y = session.run(["last_hidden_state"], {k: numpy.array([v]) for k, v in feed.items()})[0][0].astype(float64).mean(0)
sys.stdout.buffer.write(y.astype(float32).tobytes())
`

// Vectors are those of Pillow, tokenizers and onnxruntime: of images to the bit, of texts but for the order of a sum.
func TestEmbed(t *testing.T) {
	o, interpreter, folder := setup(t)
	const text = "Über 12 sentences, [MASK] and 漢字!"
	for _, c := range []struct {
		path string
		args []string
	}{
		{"resnet.onnx", []string{"image", "pooler_output"}}, {"resnet-nhwc.onnx", []string{"image", "pooler_output", "37", "32"}},
		{"vit.onnx", []string{"image", "last_hidden_state", "37", "32"}}, {"bert", []string{"text", filepath.Join(folder, "bert", tokenizerFile), text}},
	} {
		t.Run(c.path, func(t *testing.T) {
			o := o
			o.Path = filepath.Join(folder, c.path)
			graph, err := findGraph(o.Path)
			if err != nil {
				t.Fatal(err)
			}
			cmd := exec.Command(interpreter, append([]string{"-c", reference, graph}, c.args...)...)
			cmd.Stderr = os.Stderr
			want, err := cmd.Output()
			if err != nil {
				t.Fatal(err)
			}
			decoded := 0
			embed := func(o Options) []float32 {
				b, err := Open(context.Background(), o)
				if err != nil {
					t.Fatal(err)
				}
				defer b.Close()
				item := b.Image([]byte("content"), func() (Picture, error) { decoded++; return pattern(300, 260), nil })
				if b.Items == Texts {
					item = Text(text)
				}
				out, errs, err := b.Embed(context.Background(), []Input{item, item})
				if err = errors.Join(err, errs[0], errs[1]); err != nil {
					t.Fatal(err)
				}
				if &out[0][0] != &out[1][0] {
					t.Error("an item is computed twice")
				}
				return out[0]
			}
			first := embed(o)
			for i, x := range first {
				y := math.Float32frombits(binary.LittleEndian.Uint32(want[4*i:]))
				if 4*len(first) != len(want) || x != y && (c.args[0] == "image" || math.Abs(float64(x-y)) > 1e-6) {
					t.Fatalf("value %d of %d is %v, want %v", i, len(first), x, y)
				}
			}
			// The second time the vector is in the cache, and neither the library nor the image is needed.
			o.Library = ""
			t.Setenv(onnxruntime.LibraryEnv, "/nowhere")
			if again := embed(o); !bytes.Equal(bytesOf(again), bytesOf(first)) || decoded > 1 {
				t.Errorf("decoded %d times, or other values", decoded)
			}
			o.Cache = ""
			if _, err := Open(context.Background(), o); err == nil || !strings.Contains(err.Error(), "found no file /nowhere") {
				t.Error(err)
			}
			o.SHA256, o.Name = strings.Repeat("0", 64), "other.onnx"
			if _, err := Open(context.Background(), o); !errors.Is(err, ErrOther) || !strings.Contains(err.Error(), "expected other.onnx with SHA-256 000") {
				t.Error(err)
			}
		})
	}
}

// realReference runs a network for images of 192×48 pixels.
const realReference = `
import sys, numpy, onnxruntime
from PIL import Image
a = (numpy.arange(300 * 260 * 3) * 97 % 256).astype(numpy.uint8).reshape(260, 300, 3)
x = numpy.asarray(Image.fromarray(a).resize((192, 48), 3)).astype(numpy.float64)
x = ((x * (1 / 255) - 0.5) / 0.5).astype(numpy.float32).transpose(2, 0, 1)
options = onnxruntime.SessionOptions()
options.intra_op_num_threads = options.inter_op_num_threads = 1
session = onnxruntime.InferenceSession(sys.argv[1], options, providers=["CPUExecutionProvider"])
sys.stdout.buffer.write(session.run(None, {session.get_inputs()[0].name: numpy.ascontiguousarray(x[None])})[0].tobytes())
`

// CREDENCE_REAL_ONNX names a trained network: the classifier of text direction in the package rapidocr-onnxruntime.
func TestRealGraph(t *testing.T) {
	path := os.Getenv("CREDENCE_REAL_ONNX")
	if path == "" {
		t.Skip("set CREDENCE_REAL_ONNX")
	}
	o, interpreter, _ := setup(t)
	want, err := exec.Command(interpreter, "-c", realReference, path).Output()
	if err != nil {
		t.Fatal(err)
	}
	o.Path = path
	o.Settings = Settings{Resize: []int{48, 192}, Crop: []int{48, 192}, Filter: "bicubic", Mean: []float64{0.5, 0.5, 0.5}, SD: []float64{0.5, 0.5, 0.5}}
	b, err := Open(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	out, errs, err := b.Embed(context.Background(), []Input{b.Image([]byte("x"), func() (Picture, error) { return pattern(300, 260), nil })})
	if err = errors.Join(append(errs, err)...); err != nil {
		t.Fatal(err)
	}
	if len(want) == 0 || !bytes.Equal(bytesOf(out[0]), want) {
		t.Errorf("%v differs from the %d bytes of Python", out[0], len(want))
	}
	t.Logf("%s: %v", b.Settings.String(), out[0])
}
