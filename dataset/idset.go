package dataset

import (
	"fmt"
	"hash/maphash"
	"slices"
	"strconv"
	"strings"

	"credence/internal/table"
	"credence/internal/words"
)

// idSet numbers ids of items, or other names, in order of appearance, and finds them. It is compact
// enough for ten million items: the texts are substrings of large pieces, so that the garbage
// collector does not see each of them, and the hash table has four bytes per slot.
type idSet struct {
	names []string
	lines []int32 // the line of each
	piece strings.Builder
	slots []uint32 // open addressing: 1 + an index into names, or 0
	seed  maphash.Seed
}

// idPiece is the size of a piece of text; the first ones are smaller.
const idPiece = 1 << 16

// newIDSet returns an empty set with capacity for the rows of a table, if their number is known.
func newIDSet(t table.Table) *idSet {
	s := &idSet{}
	if t, ok := t.(interface{ Rows() int }); ok {
		n := min(t.Rows(), maxReserve)
		s.names, s.lines = make([]string, 0, n), make([]int32, 0, n)
	}
	return s
}

// maxReserve limits the capacity reserved for ids, because the number of rows in a file may be wrong.
const maxReserve = 1 << 24

// next adds the id of a record: the value in the column item or, if that is negative, the record number.
// If the set contains the id already, next returns its line, else −1.
func (s *idSet) next(t table.Table, rec []table.Cell, item int) (earlier int, err error) {
	if item < 0 {
		s.keep(strconv.Itoa(len(s.names)), t.Line())
		return -1, nil
	}
	id := rec[item].String()
	if id == "" {
		if len(s.names) == 0 {
			return -1, t.ErrorAt(item, "the item has no id: if this is a second header row, such as units, remove it")
		}
		return -1, t.ErrorAt(item, "the item has no id")
	}
	if at, there := s.add(id, t.Line()); there {
		return int(s.lines[at]), nil
	}
	return -1, nil
}

// keep adds an id without an entry in the hash table.
func (s *idSet) keep(id string, line int) {
	if s.piece.Cap()-s.piece.Len() < len(id) {
		size := max(min(idPiece, 2*s.piece.Cap()), len(id), 64)
		s.piece = strings.Builder{}
		s.piece.Grow(size)
	}
	from := s.piece.Len()
	s.piece.WriteString(id)
	s.names, s.lines = append(s.names, s.piece.String()[from:]), append(s.lines, int32(line))
}

// code returns the index of a name, which is added with its line if it is new.
func (s *idSet) code(name string, line int) int32 {
	at, _ := s.add(name, line)
	return int32(at)
}

// add adds an id with its line, unless the set contains it, and returns its index.
func (s *idSet) add(id string, line int) (index int, there bool) {
	if 2*len(s.names) >= len(s.slots) {
		s.grow()
	}
	at := s.slot(id)
	if k := s.slots[at]; k != 0 {
		return int(k - 1), true
	}
	s.keep(id, line)
	s.slots[at] = uint32(len(s.names))
	return len(s.names) - 1, false
}

// slot returns the slot of an id, or the free slot for it.
func (s *idSet) slot(id string) uint64 {
	mask := uint64(len(s.slots) - 1)
	at := maphash.String(s.seed, id) & mask
	for s.slots[at] != 0 && s.names[s.slots[at]-1] != id {
		at = (at + 1) & mask
	}
	return at
}

func (s *idSet) grow() {
	if s.slots == nil {
		s.seed = maphash.MakeSeed()
	}
	s.slots = make([]uint32, max(64, 2*len(s.slots)))
	for i, id := range s.names {
		s.slots[s.slot(id)] = uint32(i + 1)
	}
}

// places maps ids of items to their rows.
type places map[string]int

func placesOf(items []string) places {
	at := make(places, len(items))
	for i, id := range items {
		at[id] = i
	}
	return at
}

