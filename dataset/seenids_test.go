package dataset

import (
	"strconv"
	"strings"
	"testing"
)

// TestSeenIDs checks that duplicate ids are found with the line of the first, in any order. Once the set is full, it
// finds duplicates of ids in the set and of the previous id, and warns that it does not find others.
func TestSeenIDs(t *testing.T) {
	var s seenIDs
	id := func(i int) string { return strconv.Itoa(i * 7919 % 1_000_003) } // in no order
	for i := range 1000 {
		if line, there := s.add(id(i), i+2); there {
			t.Fatalf("id %d of %d is new, found on line %d", i, len(s.slots), line)
		}
	}
	for i := range 1000 {
		if line, there := s.add(id(i), 5000); !there || line != i+2 {
			t.Fatalf("id %d: found %v on line %d, want line %d", i, there, line, i+2)
		}
	}
	if _, there := s.add("", 9); there {
		t.Error("an empty id is there before it came")
	}
	if list := s.warnings(); list != nil {
		t.Errorf("warnings %v of a set with room", list)
	}
	rising, shuffled := &seenIDs{}, &seenIDs{}
	for i := range maxSeen + 10 {
		rising.add(strconv.Itoa(i), i+1)
		shuffled.add(strconv.Itoa(i^1), i+1)
	}
	if rising.warnings() != nil {
		t.Error("ids that rise cannot repeat, but there is a warning")
	}
	want := "ids were compared only with those of the first 3,145,728 items: duplicates after these are not detected"
	if list := shuffled.warnings(); len(list) != 1 || list[0].Error() != want {
		t.Errorf("warnings %v, want %s", list, want)
	}
	if line, there := shuffled.add("7", 0); !there || line != 7 {
		t.Errorf("an id of a full set: %v on line %d, want line 7", there, line)
	}
	if _, there := shuffled.add("new", 10); there {
		t.Error("a new id is there")
	}
	if line, there := shuffled.add("new", 11); !there || line != 10 {
		t.Errorf("an id that follows its like: %v on line %d, want line 10", there, line)
	}
}

// TestStreamRepeats checks that a duplicate id ends a stream, within and across batches, with both lines in the error.
func TestStreamRepeats(t *testing.T) {
	text := "id,x\na,1\nb,2\n,3\nc,4\nb,5\nd,6\n"
	parts := []Feature{{Name: "x"}}
	for _, batch := range []int{1, 2, 100} {
		s, err := NewStream(t.Context(), strings.NewReader(text), "items.csv", parts, StreamOptions{Batch: batch, KeepBad: true})
		if err != nil {
			t.Fatal(err)
		}
		var last error
		for _, err := range s.All() {
			last = err
		}
		want := `reading items.csv: line 6, column 1 (id): item "b" is there already, on line 3`
		if last == nil || !strings.HasPrefix(last.Error(), want) {
			t.Errorf("batches of %d: %v, want %s", batch, last, want)
		}
		s.Close()
		if s, err = NewStream(t.Context(), strings.NewReader(text), "items.csv", parts, StreamOptions{Batch: batch, KeepBad: true, Repeats: true}); err != nil {
			t.Fatal(err)
		}
		n := 0
		for b, err := range s.All() {
			if err != nil {
				t.Fatal(err)
			}
			n += b.Len()
		}
		if n != 6 {
			t.Errorf("%d items, want 6", n)
		}
		s.Close()
	}
}

// TestTruthTwice checks that the error about an item with two true probabilities has both lines.
func TestTruthTwice(t *testing.T) {
	inDir(t, "items.csv", "item,x\na,1\nb,2\n", "votes.csv", "item,label\na,0\nb,1\n",
		"truth.csv", "item,0,1\na,.5,.5\nb,.5,.5\na,.2,.8\n")
	_, err := Load(t.Context(), LoadOptions{Data: []string{"items.csv"}, Votes: []string{"votes.csv"}, Truth: "truth.csv"})
	want := `reading truth.csv: line 4, column 1 (item): item "a" is there already, on line 2`
	if err == nil || err.Error() != want {
		t.Errorf("found %v, want %s", err, want)
	}
}
