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

// TestOrdered: ordered classes are in the order of their scale, with counts and single votes to match.
func TestOrdered(t *testing.T) {
	votes := func(labels ...string) string {
		text := "item,rater,label\n"
		for i, l := range labels {
			text += string(rune('a'+i/2)) + "," + string(rune('p'+i%2)) + "," + l + "\n"
		}
		return text
	}
	for _, test := range []struct {
		name, text string
		opts       VotesOptions
		want       []string // nil for an error
		asks       bool     // whether the question is asked without Ordered
	}{
		{"numbers", votes("10", "9", "8", "2", "1", "10"), VotesOptions{}, []string{"1", "2", "8", "9", "10"}, false},
		{"grades", votes("3", "1", "2", "2"), VotesOptions{}, []string{"1", "2", "3"}, true},
		{"words", votes("High", "low", "medium", "low"), VotesOptions{}, []string{"low", "medium", "High"}, true},
		{"given", votes("b", "a", "c", "b"), VotesOptions{Classes: []string{"c", "a", "b"}}, []string{"c", "a", "b"}, false},
		{"unknown", votes("cat", "dog", "emu", "dog"), VotesOptions{}, nil, false},
		{"two", votes("0", "1", "1", "1"), VotesOptions{}, []string{"0", "1"}, false},
		{"columns", "item,ripe,green\na,2,3\nb,0,11\n", VotesOptions{}, []string{"ripe", "green"}, false},
		{"number columns", "item,3,2,1\na,2,3,1\nb,0,11,1\n", VotesOptions{}, []string{"1", "2", "3"}, false},
	} {
		path := filepath.Join(t.TempDir(), "votes.csv")
		if err := os.WriteFile(path, []byte(test.text), 0o600); err != nil {
			t.Fatal(err)
		}
		plain, err := ReadVotes(context.Background(), path, test.opts)
		if err != nil || plain.Ordered {
			t.Fatalf("%s: %v", test.name, err)
		}
		asks := slices.ContainsFunc(plain.Warnings, func(w error) bool {
			a, ok := errors.AsType[*Advice](w)
			return ok && slices.Contains(a.Settings, SetOrdered)
		})
		if asks != test.asks {
			t.Errorf("%s: asks whether classes are ordered: %t, want %t: %v", test.name, asks, test.asks, plain.Warnings)
		}
		test.opts.Ordered = true
		ds, err := ReadVotes(context.Background(), path, test.opts)
		if test.want == nil {
			if err == nil || !strings.Contains(err.Error(), "whose order is unknown") {
				t.Errorf("%s: error %v", test.name, err)
			}
			continue
		}
		if err != nil || !ds.Ordered || !slices.Equal(ds.Classes, test.want) {
			t.Errorf("%s: classes %v, ordered %t, error %v, want %v", test.name, ds.Classes, ds.Ordered, err, test.want)
			continue
		}
		for i := range ds.Items {
			for c, name := range ds.Classes {
				if got, want := ds.CountsOf(i)[c], plain.CountsOf(i)[slices.Index(plain.Classes, name)]; got != want {
					t.Errorf("%s: item %d, class %s: %v votes, want %v", test.name, i, name, got, want)
				}
			}
		}
		for k, r := range ds.Ratings {
			if got, want := ds.Classes[r.Class], plain.Classes[plain.Ratings[k].Class]; got != want {
				t.Errorf("%s: vote %d for %s, want %s", test.name, k, got, want)
			}
		}
		a, _ := plain.Hash()
		if b, _ := ds.Hash(); a == b {
			t.Errorf("%s: the same hash with and without order", test.name)
		}
	}
}
