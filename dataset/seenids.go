package dataset

import (
	"fmt"
	"hash/maphash"
)

// seenIDs finds ids that come twice in a stream of any length, in bounded memory. Once it is full, further ids are
// compared with those that it has and with the one before. Ids that rise throughout, as numbers do, cannot repeat.
type seenIDs struct {
	slots   []seenID // open addressing; a power of two
	n       int      // of them that are taken
	seeds   [2]maphash.Seed
	last    string      // id that came last
	line    int         // on which it stands
	waiting []waitingID // comparing many at once takes a third of the time, since none waits for memory alone
	falling bool        // some id does not come after the one before it
}

// waitingID is an id that was not compared yet, and the line it stands on.
type waitingID struct {
	id   string
	line int
}

// seenID stands for an id by 96 bits of hashes with random seeds: among ten million ids, chance takes two different
// ones for equal in one of 10¹⁵ files.
type seenID struct {
	hash uint64
	more uint32
	line uint32 // 1 + the line it stands on, or 0 for a free slot
}

// maxSeen is how many ids are kept at most, in 64 MB.
const maxSeen = 3 << 20

// add takes an id into account, which stands on a line, and returns the line of an equal one if there is any.
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

// slot returns where an id is, or belongs.
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

// warnings says how far ids were compared, if that is not all of them.
func (s *seenIDs) warnings() []error {
	if s.n < maxSeen || !s.falling {
		return nil
	}
	return []error{fmt.Errorf("ids were compared with those of the first %s alone: one that comes twice after these is not noticed",
		number(s.n, "item"))}
}

// compareIDs compares the ids that wait, and refuses one that came before.
func (s *Stream) compareIDs() error {
	for _, w := range s.ids.waiting {
		if earlier, there := s.ids.add(w.id, w.line); there {
			return twice(s.t, w.line, s.item, s.opts.ItemColumn, w.id, earlier)
		}
	}
	s.ids.waiting = s.ids.waiting[:0]
	return nil
}
