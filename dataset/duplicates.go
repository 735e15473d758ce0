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

// GroupDuplicates returns ds with groups in which items with equal features are together, and the number of items
// that equal an earlier one. It returns ds itself if there are none, if features are images that are not in memory, if
// all features are judges, who agree on many items, if equal rows are too frequent to be copies of an item, or if copies link
// groups of ds such that more than half of the items would be in one.
func GroupDuplicates(ds *Dataset) (*Dataset, int, error) {
	rows := ds.Rows
	if rows == nil || rows.Len() > duplicatesItems || rows.Len()*rows.Width() > duplicatesValues ||
		len(withoutJudges(ds.Features)) == 0 {
		return ds, 0, nil
	}
	for _, p := range ds.Features {
		if p.Kind == Tensor && len(p.Shape) > 1 {
			if _, ok := rows.(*Memory); !ok {
				return ds, 0, nil // reading means decoding every file
			}
		}
	}
	first := map[[keySize]byte]int{}                             // by content, the first item
	same, copies := make([]int, ds.Len()), make([]int, ds.Len()) // the first item with the same content, and its copies
	var buf []byte
	err := eachRow(rows, nil, func(i int, row []float32) error {
		h := sha256.New()
		if err := hashTexts(h, ds.Features, row); err != nil {
			return err
		}
		buf, _ = binary.Append(buf[:0], binary.LittleEndian, row) // fails only for other types
		h.Write(buf)
		key := [keySize]byte(h.Sum(nil))
		j, seen := first[key]
		if !seen {
			j, first[key] = i, i
		}
		same[i] = j
		copies[j]++
		return nil
	})
	if err != nil {
		return nil, 0, err
	}
	if n := len(first); n == ds.Len() || n < max(minDistinct, int(minDistinctShare*float64(ds.Len()))) {
		return ds, 0, nil
	}
	for _, n := range copies {
		if n > maxCopies {
			return ds, 0, nil
		}
	}
	c := *ds
	c.Groups = together(ds.Groups, same)
	sizes := map[string]int{}
	for _, g := range c.Groups {
		if sizes[g]++; sizes[g] > ds.Len()/2 {
			return ds, 0, nil
		}
	}
	return &c, ds.Len() - len(first), nil
}

// together returns names of groups in which items of a group, or with the same entry of same, are together.
func together(groups []string, same []int) []string {
	parent := make([]int, len(same))
	var find func(i int) int
	find = func(i int) int {
		if parent[i] != i {
			parent[i] = find(parent[i])
		}
		return parent[i]
	}
	named := map[string]int{}
	for i, j := range same {
		parent[i] = i
		parent[find(i)] = find(j)
		if groups != nil {
			if k, seen := named[groups[i]]; seen {
				parent[find(i)] = find(k)
			} else {
				named[groups[i]] = i
			}
		}
	}
	names := make([]string, len(same))
	for i := range names {
		names[i] = strconv.Itoa(find(i))
	}
	return names
}
