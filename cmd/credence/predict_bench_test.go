package main

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"credence/internal/rng"
)

// BenchmarkPredict is credence predict as a user runs it, CSV in and out: ten
// thousand items through an ensemble of five networks with three components.
func BenchmarkPredict(b *testing.B) {
	for _, classes := range []int{2, 5, 10} {
		dir := b.TempDir()
		at := func(name string) string { return filepath.Join(dir, name) }
		blobs(b, at("items.csv"), at("votes.csv"), classes, 1000)
		const items = 10000
		blobs(b, at("new.csv"), "", classes, items)
		command := func(args ...string) {
			b.Helper()
			var messages bytes.Buffer
			if code := program(args, strings.NewReader(""), io.Discard, &messages); code != 0 {
				b.Fatalf("credence %v: exit code %d\n%s", args, code, &messages)
			}
		}
		command("train", "--data", at("items.csv"), "--votes", at("votes.csv"), "--out", at("run"))
		for _, columns := range []string{"default", "hpd"} {
			args := []string{"predict", at("run"), at("new.csv"), "-o", at("out.csv"), "--overwrite"}
			if columns == "hpd" {
				args = append(args, "--hpd")
			}
			b.Run(fmt.Sprintf("classes=%d/columns=%s", classes, columns), func(b *testing.B) {
				for b.Loop() {
					command(args...)
				}
				b.ReportMetric(float64(b.N*items)/b.Elapsed().Seconds(), "rows/s")
			})
		}
	}
}

// blobs writes items around a center for each class and, if a file is named, three
// votes on each, drawn by its distance from the centers.
func blobs(tb testing.TB, itemsFile, votesFile string, classes, n int) {
	tb.Helper()
	r := rand.New(rng.New(1, "blobs", uint64(classes), uint64(n)))
	var items, votes bytes.Buffer
	fmt.Fprintln(&items, "item,x,y,noise")
	fmt.Fprintln(&votes, "item,rater,label")
	center := func(c int) (x, y float64) {
		angle := 2 * math.Pi * float64(c) / float64(classes)
		return 2.5 * math.Cos(angle), 2.5 * math.Sin(angle)
	}
	for i := range n {
		x, y := center(i % classes)
		x, y = x+r.NormFloat64(), y+r.NormFloat64()
		fmt.Fprintf(&items, "i%d,%.5f,%.5f,%.5f\n", i, x, y, r.NormFloat64())
		for rater := range 3 {
			label, best := 0, math.Inf(-1)
			for c := range classes {
				cx, cy := center(c)
				// Of exponentially distributed times the first comes with its share.
				if s := -((x-cx)*(x-cx)+(y-cy)*(y-cy))/2 - math.Log(r.ExpFloat64()); s > best {
					label, best = c, s
				}
			}
			fmt.Fprintf(&votes, "i%d,r%d,c%d\n", i, rater, label)
		}
	}
	if err := os.WriteFile(itemsFile, items.Bytes(), 0o666); err != nil {
		tb.Fatal(err)
	}
	if votesFile == "" {
		return
	}
	if err := os.WriteFile(votesFile, votes.Bytes(), 0o666); err != nil {
		tb.Fatal(err)
	}
}
