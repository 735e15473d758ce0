//go:build attack && linux

package main

import (
	"archive/zip"
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"credence/dataset"
	"credence/internal/nifti"
	"credence/internal/safetensors"
	"credence/model"
	"credence/train"
)

var attackFormats = []string{"csv", "csv.gz", "json", "json.gz", "xlsx", "parquet", "npy", "npz", "idx", "idx.gz", "png", "jpg", "nii", "nii.gz", "yaml", "model"}

// attackSeeds returns valid files of a format to make mutants from. Files of compressed
// formats are not compressed yet, and model files have no checksums.
func attackSeeds(t *testing.T, format, dir string) [][]byte {
	t.Helper()
	var seeds [][]byte
	add := func(patterns ...string) {
		for _, p := range patterns {
			paths, _ := filepath.Glob("../../" + p)
			for _, path := range paths {
				b, err := os.ReadFile(path)
				if err != nil {
					t.Fatal(err)
				}
				seeds = append(seeds, b)
			}
		}
	}
	switch strings.TrimSuffix(format, ".gz") {
	case "csv":
		seeds = append(seeds,
			[]byte("id,age,sex,vote\na,31,f,yes\nb,,m,no\nc,1e-300,\"f\",yes\n,,,\n"+strings.Repeat("d,4,m,no\n", 30)),
			[]byte("item;rater;label\n1;x;0\n1;y;1\n2;x;1\n3;\"z\"\"z\";0\n"),
			[]byte("\ufeffsep=,\n,a,b\n1,\"2,5\",3\n2,12%,4\n;\n"))
	case "json":
		seeds = append(seeds,
			[]byte(`[{"id": 1, "x": 1.5e3, "y": {"a": true, "b": [1, null, 2]}}, {"id": 2, "x": "\u00e9\ud83d\ude00", "y": null}]`),
			[]byte("{\"a\": 1, \"b\": \"x\"}\n{\"a\": NaN}\n"+strings.Repeat("{\"a\": -12, \"b\": \"y\"}\n", 20)),
			[]byte(`{"1": {"text": "{\"agent\": \"hi\"}", "annotations": "-1,1", "annotators": "A,B", "soft_label": {"0": 0.5, "1": 0.5}, "other_info": {"domain": "x", "other annotations": {"q": "0,1"}}},
				"2": {"text": "b", "annotations": {"A": "0", "C": [1, 2]}, "annotators": "A,C", "soft_label": {"0": 1, "1": 0}}}`),
			[]byte(`[{"id": 7, "data": {"text": "a", "n": 1}, "annotations": [{"completed_by": {"email": "x"}, "was_cancelled": false, "result": [{"from_name": "q", "value": {"choices": ["a"]}}]}]}]`),
			[]byte(`[{"text": "a", "id": 1, "q": "P", "annotator": 3, "annotation_id": 9}, {"text": "a", "id": 1, "q": {"choices": ["N"]}, "annotator": 4, "annotation_id": 8}]`))
	case "xlsx":
		add("internal/table/testdata/*.xlsx")
	case "parquet":
		add("dataset/testdata/*.parquet", "internal/table/testdata/*.parquet")
	case "npy", "npz":
		add("dataset/testdata/*.npy")
	case "idx":
		add("dataset/testdata/*.idx")
	case "png":
		add("dataset/testdata/*.png")
	case "jpg":
		add("dataset/testdata/*.jpg")
	case "nii":
		for _, kind := range []nifti.Type{nifti.Int16, nifti.Float32} {
			v := &nifti.Volume{Dim: [3]int{4, 5, 6}, Spacing: [3]float64{1, 2, 3}, Data: make([]float32, 120)}
			for i := range v.Data {
				v.Data[i] = float32(i % 50)
			}
			var b bytes.Buffer
			if err := nifti.Write(&b, v, nifti.WriteOptions{Type: kind}); err != nil {
				t.Fatal(err)
			}
			seeds = append(seeds, b.Bytes())
		}
	case "yaml":
		seeds = append(seeds,
			[]byte("- {type: conv2d, out: 6, kernel: 5, pad: 2}\n- type: relu\n- {type: maxpool, size: 2}\n- type: residual\n  body: [{type: conv, out: 6, kernel: 3, pad: 1}]\n- type: flatten\n- type: dense\n"),
			[]byte("- type: dense\n  out: 8\n- type: concat\n  parts:\n    - - type: tanh\n    - - type: gelu\n      - &a {type: dropout, rate: 0.5}\n      - *a\n- type: dense\n"))
	case "model":
		seeds = append(seeds, attackModel(t, filepath.Join(dir, "seed")))
	}
	if len(seeds) == 0 {
		t.Fatalf("no seeds of %s", format)
	}
	return seeds
}

