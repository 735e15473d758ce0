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

// Columns that are not features are read by id, in any file, and without ids by
// position; of several rows of an item the first counts.
func TestReadColumns(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	items := file("items.csv", "item,x,Site\na,1,north\nb,2,NA\nc,3,south\n")
	votes := file("votes.csv", "item,label\nc,yes\na,no\nb,yes\n")
	swapped := file("swapped.csv", "item,Age\nc,70\na,50\nz,1\nb,60\n")
	beside := file("beside.csv", "Sex,y\nf,1\nm,2\nf,3\n")
	long := file("long.csv", "item,x,Site,label\na,1,north,yes\na,1,west,no\nb,2,south,no\n")
	numbered := file("numbered.csv", "x,Site,label\n1,north,yes\n2,south,no\n")
	for _, c := range []struct {
		o     LoadOptions
		names []string
		want  [][]string
	}{
		{LoadOptions{Data: []string{items}, Votes: []string{votes}}, []string{"Site", "x"}, [][]string{{"north", "", "south"}, {"1", "2", "3"}}},
		{LoadOptions{Data: []string{items, swapped, beside}, Votes: []string{votes}}, []string{"Age", "Sex"}, [][]string{{"50", "60", "70"}, {"f", "m", "f"}}},
		{LoadOptions{Data: []string{long}}, []string{"Site"}, [][]string{{"north", "south"}}},
		{LoadOptions{Data: []string{numbered}}, []string{"Site"}, [][]string{{"north", "south"}}},
	} {
		c.o.FeatureOptions.Features = []string{"x"}
		if len(c.o.Data) > 1 {
			c.o.FeatureOptions.Features = nil
		}
		ds, err := Load(context.Background(), c.o)
		if err != nil {
			t.Fatal(err)
		}
		got, err := ds.ReadColumns(context.Background(), c.o, c.names)
		if err != nil {
			t.Fatal(err)
		}
		for i := range c.names {
			if !slices.Equal(got[i], c.want[i]) {
				t.Errorf("column %s of %v is %q, want %q", c.names[i], c.o.Data, got[i], c.want[i])
			}
		}
		_, err = ds.ReadColumns(context.Background(), c.o, []string{"Place"})
		if !errors.Is(err, ErrNoColumn) || !strings.Contains(err.Error(), `no column "Place" among [`) {
			t.Errorf("error %v", err)
		}
		ds.Close()
	}
}
