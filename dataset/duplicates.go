package dataset

import (
	"crypto/sha256"
	"encoding/binary"
	"strconv"
)

// Bounds on what counts as duplicates: where many items share all of their features, as in a table of a few levels,
// equal rows are different items.
const (
	maxCopies        = 20      // items with the same features
	minDistinct      = 30      // distinct rows,
	minDistinctShare = 0.2     // and their share
	duplicatesItems  = 1 << 20 // that are compared,
	duplicatesValues = 1 << 27 // and values in all of their rows
)

// keySize is the length of the part of a hash by which rows are compared: among a million, two differing ones share it
// with a probability of 1e-27.
const keySize = 16

// GroupDuplicates returns ds with groups in which items with equal features are together, or whose only feature is nearly the same
// image, and the number of items that equal an earlier one in this sense. It returns ds itself if there are none, if features are
// volumes that are not in memory, if all features are judges, who agree on many items, if equal rows are too frequent to be copies
// of an item, or if copies link groups of ds such that more than half of the items would be in one.
func GroupDuplicates(ds *Dataset) (*Dataset, int, error) {
	rows := ds.Rows
	if rows == nil || rows.Len() > duplicatesItems || rows.Len()*rows.Width() > duplicatesValues ||
		len(withoutJudges(ds.Features)) == 0 {
		return ds, 0, nil
	}
	for _, p := range ds.Features {
		if p.Kind == Tensor && len(p.Shape) > 3 {
			if _, ok := rows.(*Memory); !ok {
				return ds, 0, nil // reading means decoding every file
			}
		}
	}
	same, err := equalRows(ds)
	if err != nil {
		return nil, 0, err
	}
	if p := ds.Features[0]; len(ds.Features) == 1 && p.Kind == Tensor && len(p.Shape) == 3 {
		if same, err = joinTwins(same, p.Shape, rows); err != nil {
			return nil, 0, err
		}
	}
	distinct, most := same.sizes()
	if distinct == ds.Len() || most > maxCopies || distinct < max(minDistinct, int(minDistinctShare*float64(ds.Len()))) {
		return ds, 0, nil
	}
	c := *ds
	c.Groups = same.groups(ds.Groups)
	sizes := map[string]int{}
	for _, g := range c.Groups {
		if sizes[g]++; sizes[g] > ds.Len()/2 {
			return ds, 0, nil
		}
	}
	return &c, ds.Len() - distinct, nil
}

// equalRows joins items with the same features, texts included.
func equalRows(ds *Dataset) (sets, error) {
	same := newSets(ds.Len())
	first := map[[keySize]byte]int{} // by content, the first item
	var buf []byte
	err := eachRow(ds.Rows, nil, func(i int, row []float32) error {
		h := sha256.New()
		if err := hashTexts(h, ds.Features, row); err != nil {
			return err
		}
		buf, _ = binary.Append(buf[:0], binary.LittleEndian, row) // fails only for other types
		h.Write(buf)
		key := [keySize]byte(h.Sum(nil))
		if j, seen := first[key]; seen {
			same.join(i, j)
		} else {
			first[key] = i
		}
		return nil
	})
	return same, err
}

// sets are disjoint sets of items: the parent of each item, which is the item itself for one item of each set.
type sets []int

func newSets(n int) sets {
	s := make(sets, n)
	for i := range s {
		s[i] = i
	}
	return s
}

// find returns the item that stands for the set of item i.
func (s sets) find(i int) int {
	for s[i] != i {
		s[i] = s[s[i]]
		i = s[i]
	}
	return i
}

func (s sets) join(i, j int) { s[s.find(i)] = s.find(j) }

// sizes returns the number of sets, and the number of items in the largest.
func (s sets) sizes() (count, most int) {
	items := make([]int, len(s))
	for i := range s {
		k := s.find(i)
		if items[k]++; items[k] == 1 {
			count++
		}
		most = max(most, items[k])
	}
	return count, most
}

// groups returns names of groups in which the items of a set, or of one of the given groups, are together.
func (s sets) groups(given []string) []string {
	named := map[string]int{}
	for i, g := range given {
		if k, seen := named[g]; seen {
			s.join(i, k)
		} else {
			named[g] = i
		}
	}
	names := make([]string, len(s))
	for i := range names {
		names[i] = strconv.Itoa(s.find(i))
	}
	return names
}
