package main

import (
	"archive/zip"
	"bytes"
	"fmt"
	"image"
	"image/png"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"

	"github.com/parquet-go/parquet-go"
	"github.com/rogpeppe/go-internal/testscript"

	"credence/internal/array"
)

// makeEmbeddings writes the same vectors of three numbers for the items i000, i001, …,
// the last item first, in every form: ids.csv and vectors.npy, vectors.npz with ids,
// lists.parquet; and, of whole numbers, ints.parquet; with gaps, gaps.parquet; with a list
// that is too short, uneven.parquet; and pictures with an image for each item:
//
//	makeembeds 60
func makeEmbeddings(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: makeembeds items")
	}
	n, err := strconv.Atoi(args[0])
	ts.Check(err)
	const width = 3
	type floats struct {
		Item string    `parquet:"item"`
		Emb  []float32 `parquet:"emb,list"`
	}
	type ints struct {
		Item string  `parquet:"item"`
		Emb  []int64 `parquet:"emb,list"`
	}
	r := rand.New(rand.NewPCG(5, 6))
	var values []float32
	var lists []floats
	var whole []ints
	ids := "item\n"
	var packed []byte
	for j := range n {
		id := fmt.Sprintf("i%03d", n-1-j)
		ids += id + "\n"
		packed = append(packed, id...)
		row, list := floats{Item: id}, ints{Item: id}
		for range width {
			x := r.IntN(100)
			row.Emb, list.Emb = append(row.Emb, float32(x)), append(list.Emb, int64(x))
		}
		values = append(values, row.Emb...)
		lists, whole = append(lists, row), append(whole, list)
	}
	write := func(name string, content []byte) { ts.Check(os.WriteFile(ts.MkAbs(name), content, 0o644)) }
	write("ids.csv", []byte(ids))
	var npy, npz bytes.Buffer
	ts.Check(array.WriteNPY(&npy, []int{n, width}, values))
	write("vectors.npy", npy.Bytes())
	z := zip.NewWriter(&npz)
	w, err := z.Create("ids.npy")
	ts.Check(err)
	header := fmt.Sprintf("{'descr': '|S4', 'fortran_order': False, 'shape': (%d,), }\n", n)
	fmt.Fprintf(w, "\x93NUMPY\x01\x00%c%c%s%s", len(header), 0, header, packed)
	w, err = z.Create("vectors.npy")
	ts.Check(err)
	_, err = w.Write(npy.Bytes())
	ts.Check(err)
	ts.Check(z.Close())
	write("vectors.npz", npz.Bytes())
	ts.Check(parquet.WriteFile(ts.MkAbs("lists.parquet"), lists))
	ts.Check(parquet.WriteFile(ts.MkAbs("ints.parquet"), whole))
	short := append([]floats{}, lists...)
	short[4].Emb = short[4].Emb[:2]
	ts.Check(parquet.WriteFile(ts.MkAbs("uneven.parquet"), short))
	short[4].Emb = nil
	ts.Check(parquet.WriteFile(ts.MkAbs("gaps.parquet"), short))
	ts.Check(os.Mkdir(ts.MkAbs("pictures"), 0o755))
	for j := range n {
		img := image.NewGray(image.Rect(0, 0, 8, 8))
		for i := range img.Pix {
			img.Pix[i] = byte(r.IntN(256))
		}
		var b bytes.Buffer
		ts.Check(png.Encode(&b, img))
		write(filepath.Join("pictures", fmt.Sprintf("i%03d.png", j)), b.Bytes())
	}
}
