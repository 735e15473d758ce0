//go:build attack

package tokenizer

import (
	"cmp"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strconv"
	"testing"
)

// Damaged tokenizers neither panic nor take memory out of proportion.
func TestAttackTokenizer(t *testing.T) {
	valid, err := os.ReadFile("testdata/tokenizer.json")
	if err != nil {
		t.Fatal(err)
	}
	n, _ := strconv.Atoi(cmp.Or(os.Getenv("CREDENCE_ATTACK_MUTANTS"), "300"))
	const text = "Ein Satz, [SEP] with \x00 Ünïcödé 漢字 and [MASK"
	var before, after runtime.MemStats
	parsed := 0
	for i := range n {
		r := rand.New(rand.NewPCG(36, uint64(i)))
		b := slices.Clone(valid)
		for range 1 + r.IntN(4) {
			switch at := r.IntN(len(b)); r.IntN(4) {
			case 0:
				b[at] = byte(r.IntN(256))
			case 1:
				b = b[:at+1]
			case 2:
				b = slices.Delete(b, at, min(len(b), at+1+r.IntN(2000)))
			default:
				from := r.IntN(len(valid) - 100)
				b = slices.Insert(b, at, valid[from:from+1+r.IntN(100)]...)
			}
			if len(b) == 0 {
				b = []byte{'{'}
			}
		}
		runtime.ReadMemStats(&before)
		tok, err := Parse(b)
		if err == nil {
			parsed++
			if ids, kinds := tok.Encode(text, 0); len(ids) != len(kinds) || len(ids) > 1000 {
				t.Errorf("mutant %d: %d ids, %d kinds", i, len(ids), len(kinds))
			}
		}
		runtime.ReadMemStats(&after)
		if took := after.TotalAlloc - before.TotalAlloc; took > 64*uint64(len(valid))+1<<20 {
			t.Errorf("mutant %d: %d bytes allocated for a file of %d", i, took, len(b))
		}
	}
	t.Logf("%d of %d mutants were read", parsed, n)
}
