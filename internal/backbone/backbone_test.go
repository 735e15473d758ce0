package backbone

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"credence/internal/onnxruntime"
	"credence/internal/python"
)

// pattern returns an image whose values are a function of their position.
func pattern(w, h int) Picture {
	p := Picture{w, h, make([]uint8, 3*w*h)}
	for i := range p.Pixels {
		p.Pixels[i] = uint8(i * 97)
	}
	return p
}

// The values in testdata are those of Pillow 12.0.0.
func TestResize(t *testing.T) {
	text, err := os.ReadFile("testdata/resize.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []struct {
		From, To [2]int
		Filter   string
		Pixels   []int
	}
	if err := json.Unmarshal(text, &cases); err != nil || len(cases) != 9 {
		t.Fatal(err, len(cases))
	}
	for _, c := range cases {
		got := resize(pattern(c.From[0], c.From[1]), c.To[0], c.To[1], c.Filter)
		for i, want := range c.Pixels {
			if len(got.Pixels) != len(c.Pixels) || int(got.Pixels[i]) != want {
				t.Errorf("%v to %v, %s: pixel %d is %d, want %d", c.From, c.To, c.Filter, i, got.Pixels[i], want)
				break
			}
		}
	}
}

const pillow = `
import sys, numpy
from PIL import Image
w, h, tw, th, f = map(int, sys.argv[1:])
a = (numpy.arange(w * h * 3) * 97 % 256).astype(numpy.uint8).reshape(h, w, 3)
sys.stdout.buffer.write(numpy.asarray(Image.fromarray(a).resize((tw, th), f)).tobytes())
`

// Resizing gives the pixels of Pillow, without any difference.
func TestResizeAsPillow(t *testing.T) {
	interpreter := python.Interpreter(t, "PIL", "numpy")
	r := rand.New(rand.NewPCG(1, 2))
	for range 6 {
		f := 1 + r.IntN(3)
		w, h, tw, th := 1+r.IntN(300), 1+r.IntN(300), 1+r.IntN(300), 1+r.IntN(300)
		want, err := exec.Command(interpreter, "-c", pillow, fmt.Sprint(w), fmt.Sprint(h), fmt.Sprint(tw), fmt.Sprint(th), fmt.Sprint(f)).Output()
		if err != nil {
			t.Fatal(err)
		}
		if got := resize(pattern(w, h), tw, th, resampleNames[f]); !bytes.Equal(got.Pixels, want) {
			t.Errorf("%d×%d to %d×%d, filter %d: pixels differ", w, h, tw, th, f)
		}
	}
}

func TestProcessor(t *testing.T) {
	imagenet := `"image_mean":[0.485,0.456,0.406],"image_std":[0.229,0.224,0.225]`
	for _, c := range []struct {
		config       string
		resize, crop []int
		filter       string
		err          string
	}{
		{`{"image_processor_type":"ViTImageProcessor","size":224,` + imagenet + `}`, []int{224, 224}, nil, "bilinear", ""},
		{`{"feature_extractor_type":"CLIPFeatureExtractor","size":224,"do_center_crop":true,"crop_size":224,` + imagenet + `}`, []int{224}, []int{224, 224}, "bicubic", ""},
		{`{"image_processor_type":"ConvNextImageProcessor","size":{"shortest_edge":224},"crop_pct":0.875,"resample":3,` + imagenet + `}`, []int{256}, []int{224, 224}, "bicubic", ""},
		{`{"image_processor_type":"ConvNextImageProcessor","size":{"shortest_edge":384},` + imagenet + `}`, []int{384, 384}, nil, "bilinear", ""},
		{`{"size":{"height":96,"width":64},"resample":1,` + imagenet + `}`, []int{96, 64}, nil, "lanczos", ""},
		{`{"do_resize":false,"size":8,"do_center_crop":true,"crop_size":{"height":32,"width":32},` + imagenet + `}`, nil, []int{32, 32}, "bilinear", ""},
		{`{"size":224,"resample":0}`, nil, nil, "", "resample 0 is not supported"},
		{`{"do_pad":true}`, nil, nil, "", "do_pad is not supported"},
		{`{"size":{"longest_edge":224}}`, nil, nil, "", "expected a number, a shortest_edge, or height and width"},
		{`{"size":224,"crop_pct":0.9}`, nil, nil, "", "crop_pct is supported for ConvNext"},
		{`{"size":224,"rescale_factor":-1}`, nil, nil, "", "expected a rescale_factor above 0"},
		{`[]`, nil, nil, "", "this is not a configuration"},
	} {
		s, err := parseProcessor([]byte(c.config))
		switch {
		case c.err != "":
			if err == nil || !strings.Contains(err.Error(), c.err) {
				t.Errorf("%s: %v, want %q", c.config, err, c.err)
			}
		case err != nil:
			t.Errorf("%s: %v", c.config, err)
		case !slices.Equal(s.Resize, c.resize) || !slices.Equal(s.Crop, c.crop) || s.Filter != c.filter || s.Mean[0] != 0.485 || s.Scale != 1./255:
			t.Errorf("%s: %+v", c.config, s)
		}
	}
}