// ignoreCase adds the ids of votes that differ only in case from one item that has no votes under its own id. It
// returns their number, and the first.
func (p places) ignoreCase(votes, items []string) (n int, example string) {
	voted := placesOf(votes)
	if p.hasAll(votes) {
		return 0, ""
	}
	of := map[string]int{} // by lower case, −1 if there are several
	for i, id := range items {
		key := strings.ToLower(id)
		if _, twice := of[key]; twice || voted.has(id) {
			i = -1
		}
		of[key] = i
	}
	taken := map[int]bool{}
	for _, id := range votes {
		to, ok := of[strings.ToLower(id)]
		if p.has(id) || !ok || to < 0 || taken[to] {
			continue
		}
		taken[to] = true
		p[id] = to
		if n++; n == 1 {
			example = fmt.Sprintf("%s is %s", id, items[to])
		}
	}
	return n, example
}

// has reports whether p contains an id.
func (p places) has(id string) bool {
	_, ok := p[id]
	return ok
}

// hasAll reports whether p contains all of the ids.
func (p places) hasAll(ids []string) bool {
	return !slices.ContainsFunc(ids, func(id string) bool { return !p.has(id) })
}

// seenIDs finds duplicate ids in a stream of any length, in bounded memory. Once it is full, further ids are compared
// with those it contains and with the previous id. Ids that increase throughout, such as numbers, cannot repeat.
type seenIDs struct {
	slots   []seenID // open addressing; a power of two
	n       int      // slots in use
	seeds   [2]maphash.Seed
	last    string      // the previous id
	line    int         // its line
	waiting []waitingID // comparing many at once takes a third of the time, because memory accesses overlap
	falling bool        // some id is not greater than the previous one
}

// waitingID is an id that was not compared yet, and its line.
type waitingID struct {
	id   string
	line int
}

// seenID represents an id by 96 bits of hashes with random seeds: among ten million ids, two different ones collide in
// one of 10¹⁵ files.
type seenID struct {
	hash uint64
	more uint32
	line uint32 // 1 + the line of the id, or 0 for a free slot
}

// maxSeen is the largest number of ids in the set, which takes 64 MB.
const maxSeen = 3 << 20

// add adds an id with its line, and returns the line of an equal id if there is one.
func (s *seenIDs) add(id string, line int) (earlier int, there bool) {
	if s.n < maxSeen && 4*s.n >= 3*len(s.slots) {
		s.grow()
	}
	x := seenID{maphash.String(s.seeds[0], id), uint32(maphash.String(s.seeds[1], id)), uint32(line) + 1}
	at := s.slot(x)
	if at.line > 0 {
		return int(at.line - 1), true
	}
	if s.n == maxSeen && id == s.last {
		return s.line, true
	}
	if s.n < maxSeen {
		*at = x
		s.n++
	}
	s.falling = s.falling || len(id) < len(s.last) || len(id) == len(s.last) && id < s.last
	s.last, s.line = id, line
	return 0, false
}

// slot returns the slot of an id, or the free slot for it.
func (s *seenIDs) slot(x seenID) *seenID {
	mask := uint64(len(s.slots) - 1)
	for k := x.hash & mask; ; k = (k + 1) & mask {
		if at := &s.slots[k]; at.line == 0 || at.hash == x.hash && at.more == x.more {
			return at
		}
	}
}

func (s *seenIDs) grow() {
	if s.slots == nil {
		s.seeds = [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}
	}
	old := s.slots
	s.slots = make([]seenID, max(64, 2*len(old)))
	for _, x := range old {
		if x.line > 0 {
			*s.slot(x) = x
		}
	}
}

// warnings returns a warning if not all ids were compared.
func (s *seenIDs) warnings() []error {
	if s.n < maxSeen || !s.falling {
		return nil
	}
	return []error{fmt.Errorf("ids were compared only with those of the first %s: duplicates after these are not detected",
		words.Plural(s.n, "item"))}
}

// compareIDs compares the waiting ids and returns an error for a duplicate.
func (s *Stream) compareIDs() error {
	for _, w := range s.ids.waiting {
		if earlier, there := s.ids.add(w.id, w.line); there {
			return duplicateItem(s.t, w.line, s.item, s.opts.ItemColumn, w.id, earlier)
		}
	}
	s.ids.waiting = s.ids.waiting[:0]
	return nil
}
