package dataset

import (
	"slices"
	"strconv"
	"strings"
	"testing"
)

// Ids of any length are found, with their lines, in the order in which they were added.
func TestIDSet(t *testing.T) {
	s := &idSet{}
	var want []string
	for i := range 5000 {
		id := strconv.Itoa(i * 7)
		if i%997 == 0 {
			id = strings.Repeat(id+"x", idPiece/3)
		}
		want = append(want, id)
		if _, there := s.add(id, 10+i); there {
			t.Fatalf("%.20q is there before it is added", id)
		}
	}
	for i, id := range want {
		if k, there := s.add(id, -1); !there || k != i || s.lines[k] != int32(10+i) {
			t.Fatalf("%.20q: %v, place %d, want %d", id, there, k, i)
		}
	}
	if !slices.Equal(s.names, want) {
		t.Error("the ids came back in another order, or changed")
	}
	if n := testing.AllocsPerRun(100, func() { s.add("7", -1) }); n > 0 {
		t.Errorf("%v allocations to find an id", n)
	}
}