func value(name string, typ onnxruntime.Type, shape ...int64) onnxruntime.Value {
	return onnxruntime.Value{Name: name, Type: typ, Shape: shape}
}

func TestComplete(t *testing.T) {
	pixels := value("pixels", onnxruntime.Float32, -1, 3, -1, -1)
	vector := value("v", onnxruntime.Float32, -1, 8)
	tokens := value("last_hidden_state", onnxruntime.Float32, -1, -1, 8)
	graph := func(in onnxruntime.Value, out ...onnxruntime.Value) onnxruntime.Graph {
		return onnxruntime.Graph{Inputs: []onnxruntime.Value{in}, Outputs: out}
	}
	for _, c := range []struct {
		name  string
		graph onnxruntime.Graph
		given Settings
		want  string // of String, or of the error
	}{
		{"defaults", graph(pixels, vector), Settings{}, `: output "v"; images resized to 256 pixels on the shorter side (bilinear), cropped to 224×224, scaled by 0.003922, ` +
			`mean 0.485/0.456/0.406, sd 0.229/0.224/0.225, NCHW`},
		{"tokens", graph(pixels, vector, tokens), Settings{}, `output "last_hidden_state", its first position`},
		{"pool", graph(pixels, vector, tokens), Settings{Pool: Max, Output: "last_hidden_state"}, "largest value over its positions"},
		{"fixed size", graph(value("x", onnxruntime.Float32, 1, 299, 299, 3), vector), Settings{}, "resized to 342 pixels on the shorter side (bilinear), cropped to 299×299"},
		{"layout", graph(value("x", onnxruntime.Float32, 1, 299, 299, 3), vector), Settings{}, "NHWC"},
		{"other output", graph(pixels, vector), Settings{Output: "w"}, `the graph has no output "w": expected one of [v]`},
		{"other pool", graph(pixels, vector), Settings{Pool: "sum"}, `expected a way of pooling among none, mean, first, max, found "sum"`},
		{"half", graph(pixels, value("v", 10, 1, 8)), Settings{}, `output "v": expected numbers of type float32, found float16`},
		{"bytes", graph(value("x", 2, 1, 3, 8, 8), vector), Settings{}, `input "x": expected pixels of type float32 and shape [1, 3, height, width], found uint8 of shape [1 3 8 8]`},
		{"gray", graph(value("x", onnxruntime.Float32, 1, 1, 8, 8), vector), Settings{}, "expected 3 channels, found 1"},
		{"batch", graph(value("x", onnxruntime.Float32, 16, 3, 8, 8), vector), Settings{}, "found float32 of shape [16 3 8 8]"},
		{"size", graph(value("x", onnxruntime.Float32, 1, 3, 8, 8), vector), Settings{Crop: []int{9, 9}}, "the graph reads images of 8×8 pixels, but they are cropped or resized to 9×9"},
		{"crop", graph(pixels, vector), Settings{Crop: []int{50, 50}, Resize: []int{40}}, "expected images to be resized to at least the 50×50 pixels"},
		{"sd", graph(pixels, vector), Settings{SD: []float64{1, 0, 1}}, "3 standard deviations above 0"},
		{"text options", graph(pixels, vector), Settings{Tokens: 8}, "expected no settings of texts"},
		{"no tokenizer", graph(value("input_ids", onnxruntime.Int64, -1, -1), tokens), Settings{}, "expected tokenizer.json next to the graph, found none"},
		{"no outputs", onnxruntime.Graph{Inputs: []onnxruntime.Value{pixels}}, Settings{}, "expected a graph with inputs and outputs, found 1 and 0"},
	} {
		s, err := c.given.complete(c.graph, &files{})
		got := s.String()
		if err != nil {
			got = err.Error()
		}
		if !strings.Contains(got, c.want) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

func TestPool(t *testing.T) {
	x := []float32{1, 2, 3, 4, 5, 6, 7, 8}
	for _, c := range []struct {
		pool, layout string
		shape        []int64
		positions    int
		want         []float32
	}{
		{None, "", []int64{1, 8}, 0, x},
		{Mean, "", []int64{1, 4, 2}, 0, []float32{4, 5}},
		{Mean, "", []int64{1, 4, 2}, 2, []float32{2, 3}},
		{First, "", []int64{1, 4, 2}, 0, []float32{1, 2}},
		{Max, "", []int64{1, 4, 2}, 3, []float32{5, 6}},
		{Mean, "NCHW", []int64{1, 2, 2, 2}, 0, []float32{2.5, 6.5}},
		{Mean, "NHWC", []int64{1, 2, 2, 2}, 0, []float32{4, 5}},
		{Mean, "", []int64{1, 8}, 0, nil},
		{None, "", []int64{2, 4}, 0, nil},
	} {
		s := Settings{Pool: c.pool, Layout: c.layout}
		got, err := s.pool(onnxruntime.Tensor{Shape: c.shape, Data: bytesOf(x)}, c.positions)
		if (err != nil) != (c.want == nil) || !slices.Equal(got, c.want) {
			t.Errorf("%s of %v: %v, %v, want %v", c.pool, c.shape, got, err, c.want)
		}
	}
}

// A store returns what was added, by this process or another one, and nothing that is damaged.
func TestStore(t *testing.T) {
	dir := t.TempDir()
	open := func() *store {
		s, err := openStore(dir, "v.bin")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { s.close() })
		return s
	}
	a, b := open(), open()
	if err := a.add([]Key{{1}, {2}}, [][]float32{{1, 2}, {3, 4}}); err != nil {
		t.Fatal(err)
	}
	if err := b.add([]Key{{3}}, [][]float32{{5, 6}}); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "v.bin")
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	f.WriteString("half an entry")
	f.Close()
	if err := a.add([]Key{{4}}, [][]float32{{7, 8}}); err != nil {
		t.Fatal(err)
	}
	c := open()
	for k, want := range map[Key][]float32{{1}: {1, 2}, {2}: {3, 4}, {3}: {5, 6}, {4}: {7, 8}, {5}: nil} {
		if got := c.read(k); !slices.Equal(got, want) {
			t.Errorf("%v: %v, want %v", k[0], got, want)
		}
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	text[storeHeader+40]++ // a value of the first entry
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	if d := open(); d.read(Key{1}) != nil || d.read(Key{2}) == nil || c.read(Key{1}) != nil {
		t.Error("a damaged entry is read")
	}
	// Vectors of another length replace all.
	if err := a.add([]Key{{9}}, [][]float32{{1}}); err != nil {
		t.Fatal(err)
	}
	if d := open(); d.width != 1 || len(d.at) != 1 || !reflect.DeepEqual(d.read(Key{9}), []float32{1}) {
		t.Errorf("%+v", d)
	}
}

// FuzzStore checks that no file is read as more than it contains.
func FuzzStore(f *testing.F) {
	f.Add([]byte(storeMagic + "\x02\x00\x00\x00"))
	f.Add([]byte(storeMagic + "\xff\xff\xff\xff"))
	f.Fuzz(func(t *testing.T, text []byte) {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "v.bin"), text, 0o600); err != nil {
			t.Fatal(err)
		}
		s, err := openStore(dir, "v.bin")
		if err != nil {
			t.Fatal(err)
		}
		defer s.close()
		if len(s.at)*s.entry() > len(text) {
			t.Errorf("%d entries of %d bytes", len(s.at), len(text))
		}
	})
}

