package safetensors

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"credence/internal/python"
)

func sample() *File {
	return &File{
		Metadata: map[string]string{"format": "test", "text": `{"header_sha256":""} <&> Größe`},
		Tensors: []Tensor{
			{"b", []int{2, 3}, []float32{1, 2, 3, float32(math.Copysign(0, -1)), float32(math.Inf(1)), 1e-40}},
			{"none", []int{0, 4}, []float32{}},
			{"a", []int{}, []float32{7}},
		},
	}
}

func encode(t testing.TB, f *File) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := Write(&b, f); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func read(b []byte) (*File, error) { return Read(bytes.NewReader(b), int64(len(b))) }

func TestRoundTrip(t *testing.T) {
	b := encode(t, sample())
	got, err := read(b)
	if err != nil {
		t.Fatal(err)
	}
	if want := sample(); !reflect.DeepEqual(got, want) {
		t.Errorf("read %+v, want %+v", got, want)
	}
	if again := encode(t, got); !bytes.Equal(again, b) {
		t.Error("written again, other bytes")
	}
	if m := got.ByName(); len(m) != 3 || m["a"] != &got.Tensors[2] {
		t.Errorf("by name %v", m)
	}
}

// TestEveryByteCounts checks that every changed byte and every truncation is detected.
func TestEveryByteCounts(t *testing.T) {
	b := encode(t, sample())
	for i := range b {
		for _, bit := range []byte{1, 0x20, 0x80} {
			c := bytes.Clone(b)
			c[i] ^= bit
			if f, err := read(c); err == nil && !reflect.DeepEqual(f, sample()) {
				t.Fatalf("byte %d: a change passes", i)
			}
		}
		if _, err := read(b[:i]); !errors.Is(err, ErrTruncated) {
			t.Fatalf("cut at %d: %v, want ErrTruncated", i, err)
		}
	}
	if _, err := read(append(bytes.Clone(b), 0)); err == nil {
		t.Error("a byte more passes")
	}
}

// raw returns a file with the given header, sealed, and data.
func raw(header string, data []byte) []byte {
	h := seal([]byte(header))
	b := binary.LittleEndian.AppendUint64(nil, uint64(len(h)))
	return append(append(b, h...), data...)
}

func TestRefuses(t *testing.T) {
	const sums = `{"__metadata__":{"data_sha256":"df3f619804a92fdb4057192dc43dd748ea778adc52bc498ce80524c014b81119","header_sha256":""}` // of four zero bytes
	zero := make([]byte, 4)
	if _, err := read(raw(sums+`,"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}`, zero)); err != nil {
		t.Fatalf("a good file: %v", err)
	}
	huge := binary.LittleEndian.AppendUint64(nil, 1<<62)
	for _, c := range []struct {
		name string
		data []byte
		want error
	}{
		{"huge header", append(huge, zero...), ErrForeign},
		{"text", []byte("item,label\n0,1\n"), ErrForeign},
		{"blank header", raw("        ", zero), ErrForeign},
		{"not an object", raw(`[1,2,3,4]`, zero), ErrForeign},
		{"no sums", raw(`{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}`, zero), ErrForeign},
		{"other type", raw(sums+`,"a":{"dtype":"I32","shape":[1],"data_offsets":[0,4]}}`, zero), ErrCorrupt},
		{"shape overflows", raw(sums+`,"a":{"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,4]}}`, zero), ErrCorrupt},
		{"negative shape", raw(sums+`,"a":{"dtype":"F32","shape":[-1,-1],"data_offsets":[0,4]}}`, zero), ErrCorrupt},
		{"beyond the end", raw(sums+`,"a":{"dtype":"F32","shape":[1000000000],"data_offsets":[0,4000000000]}}`, zero), ErrTruncated},
		{"gap", raw(sums+`,"a":{"dtype":"F32","shape":[0],"data_offsets":[4,4]}}`, zero), ErrCorrupt},
		{"overlap", raw(sums+`,"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"b":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}`, zero), ErrCorrupt},
		{"other data", raw(sums+`,"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}`, []byte{1, 0, 0, 0}), ErrCorrupt},
	} {
		if _, err := read(c.data); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", c.name, err, c.want)
		}
	}
	for _, f := range []*File{
		{Tensors: []Tensor{{"a", []int{2}, []float32{1}}}},
		{Tensors: []Tensor{{"a", nil, []float32{1}}, {"a", nil, []float32{1}}}},
		{Metadata: map[string]string{headerSum: "x"}},
	} {
		if err := Write(&bytes.Buffer{}, f); err == nil {
			t.Errorf("%+v was written", f)
		}
	}
}