// attackModel trains a small model and returns its file.
func attackModel(t *testing.T, path string) []byte {
	t.Helper()
	ds := &dataset.Dataset{Classes: []string{"no", "yes"}, Features: []dataset.Feature{
		{Name: "size", Kind: dataset.Numeric}, {Name: "sex", Kind: dataset.Categorical, Levels: []string{"f", "m"}}}}
	rows := &dataset.Memory{N: 30, W: 2}
	for i := range rows.N {
		ds.Items = append(ds.Items, fmt.Sprint(i))
		rows.Values = append(rows.Values, float32(i), float32(i%2))
		ds.Counts = append(ds.Counts, float32(3-i/10), float32(i/10))
	}
	ds.Rows = rows
	res, err := train.Fit(t.Context(), ds, train.Options{Epochs: 2, Seed: 1, Ensemble: 1, Widths: []int{3}})
	if err == nil {
		err = res.Model.Save(path)
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := model.Load(path); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// mutant returns a damaged file. In most of them, checksums and compression are repaired,
// which would otherwise reveal the damage before the reader meets it.
func mutant(r *rand.Rand, format string, seeds [][]byte) []byte {
	b := slices.Clone(seeds[r.IntN(len(seeds))])
	fix := r.IntN(4) > 0
	inner, packed := strings.CutSuffix(format, ".gz")
	switch {
	case format == "model" && fix:
		return mutantModel(r, b)
	case format == "xlsx" && fix:
		return mutantArchive(r, b)
	case format == "npz":
		return packZip(r, mutate(r, b, seeds), fix)
	case packed && fix:
		return packGzip(mutate(r, b, seeds))
	case packed:
		return mutate(r, packGzip(b), seeds)
	}
	b = mutate(r, b, seeds)
	if inner == "png" && fix {
		fixPNG(b)
	}
	return b
}

// mutantArchive damages one file of an archive.
func mutantArchive(r *rand.Rand, b []byte) []byte {
	archive, err := zip.NewReader(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		return b
	}
	var out bytes.Buffer
	z := zip.NewWriter(&out)
	chosen := r.IntN(len(archive.File))
	for k, f := range archive.File {
		in, err := f.Open()
		if err != nil {
			return b
		}
		text, _ := io.ReadAll(in)
		if k == chosen {
			text = mutate(r, text, [][]byte{text})
		}
		w, err := z.Create(f.Name)
		if err != nil {
			return b
		}
		w.Write(text)
	}
	z.Close()
	return out.Bytes()
}

// mutate damages bytes in one to four places.
func mutate(r *rand.Rand, b []byte, others [][]byte) []byte {
	odd := []uint64{0, 1, 0x7f, 0x80, 0xff, 0x7fff, 0x8000, 0xffff, 1 << 24, 1<<31 - 1, 1 << 31, 1<<32 - 1, 1 << 40, 1<<63 - 1, 1 << 63, 1<<64 - 1}
	for range 1 + r.IntN(4) {
		if len(b) == 0 {
			return b
		}
		// Headers and footers are short and matter most.
		at := r.IntN(len(b))
		switch r.IntN(3) {
		case 0:
			at = r.IntN(min(len(b), 400))
		case 1:
			at = len(b) - 1 - r.IntN(min(len(b), 400))
		}
		length := min(len(b)-at, 1+r.IntN(1<<r.IntN(10)))
		switch r.IntN(9) {
		case 0:
			b[at] ^= 1 << r.IntN(8)
		case 1:
			b[at] = byte(odd[r.IntN(5)])
		case 2, 3:
			var n [8]byte
			order := []binary.ByteOrder{binary.LittleEndian, binary.BigEndian}[r.IntN(2)]
			order.PutUint64(n[:], odd[r.IntN(len(odd))])
			from := n[:1<<r.IntN(4)]
			if order == binary.ByteOrder(binary.BigEndian) {
				from = n[8-1<<r.IntN(4):]
			}
			copy(b[at:], from)
		case 4:
			// A number in as many bytes as it needs, as Parquet writes them.
			b = slices.Replace(b, at, min(len(b), at+1), binary.AppendUvarint(nil, odd[r.IntN(len(odd))])...)
		case 5:
			b = slices.Delete(b, at, at+length)
		case 6:
			b = slices.Insert(b, at, bytes.Repeat(b[at:at+length], 1+r.IntN(1<<r.IntN(8)))...)
		case 7:
			if from := others[r.IntN(len(others))]; len(from) > 0 {
				start := r.IntN(len(from))
				b = slices.Insert(b, at, from[start:min(len(from), start+length)]...)
			}
		case 8:
			if r.IntN(4) == 0 {
				b = b[:at]
			} else {
				// A digit of a text, as in the shape of an array.
				if i := bytes.IndexAny(b[at:], "0123456789"); i >= 0 {
					b = slices.Insert(b, at+i, []byte(fmt.Sprint(odd[r.IntN(len(odd))]))...)
				}
			}
		}
	}
	return b
}

func packGzip(b []byte) []byte {
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	z.Write(b)
	z.Close()
	return out.Bytes()
}

// packZip makes an NPZ file of an array. The archive is damaged too unless fix is set.
func packZip(r *rand.Rand, b []byte, fix bool) []byte {
	var out bytes.Buffer
	z := zip.NewWriter(&out)
	for i := range 1 + r.IntN(2) {
		w, err := z.CreateHeader(&zip.FileHeader{Name: []string{"x.npy", "y.npy"}[i], Method: uint16(8 * r.IntN(2))})
		if err == nil {
			w.Write(b)
		}
	}
	z.Close()
	if fix {
		return out.Bytes()
	}
	return mutate(r, out.Bytes(), [][]byte{b, out.Bytes()})
}

// fixPNG sets the checksums of the chunks, as far as they can be found.
func fixPNG(b []byte) {
	for at := 8; at+12 <= len(b); {
		n := int(binary.BigEndian.Uint32(b[at:]))
		if n > len(b)-at-12 {
			return
		}
		binary.BigEndian.PutUint32(b[at+8+n:], crc32.ChecksumIEEE(b[at+4:at+8+n]))
		at += 12 + n
	}
}

// mutantModel damages the metadata or the tensors of a model and updates the checksums.
func mutantModel(r *rand.Rand, b []byte) []byte {
	f, err := safetensors.Read(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		return b
	}
	keys := make([]string, 0, len(f.Metadata))
	for k := range f.Metadata {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	key := keys[r.IntN(len(keys))]
	switch r.IntN(5) {
	case 0, 1, 2:
		text := mutate(r, []byte(f.Metadata[key]), [][]byte{[]byte(f.Metadata[key])})
		f.Metadata[key] = strings.ToValidUTF8(string(text), "?")
	case 3:
		t := &f.Tensors[r.IntN(len(f.Tensors))]
		n := r.IntN(len(t.Values) + 1)
		t.Shape, t.Values = []int{n}, t.Values[:n]
	case 4:
		i := r.IntN(len(f.Tensors))
		if r.IntN(2) == 0 {
			f.Tensors = slices.Delete(f.Tensors, i, i+1)
		} else {
			f.Tensors[i].Name += "x"
		}
	}
	var out bytes.Buffer
	if err := safetensors.Write(&out, f); err != nil {
		return b
	}
	return out.Bytes()
}