func TestPixels(t *testing.T) {
	s := Settings{Resize: []int{4}, Crop: []int{4, 4}, Filter: "bilinear", Scale: 1. / 255, Mean: []float64{0.5, 0.5, 0.5}, SD: []float64{0.5, 0.25, 1}, Layout: "NCHW"}
	p := pattern(9, 4) // resized to itself, of which the center is used
	got, err := s.pixels(p)
	if err != nil {
		t.Fatal(err)
	}
	x := floats(got.Data)
	for c, sd := range s.SD {
		for y := range 4 {
			for col := range 4 {
				v := float64(p.Pixels[(y*9+col+2)*3+c])
				if want := (v/255 - 0.5) / sd; math.Abs(float64(x[(c*4+y)*4+col])-want) > 1e-6 {
					t.Fatalf("channel %d, row %d, column %d: %v, want %v", c, y, col, x[(c*4+y)*4+col], want)
				}
			}
		}
	}
	s.Layout = "NHWC"
	if got, _ = s.pixels(p); !slices.Equal(got.Shape, []int64{1, 4, 4, 3}) || floats(got.Data)[1] != x[16] {
		t.Errorf("%v", got.Shape)
	}
	s.Resize = nil
	if _, err := s.pixels(pattern(3, 9)); err == nil || !strings.Contains(err.Error(), "expected an image of at least 4×4 pixels, found 3×9") {
		t.Error(err)
	}
}
