package study

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"credence/internal/array"
	"credence/internal/rng"
)

// tinyVotes writes a folder with small sets: photographs whose brightness says what people think of
// them, one of them twice, and defendants in twelve panels.
func tinyVotes(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	r := rand.New(rng.New(16, "test"))
	for _, set := range []string{photographs, defendants} {
		if err := os.Mkdir(filepath.Join(dir, set), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	write := func(name string, text []byte) {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	const n = 120
	var counts []float32
	var files [2]bytes.Buffer
	var last []byte
	for i := range n {
		record := []byte{byte(i % 10)}
		bright := r.Float64()
		for range cifarPixels {
			record = append(record, byte(255*(0.7*bright+0.3*r.Float64())))
		}
		if i == 70 {
			record = last
		}
		last = record
		row := make([]float32, 10)
		for range 20 {
			if r.Float64() < bright {
				row[3]++
			} else {
				row[5]++
			}
		}
		counts = append(counts, row...)
		files[i/60].Write(record)
	}
	for k, name := range photographFiles {
		var b bytes.Buffer
		w := gzip.NewWriter(&b)
		if _, err := w.Write(files[k].Bytes()); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		write(filepath.Join(photographs, name), b.Bytes())
	}
	var npy bytes.Buffer
	if err := array.WriteNPY(&npy, []int{n, 10}, counts); err != nil {
		t.Fatal(err)
	}
	write(filepath.Join(photographs, countsFile), npy.Bytes())
	items, votes := "item,"+strings.Join(recidivismFeatures, ",")+",reoffended\n", "item,rater,label\n"
	for i := range 96 {
		age := 18 + r.IntN(50)
		items += fmt.Sprintf("d%d,%d,%d,%d,0,%d,%d,%d,1\n", i, 1+i%3, i%2, age, i%4, r.IntN(9), i%2)
		for k := range 12 {
			label := 0
			if r.Float64() < 1/(1+math.Exp(float64(age-40)/8)) {
				label = 1
			}
			votes += fmt.Sprintf("d%d,r%d,%d\n", i, 100*(i/8)+k, label)
		}
	}
	write(filepath.Join(defendants, "items.csv"), []byte(items))
	write(filepath.Join(defendants, "votes.csv"), []byte(votes))
	return dir
}

// A study of small sets runs to its end, resumes to the same files, and its page has every figure.
func TestVotesStudy(t *testing.T) {
	if testing.Short() {
		t.Skip("trains dozens of small networks")
	}
	data := tinyVotes(t)
	run := func(ctx context.Context, out string, progress func(what string)) error {
		v, err := NewVotes(data, true, 5)
		if err != nil {
			t.Fatal(err)
		}
		v.Train, v.Test, v.Votes = 16, 20, []int{3}
		f, err := OpenFolder(out, v, false)
		if err != nil {
			t.Fatal(err)
		}
		f.Progress = func(_, _ int, what string) { progress(what) }
		return Reproduce(ctx, v, f)
	}
	out := filepath.Join(t.TempDir(), "votes")
	ctx, cancel := context.WithCancel(t.Context())
	begun := 0
	err := run(ctx, out, func(what string) {
		if begun++; begun == 4 {
			cancel()
		}
	})
	if err == nil {
		t.Fatal("the study was not stopped")
	}
	again := 0
	if err := run(t.Context(), out, func(string) { again++ }); err != nil {
		t.Fatal(err)
	}
	if begun != 4 || again != 9-3 {
		t.Errorf("%d pieces were begun, then %d; want 4 and 6 of 9", begun, again)
	}
	page, err := os.ReadFile(filepath.Join(out, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"120 photographs in 10 classes, of which 1 were left out", "12 panels", "pulled towards nominal",
		"evidential network, 3 votes", "softmax with bootstrap, 3 votes", countsFile} {
		if !strings.Contains(string(page), want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	for _, bad := range []string{"NaN", "%!", "Inf", "<no value>"} {
		if strings.Contains(string(page), bad) {
			t.Errorf("the page has %q", bad)
		}
	}
	for _, part := range strings.Split(string(page), "](")[1:] {
		file, _, _ := strings.Cut(part, ")")
		if info, err := os.Stat(filepath.Join(out, file)); err != nil || info.Size() == 0 {
			t.Errorf("figure %s: %v", file, err)
		}
	}
	items, err := os.ReadFile(filepath.Join(out, itemsFile))
	if err != nil || strings.Count(string(items), "\n") < 1+5*20+5*8 {
		t.Errorf("%s: %v, %d rows", itemsFile, err, strings.Count(string(items), "\n"))
	}
}

// Files that are missing or are something else are named, with what was expected.
func TestVotesFiles(t *testing.T) {
	if _, err := NewVotes(t.TempDir(), true, 1); err == nil || !strings.Contains(err.Error(), "neither of the folders cifar10h, recidivism") {
		t.Errorf("an empty folder: %v", err)
	}
	for _, c := range []struct {
		file string
		text string // empty removes it
		want string
	}{
		{"cifar10h/counts.npy", "", "counts.npy is missing: the set cifar10h is the files counts.npy, images_0-4999.bin.gz"},
		{"cifar10h/counts.npy", "nonsense", "counts.npy"},
		{"cifar10h/images_0-4999.bin.gz", "nonsense", "images_0-4999.bin.gz: it is no gzip file"},
		{"recidivism/votes.csv", "item,rater,label\nd1,r1,1\n", "at least 10 are expected"},
		{"recidivism/items.csv", "item,age\nd1,20\n", "race"},
	} {
		dir := tinyVotes(t)
		path := filepath.Join(dir, filepath.FromSlash(c.file))
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		if c.text != "" {
			if err := os.WriteFile(path, []byte(c.text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		v, err := NewVotes(dir, true, 1)
		if err == nil {
			_, err = v.load(t.Context())
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s %q: got %v, want %q", c.file, c.text, err, c.want)
		}
	}
}
