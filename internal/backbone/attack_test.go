//go:build attack && (full || cuda)

package backbone

import (
	"cmp"
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// Damaged graphs cannot harm this process: they end in an error or in a vector, and a child that crashes, or takes too much
// memory or time, is an error.
func TestAttackGraphs(t *testing.T) {
	o, _, folder := setup(t)
	o.Cache = ""
	n, _ := strconv.Atoi(cmp.Or(os.Getenv("CREDENCE_ATTACK_MUTANTS"), "60"))
	var seeds [][]byte
	for _, name := range []string{"resnet.onnx", "vit.onnx", "bert/model.onnx"} {
		b, err := os.ReadFile(filepath.Join(folder, name))
		if err != nil {
			t.Fatal(err)
		}
		seeds = append(seeds, b)
	}
	ends := map[string]int{}
	path := filepath.Join(folder, "bert", "model.onnx") // with a tokenizer next to it
	for i := range n {
		r := rand.New(rand.NewPCG(36, uint64(i)))
		if err := os.WriteFile(path, mutant(r, seeds[i%len(seeds)]), 0o600); err != nil {
			t.Fatal(err)
		}
		ends[attack(t, o, path)]++
	}
	t.Logf("%d mutants: %v", n, ends)
}

// mutant damages a graph, more often where its structure is than in the weights.
func mutant(r *rand.Rand, b []byte) []byte {
	b = slices.Clone(b)
	for range 1 + r.IntN(6) {
		at := r.IntN(len(b))
		if r.IntN(2) == 0 {
			at = r.IntN(min(len(b), 20000))
		}
		switch r.IntN(5) {
		case 0, 1:
			b[at] ^= 1 << r.IntN(8)
		case 2:
			b[at] = byte(r.IntN(256))
		case 3:
			b = slices.Delete(b, at, min(len(b), at+1+r.IntN(64)))
		default:
			from := r.IntN(len(b))
			b = slices.Insert(b, at, slices.Clone(b[from:min(len(b), from+1+r.IntN(64))])...)
		}
	}
	return b
}

// attack runs a graph on one item and returns how that ended.
func attack(t *testing.T, o Options, path string) string {
	t.Helper()
	ctx, stop := context.WithTimeout(context.Background(), time.Minute)
	defer stop()
	o.Path, o.Memory = path, 64<<20
	b, err := Open(ctx, o)
	if err == nil {
		defer b.Close()
		item := b.Image([]byte("x"), func() (Picture, error) { return pattern(40, 40), nil })
		if b.Items == Texts {
			item = Text("some words")
		}
		var errs []error
		if _, errs, err = b.Embed(ctx, []Input{item}); err == nil {
			err = errors.Join(errs...)
		}
	}
	switch {
	case err == nil:
		return "vector"
	case strings.Contains(err.Error(), "has ended"):
		return "crash"
	case errors.Is(err, context.DeadlineExceeded):
		return "timeout"
	}
	return "error"
}
