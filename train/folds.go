package train

import (
	"math/rand/v2"
	"slices"

	"credence/dataset"
	"credence/internal/rng"
)

// foldsOf divides the items with votes into parts that are alike, at most so
// many and never more than there are groups, and returns the part of each and
// how many there are.
func foldsOf(ds *dataset.Dataset, voted []int, most int, seed uint64) (part []int, parts int, err error) {
	folds, err := dataset.Folds(ds, voted, most, seed)
	if err != nil {
		return nil, 0, err
	}
	of := make([]int32, ds.Len())
	for f, items := range folds {
		for _, j := range items {
			of[j] = int32(f)
		}
	}
	part = make([]int, len(voted))
	for at, j := range voted {
		part[at] = int(of[j])
	}
	return part, len(folds), nil
}

// order returns a permutation of the items for an epoch of a run.
func order(items []int, seed, member, epoch uint64) []int {
	out := slices.Clone(items)
	rand.New(rng.New(seed, "shuffle", member, epoch)).Shuffle(len(out), func(a, b int) { out[a], out[b] = out[b], out[a] })
	return out
}
