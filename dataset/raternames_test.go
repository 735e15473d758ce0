package dataset

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Names that differ only in case, spaces or Unicode form are found, others are not.
func TestRatersAlike(t *testing.T) {
	names := []string{"ann", "Bob", "Ann", "Ann Lee", "annlee", "Jürgen", "Ju\u0308rgen", "ＢＯＢ", "ann",
		"r1", "r-1", "", "reader\u200b1", "reader 1"}
	want := []int{-1, -1, 0, -1, 3, -1, 5, 1, -1, -1, -1, -1, -1, 12}
	if got := RatersAlike(names); !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// Load warns of them, also where the spellings are in different files; a rater without votes does not count.
func TestLoadRaterNames(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		return path
	}
	items := write("items.csv", "item,x\na,1\nb,2\nc,3\nd,4\n")
	one := write("one.csv", "item,rater,label\na,ann,yes\na,bob,no\nb,ann,no\nb,bob,yes\nc,ann,no\nc,bob,no\n")
	two := write("two.csv", "item,rater,label\nd,Ann,yes\nd,Ju\u0308rgen,no\na,Jürgen,no\n")
	for _, c := range []struct {
		data, votes []string
		want        string
	}{
		{nil, []string{one, two}, `"ann" (3 votes) and "Ann" (1 vote), "Ju\u0308rgen" (1 vote) and "J\u00fcrgen" (1 vote); ` +
			`if they are one person, use one name`},
		{[]string{items}, []string{one, two}, `"ann" (3 votes) and "Ann" (1 vote)`},
		{[]string{items}, []string{one}, ""},
	} {
		ds, err := Load(context.Background(), LoadOptions{Data: c.data, Votes: c.votes})
		if err != nil {
			t.Fatal(err)
		}
		var found string
		for _, w := range ds.Warnings {
			if errors.Is(w, ErrRaterNames) {
				found += w.Error()
			}
		}
		if (c.want == "") != (found == "") || !strings.Contains(found, c.want) {
			t.Errorf("%v: warning %q, want %q", c.votes, found, c.want)
		}
		if err := ds.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
