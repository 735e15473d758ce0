package model

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"credence/internal/python"
	"credence/internal/safetensors"
)

func encode(t testing.TB, m *Model) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := m.Encode(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func decode(b []byte) (*Model, error) { return Decode(bytes.NewReader(b), int64(len(b))) }

// TestRoundTrip: a model that was saved and loaded predicts the same bits, and
// is saved as the same bytes.
func TestRoundTrip(t *testing.T) {
	m := small(t)
	path := filepath.Join(t.TempDir(), "model.credence")
	if err := m.Save(path); err != nil {
		t.Fatal(err)
	}
	got, err := Load(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(encode(t, got), encode(t, m)) {
		t.Error("loaded and encoded: other bytes")
	}
	ds := items(50)
	if !reflect.DeepEqual(predict(t, got, ds, PredictOptions{}), predict(t, m, ds, PredictOptions{})) {
		t.Error("loaded: other predictions")
	}
	if !reflect.DeepEqual(got.Provenance, m.Provenance) || !reflect.DeepEqual(got.Calibration, m.Calibration) || got.Size() != m.Size() {
		t.Errorf("loaded: %+v, %+v", got.Provenance, got.Calibration)
	}
}

// altered returns a model's file with its content changed and checksums that
// hold.
func altered(t testing.TB, edit func(f *safetensors.File)) []byte {
	t.Helper()
	b := encode(t, small(t))
	f, err := safetensors.Read(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		t.Fatal(err)
	}
	edit(f)
	var out bytes.Buffer
	if err := safetensors.Write(&out, f); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestLoadRefuses(t *testing.T) {
	whole := encode(t, small(t))
	flipped := bytes.Clone(whole)
	flipped[len(flipped)-2] ^= 1
	meta := func(key, value string) []byte {
		return altered(t, func(f *safetensors.File) { f.Metadata[key] = value })
	}
	layers := func(text string) []byte { return meta(keyNetworks, "["+text+","+text+"]") }
	for _, c := range []struct {
		name string
		file []byte
		want error
		text string
	}{
		{"empty", nil, ErrTruncated, "0 bytes"},
		{"truncated", whole[:len(whole)-1], ErrTruncated, "ends at byte"},
		{"corrupt", flipped, ErrCorrupt, "expected checksum"},
		{"CSV", []byte("item,label\n1,2\n3,4\n"), ErrForeign, `found "item,lab"`},
		{"other program", altered(t, func(f *safetensors.File) { f.Metadata = map[string]string{"format": "pt"} }), ErrForeign, "not a Credence model"},
		{"checkpoint", meta(keyFormat, `"credence-checkpoint"`), ErrForeign, "not a Credence model"},
		{"newer", meta(keyVersion, "5"), ErrNewer, "version 5, this program reads up to 4"},
		{"older", meta(keyVersion, "1"), ErrOlder, "version 1, this program reads version 2"},
		{"no version", meta(keyVersion, "x"), ErrCorrupt, "format version"},
		{"transform", meta(keyTransform, `{"version":1,"parts":[{"name":"a","kind":"numeric"}]}`), ErrCorrupt, "transform"},
		{"classes", meta(keyClasses, `["a","b"]`), ErrCorrupt, "found 4 and 8"},
		{"head", meta(keyHead, `{"kind":"magic"}`), ErrCorrupt, `method "magic"`},
		{"outputs of a head", meta(keyHead, `{"kind":"softmax"}`), ErrCorrupt, "expected 4 inputs and 3 outputs, found 4 and 8"},
		{"setting of a head", meta(keyHead, `{"kind":"qd","level":2}`), ErrCorrupt, "level: expected a number between 0 and 1, found 2"},
		{"no networks", meta(keyNetworks, `[]`), ErrCorrupt, "no networks"},
		{"scale", meta(keyCalibration, `{"scale":0,"resolution":0}`), ErrCorrupt, "scale: expected a number above 0 and at most 1e+06, found 0"},
		{"resolution", meta(keyCalibration, `{"scale":1,"resolution":2}`), ErrCorrupt, "resolution: expected a number from 0 to 0.1, found 2"},
		{"layers", layers(`[{"type":"dense","out":6}]`), ErrCorrupt, "expected shape 6×4, found [5 4]"},
		{"unknown layer", layers(`[{"type":"magic"}]`), ErrCorrupt, `layer "magic"`},
		{"huge layer", layers(`[{"type":"dense","out":1000000000000}]`), ErrCorrupt, "found 1e+12"},
		{"large layer", layers(`[{"type":"dense","out":16000000},{"type":"dense","out":16000000},{"type":"batchnorm"}]`), ErrCorrupt, "16000000×16000000"},
		{"negative layer", layers(`[{"type":"dense","out":-5}]`), ErrCorrupt, "-5"},
		{"missing tensor", layers(`[{"type":"dense","out":5},{"type":"batchnorm"},{"type":"relu"},{"type":"dense","out":8},{"type":"dense","out":8}]`), ErrCorrupt, "tensor 4.weight is missing"},
	} {
		_, err := decode(c.file)
		if !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.text) {
			t.Errorf("%s: %v, want %v with %q", c.name, err, c.want, c.text)
		}
	}
	if _, err := Load(filepath.Join(t.TempDir(), "none")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
	if _, err := Load(t.TempDir()); !errors.Is(err, ErrForeign) {
		t.Errorf("a folder: %v", err)
	}
}

// TestPython opens a model with the safetensors library.
func TestPython(t *testing.T) {
	interpreter := python.Interpreter(t, "numpy", "safetensors")
	path := filepath.Join(t.TempDir(), "model.credence")
	if err := small(t).Save(path); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(interpreter, "-c", `
import json, sys
from safetensors import safe_open
with safe_open(sys.argv[1], framework="np") as f:
    print(json.loads(f.metadata()["classes"]), len(f.keys()), f.get_tensor("member1.0.weight").shape)
`, path).CombinedOutput()
	if got, want := strings.TrimSpace(string(out)), "['no', 'maybe', 'yes'] 16 (5, 4)"; err != nil || got != want {
		t.Errorf("Python read %s, want %s; %v", got, want, err)
	}
}

// FuzzLoad reads damaged files.
func FuzzLoad(f *testing.F) {
	f.Add(encode(f, small(f)))
	for _, b := range bombs() {
		if file := b.file(f); len(file) < 10_000 {
			f.Add(file)
		}
	}
	f.Fuzz(func(t *testing.T, b []byte) { _, _ = decode(b) })
}

// bomb is a file whose checksums hold, of networks with the given layers and
// tensors, that asks for far more memory or time than its size lets expect.
type bomb struct {
	name, head, classes, transform, networks string
	tensors                                  []safetensors.Tensor
}

// file writes the bomb.
func (b *bomb) file(t testing.TB) []byte {
	t.Helper()
	f := &safetensors.File{Tensors: b.tensors, Metadata: map[string]string{
		keyFormat: `"` + format + `"`, keyVersion: strconv.Itoa(version), keyCalibration: "null", keyProvenance: "{}",
		keyHead: b.head, keyClasses: b.classes, keyTransform: b.transform, keyNetworks: b.networks,
	}}
	var out bytes.Buffer
	if err := safetensors.Write(&out, f); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// bombs are files that once ended a process, or would have.
func bombs() []*bomb {
	const (
		mixture = `{"kind":"mixture","components":1,"limit":20}`
		two     = `["a","b"]`
		number  = `{"version":1,"parts":[{"name":"x","kind":"numeric","mean":[0],"sd":[1]}]}`
		image   = `{"version":1,"parts":[{"name":"x","kind":"tensor","shape":[1,%s],"mean":[0],"sd":[1]}]}`
	)
	var many []safetensors.Tensor
	for i := range 200_000 {
		many = append(many, safetensors.Tensor{Name: fmt.Sprintf("member0.%d.weight", i), Shape: []int{0}})
	}
	classes, _ := json.Marshal(strings.Split(strings.Repeat("c ", 100_000), " "))
	relus := strings.Repeat(`{"type":"relu"},`, 1000) + `{"type":"dense","out":3}`
	list := []*bomb{
		{name: "no components fit", head: `{"kind":"mixture","components":1000000000,"limit":20}`},
		{name: "components overflow", head: `{"kind":"mixture","components":4611686018427387904,"limit":20}`},
		{name: "components of many classes", head: `{"kind":"mixture","components":65536,"limit":20}`, classes: string(classes)},
		{name: "input", transform: fmt.Sprintf(image, "20000,20000"), networks: `[[{"type":"globalpool"},{"type":"dense","out":3}]]`},
		{name: "state", transform: fmt.Sprintf(image, "10000,10000"), networks: `[[{"type":"flatten"},{"type":"batchnorm"}]]`},
		{name: "smaller state", transform: fmt.Sprintf(image, "5000,5000"), networks: `[[{"type":"flatten"},{"type":"batchnorm"}]]`},
		{name: "normalized", transform: fmt.Sprintf(image, "10000,10000"), networks: `[[{"type":"layernorm"}]]`},
		{name: "kernel", transform: fmt.Sprintf(image, "9000,9000"), networks: `[[{"type":"conv","out":1,"kernel":8999}]]`},
		{name: "padding", transform: fmt.Sprintf(image, "1,1,1"), networks: `[[{"type":"conv","out":1,"kernel":1,"pad":[16000,16000,0]},{"type":"maxpool","size":[32001,32001,1]},{"type":"flatten"},{"type":"dense","out":3}]]`},
		{name: "layers", transform: fmt.Sprintf(image, "11000,11000"), networks: `[[{"type":"flatten"},` + relus + `]]`},
		{name: "dense", networks: `[[{"type":"dense","out":16000000},{"type":"dense","out":3}]]`},
		{name: "thin", networks: `[[{"type":"dense","out":16000000},{"type":"globalpool"}]]`},
		{name: "parts of an item", networks: `[[{"type":"concat","inputs":[[16777216,16777216,16777216],[1]],"branches":[[],[]]},{"type":"dense","out":3}]]`},
		{name: "tensors", networks: `[[` + relus + `]]`, tensors: many},
		{name: "empty networks", networks: `[` + strings.Repeat(`[],`, 500_000) + `[]]`},
		{name: "large networks", networks: `[[` + strings.Repeat(relus+",", 300) + `{"type":"relu"}]]`},
	}
	for _, b := range list {
		if b.tensors == nil {
			b.tensors = []safetensors.Tensor{
				{Name: "member0.0.weight", Shape: []int{3, 1}, Values: make([]float32, 3)},
				{Name: "member0.0.bias", Shape: []int{3}, Values: make([]float32, 3)},
			}
		}
		for _, p := range []struct {
			to   *string
			zero string
		}{{&b.head, mixture}, {&b.classes, two}, {&b.transform, number}, {&b.networks, `[[{"type":"dense","out":3}]]`}} {
			if *p.to == "" {
				*p.to = p.zero
			}
		}
	}
	return list
}

// TestBombs: the sizes in a file are checked before anything is allocated.
func TestBombs(t *testing.T) {
	for _, b := range bombs() {
		file := b.file(t)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		start := time.Now()
		_, err := decode(file)
		took := time.Since(start)
		runtime.ReadMemStats(&after)
		if !errors.Is(err, ErrCorrupt) {
			t.Errorf("%s, %d bytes: %v, want ErrCorrupt", b.name, len(file), err)
		}
		if got, most := after.TotalAlloc-before.TotalAlloc, uint64(2<<20+100*len(file)); got > most {
			t.Errorf("%s, %d bytes: %d bytes were allocated, want at most %d", b.name, len(file), got, most)
		}
		if took > 10*time.Second { // less than one here
			t.Errorf("%s, %d bytes: took %v", b.name, len(file), took)
		}
	}
}

// TestPredictInParts: a batch is no larger than what the layers keep of it
// allows.
func TestPredictInParts(t *testing.T) {
	m := small(t)
	if size := m.itemSize(); size < 3+5+5+8 || size > 100 {
		t.Errorf("an item of 3 values through layers of 5, 5 and 8 takes %d", size)
	}
}

// FuzzMetadata reads files whose checksums hold and whose metadata make no
// sense.
func FuzzMetadata(f *testing.F) {
	b := encode(f, small(f))
	file, err := safetensors.Read(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		f.Fatal(err)
	}
	for key, value := range file.Metadata {
		f.Add(key, value)
	}
	for _, b := range bombs() {
		for key, value := range map[string]string{keyHead: b.head, keyTransform: b.transform, keyNetworks: b.networks} {
			if len(value) < 2000 {
				f.Add(key, value)
			}
		}
	}
	f.Add(keyNetworks, `[[{"type":"concat","branches":[[],[{"type":"conv","out":3,"kernel":[2,2]}]]}]]`)
	f.Fuzz(func(t *testing.T, key, value string) {
		meta := map[string]string{}
		for k, v := range file.Metadata {
			meta[k] = v
		}
		meta[key] = value
		if m, err := fromFile(&safetensors.File{Tensors: file.Tensors, Metadata: meta}, Extensions{}); err == nil {
			encode(t, m)
		}
	})
}

// TestNoProvenance checks that a model without its provenance predicts as before.
func TestNoProvenance(t *testing.T) {
	m := small(t)
	path := filepath.Join(t.TempDir(), "m")
	if err := m.Save(path); err != nil {
		t.Fatal(err)
	}
	got, err := LoadWith(path, Extensions{NoProvenance: true})
	if err != nil {
		t.Fatal(err)
	}
	if got.Provenance.Data != "" || got.Provenance.Runs != nil {
		t.Errorf("the provenance was read: %+v", got.Provenance)
	}
	if err := got.Save(path); err == nil || !strings.Contains(err.Error(), "without its provenance") {
		t.Errorf("saved: %v", err)
	}
	got.Provenance, got.partial = m.Provenance, false
	a, errA := m.Hash()
	b, errB := got.Hash()
	if errA != nil || errB != nil || a != b {
		t.Errorf("the rest differs: %v, %v", errA, errB)
	}
}
