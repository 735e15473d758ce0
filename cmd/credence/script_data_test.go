package main

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"

	"credence/internal/array"
	"credence/internal/nifti"
	"credence/internal/safetensors"
)

// makeData writes items.csv with the features x, y and site, and votes.csv with
// three votes, no or yes, on each:
//
//	makedata 200
func makeData(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: makedata items")
	}
	n, err := strconv.Atoi(args[0])
	ts.Check(err)
	items, votes := smallData(n)
	ts.Check(os.WriteFile(ts.MkAbs("items.csv"), []byte(items), 0o644))
	ts.Check(os.WriteFile(ts.MkAbs("votes.csv"), []byte(votes), 0o644))
}

// makeArray writes an NPY file with an array of numbers drawn with a seed; a row
// is a vector, or an image of channels, height and width:
//
//	makearray embedding.npy rows columns seed
//	makearray photographs.npy rows 3x16x16 seed
func makeArray(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 4 {
		ts.Fatalf("usage: makearray file rows columns seed")
	}
	var shape []int
	n := 1
	for text := range strings.SplitSeq(args[1]+"x"+args[2], "x") {
		size, err := strconv.Atoi(text)
		ts.Check(err)
		shape = append(shape, size)
		n *= size
	}
	seed, err := strconv.Atoi(args[3])
	ts.Check(err)
	r := rand.New(rand.NewPCG(uint64(seed), 0))
	values := make([]float32, n)
	for i := range values {
		values[i] = float32(r.NormFloat64())
	}
	var b bytes.Buffer
	ts.Check(array.WriteNPY(&b, shape, values))
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), b.Bytes(), 0o644))
}

// cut shortens a file:
//
//	cut file bytes
func cut(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: cut file bytes")
	}
	n, err := strconv.ParseInt(args[1], 10, 64)
	ts.Check(err)
	ts.Check(os.Truncate(ts.MkAbs(args[0]), n))
}

// patch replaces the first occurrence of a text in a file, which may be binary:
//
//	patch file old new
func patch(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: patch file old new")
	}
	path := ts.MkAbs(args[0])
	b, err := os.ReadFile(path)
	ts.Check(err)
	if !bytes.Contains(b, []byte(args[1])) {
		ts.Fatalf("patch: no %q in %s", args[1], args[0])
	}
	ts.Check(os.WriteFile(path, bytes.Replace(b, []byte(args[1]), []byte(args[2]), 1), 0o644))
}

// metadata changes a value in the metadata of a model file, with the checksums
// that belong to it:
//
//	metadata model key value
func metadata(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: metadata model key value")
	}
	f, err := safetensors.ReadFile(ts.MkAbs(args[0]))
	ts.Check(err)
	f.Metadata[args[1]] = args[2]
	var b bytes.Buffer
	ts.Check(safetensors.Write(&b, f))
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), b.Bytes(), 0o644))
}

// smallData returns items whose votes depend on x and on the site.
func smallData(n int) (items, votes string) {
	r := rand.New(rand.NewPCG(1, 2))
	var a, b strings.Builder
	a.WriteString("item,x,y,site\n")
	b.WriteString("item,rater,label\n")
	for j := range n {
		x, y := r.NormFloat64(), r.NormFloat64()
		site := []string{"north", "south"}[r.IntN(2)]
		z := 1.5*x + r.NormFloat64()
		if site == "north" {
			z++
		}
		fmt.Fprintf(&a, "i%03d,%.4f,%.4f,%s\n", j, x, y, site)
		for k := range 3 {
			label := "no"
			if r.Float64() < 1/(1+math.Exp(-z)) {
				label = "yes"
			}
			fmt.Fprintf(&b, "i%03d,r%d,%s\n", j, k, label)
		}
	}
	return a.String(), b.String()
}

// makeVolumes writes a folder scans with the given number of NIfTI volumes of
// 30×28×26 voxels, int16, every other one with a bright ball, and manifest.csv
// with item, path and the votes of three raters on it:
//
//	makevolumes 12
func makeVolumes(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: makevolumes items")
	}
	n, err := strconv.Atoi(args[0])
	ts.Check(err)
	ts.Check(os.Mkdir(ts.MkAbs("scans"), 0o755))
	var table strings.Builder
	table.WriteString("item,path,a,b,c\n")
	r := rand.New(rand.NewPCG(3, 4))
	for j := range n {
		v := &nifti.Volume{Dim: [3]int{30, 28, 26}, Spacing: [3]float64{1, 1, 1.2}, Data: make([]float32, 30*28*26)}
		for i := range v.Data {
			x, y, z := float64(i%30)-15, float64(i/30%28)-14, float64(i/840)-13
			v.Data[i] = float32(100 * r.Float64())
			if x*x+y*y+z*z < 100 {
				v.Data[i] += float32(500 + 300*(j%2))
			}
			v.Data[i] = float32(math.Trunc(float64(v.Data[i])))
		}
		name := fmt.Sprintf("scans/s%02d.nii.gz", j)
		ts.Check(nifti.WriteFile(ts.MkAbs(name), v, nifti.WriteOptions{Type: nifti.Int16}))
		fmt.Fprintf(&table, "s%02d,%s,%d,%d,%d\n", j, name, j%2, j%2, r.IntN(2))
	}
	ts.Check(os.WriteFile(ts.MkAbs("manifest.csv"), []byte(table.String()), 0o644))
}