// TestPython reads a file with the safetensors library.
func TestPython(t *testing.T) {
	interpreter := python.Interpreter(t, "numpy", "safetensors")
	path := filepath.Join(t.TempDir(), "x.safetensors")
	if err := os.WriteFile(path, encode(t, sample()), 0o644); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(interpreter, "-c", `
import json, sys
from safetensors import safe_open
with safe_open(sys.argv[1], framework="np") as f:
    print(json.dumps([f.metadata()["text"], sorted(f.keys()), f.get_tensor("b")[0].tolist(), f.get_tensor("a").tolist()]))
`, path).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	var got any
	if err := json.Unmarshal(out, &got); err != nil {
		t.Fatal(err)
	}
	want := []any{sample().Metadata["text"], []any{"a", "b", "none"}, []any{1.0, 2.0, 3.0}, 7.0}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("Python read %v, want %v", got, want)
	}
}

func FuzzRead(f *testing.F) {
	f.Add(encode(f, sample()))
	f.Add([]byte(strings.Repeat(" ", 40)))
	f.Add(raw("        ", nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		file, err := read(b)
		if err != nil {
			return
		}
		if again, err := read(encode(t, file)); err != nil || len(again.Tensors) != len(file.Tensors) {
			t.Errorf("read, written and read again: %v", err)
		}
	})
}

// TestHeaders checks that headers with valid checksums are refused if their content is not what Write would have written.
func TestHeaders(t *testing.T) {
	sum := sha256.Sum256(nil)
	meta := `"__metadata__":{"data_sha256":"` + hex.EncodeToString(sum[:]) + `",` + empty + `}`
	for text, want := range map[string]string{
		`{` + meta + `}`: "",
		`{` + meta + `,"a":{"dtype":"F32","shape":[0],"data_offsets":[0,0]}}`:                                                        "",
		`{` + meta + `,"a":{"dtype":"F32","shape":[0],"data_offsets":[0,0]},"a":{"dtype":"F32","shape":[0,1],"data_offsets":[0,0]}}`: `"a" twice`,
		`{` + meta + `,"a":{"dtype":"F32","shape":[0.0],"data_offsets":[0,0]}}`:                                                      `expected a whole number, found "0.0"`,
		`{` + meta + `,"a":{"dtype":"F32","shape":[-1],"data_offsets":[0,0]}}`:                                                       `expected a whole number, found "-1"`,
		`{` + meta + `,"a":{"dtype":"F16","shape":[0],"data_offsets":[0,0]}}`:                                                        "type F16",
		`{` + meta + `,"a":{"dtype":"F32","shape":[0],"data_offsets":[0]}}`:                                                          "bytes [0]",
		`{` + meta + `,"a":{"dtype":"F32","shape":[0],"offsets":[0,0]}}`:                                                             `unknown key "offsets"`,
		`{` + meta + `,"a":[]}`:             `the file is corrupt: tensor "a": header: invalid JSON`,
		`{` + meta + `} {}`:                 "text after the JSON object",
		`{` + meta + `,`:                    "invalid JSON at byte",
		`{"__metadata__":{"format":1}}`:     "invalid JSON at byte",
		`{"__metadata__":{"format":"a"}}`:   "without checksums",
		`{"__metadata__":null,"b":{"a":1}}`: "invalid JSON at byte",
	} {
		header := seal([]byte(text))
		b := append(binary.LittleEndian.AppendUint64(nil, uint64(len(header))), header...)
		if _, err := read(b); want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}
