package dataset

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func write(t *testing.T, files map[string]string) {
	t.Helper()
	t.Chdir(t.TempDir())
	for name, text := range files {
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func TestLoad(t *testing.T) {
	npy, err := os.ReadFile("testdata/f4.npy")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name     string
		files    map[string]string
		opts     LoadOptions
		want     string // items, classes, counts, rows
		warnings string
	}{
		{
			name:     "two files",
			files:    map[string]string{"items.csv": "id,a\nx,1\ny,2\nz,3\n", "votes.csv": "item,label\ny,q\nx,p\nx,q\nw,q\n"},
			opts:     LoadOptions{Data: []string{"items.csv"}, Votes: []string{"votes.csv"}},
			want:     "[x y z] [p q] [1 1 0 1 0 0] [1 2 3]",
			warnings: "votes on 1 item without features left out: \"w\"\n1 item without votes, not used for training",
		},
		{
			name:  "one file, long, features repeated",
			files: map[string]string{"items.csv": "id,a,worker,label\nx,1,r,p\nx,1,s,q\ny,2,r,p\n"},
			opts:  LoadOptions{Data: []string{"items.csv"}},
			want:  "[x y] [p q] [1 1 1 0] [1 2]",
		},
		{
			name:     "one file, a label a row",
			files:    map[string]string{"items.csv": "a,label\n1,p\n2,q\n"},
			opts:     LoadOptions{Data: []string{"items.csv"}},
			want:     "[0 1] [p q] [1 0 0 1] [1 2]",
			warnings: ErrOneVote.Error(),
		},
		{
			name:  "one file, counts by class",
			files: map[string]string{"items.csv": "id,a,p,q\nx,1,2,0\ny,2,0,3\n"},
			opts:  LoadOptions{Data: []string{"items.csv"}, VotesOptions: VotesOptions{Classes: []string{"q", "p"}}},
			want:  "[x y] [q p] [0 2 3 0] [1 2]",
		},
		{
			name:  "one file, wide columns",
			files: map[string]string{"items.csv": "id,a,r1,r2\nx,1,p,q\ny,2,p,\n"},
			opts:  LoadOptions{Data: []string{"items.csv"}, VotesOptions: VotesOptions{Columns: []string{"r1", "r2"}}},
			want:  "[x y] [p q] [1 1 1 0] [1 2]",
		},
		{
			name:  "an array and a table, by position",
			files: map[string]string{"items.csv": "id,a\nw,1\nx,2\ny,3\nz,4\n", "x.npy": string(npy), "votes.csv": "id,p,q\nw,11,0\nx,1,1\ny,1,1\nz,1,1\n"},
			opts:  LoadOptions{Data: []string{"items.csv", "x.npy"}, Votes: []string{"votes.csv"}},
			want:  "[w x y z] [p q] [11 0 1 1 1 1 1 1] [1 -5 -4 -3 2 -2 -1 0 3 1 2 3 4 4 5 6]",
		},
		{
			name:  "true probabilities",
			files: map[string]string{"items.csv": "id,a\nx,1\n", "votes.csv": "id,p,q\nx,11,2\n", "truth.csv": "id,q,p\nx,0.25,0.75\n"},
			opts:  LoadOptions{Data: []string{"items.csv"}, Votes: []string{"votes.csv"}, Truth: "truth.csv"},
			want:  "[x] [p q] [11 2] [1] [0.75 0.25]",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			write(t, c.files)
			ds, err := Load(t.Context(), c.opts)
			if err != nil {
				t.Fatal(err)
			}
			defer ds.Close()
			got := fmt.Sprint(ds.Items, " ", ds.Classes, " ", ds.Counts, " ", rowsOf(t, ds.Rows))
			if ds.Truth != nil {
				got += fmt.Sprint(" ", ds.Truth)
			}
			if got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
			if got := warningText(ds.Warnings); got != c.warnings {
				t.Errorf("got warnings %s\nwant %s", got, c.warnings)
			}
		})
	}
}

func TestLoadRefuses(t *testing.T) {
	write(t, map[string]string{
		"items.csv": "id,a\nx,1\n", "votes.csv": "id,label\n7,p\n8,q\n", "more.csv": "id,b\ny,1\n", "short.csv": "b\n1\n2\n",
		"good.csv": "id,label\nx,p\nx,q\n", "truth.csv": "id,p,q\nx,0.5,0.6\n",
	})
	for _, c := range []struct {
		opts LoadOptions
		want string
	}{
		{LoadOptions{}, "expected a file of features or of votes, found none"},
		{LoadOptions{Data: []string{"items.csv"}}, "reading items.csv: no column of votes among [id, a]"},
		{LoadOptions{Data: []string{"items.csv"}, Votes: []string{"votes.csv"}}, `no item of votes.csv has features: its items are "7", "8", those with features are "x"`},
		{LoadOptions{Data: []string{"items.csv", "more.csv"}, Votes: []string{"good.csv"}}, `reading more.csv: no features for 1 item: "x"`},
		{LoadOptions{Data: []string{"items.csv", "short.csv"}, Votes: []string{"good.csv"}}, `reading short.csv: 2 items, but the first file has 1, and without ids they are joined by position`},
		{LoadOptions{Data: []string{"items.csv"}, Votes: []string{"good.csv"}, Truth: "truth.csv"}, `reading truth.csv: line 2: expected the probabilities of item "x" to sum to 1, found 1.1`},
	} {
		if _, err := Load(t.Context(), c.opts); err == nil || err.Error() != c.want {
			t.Errorf("got  %v\nwant %s", err, c.want)
		}
	}
}

// Published data with several votes per item, as far as they are here.
func TestRealData(t *testing.T) {
	dir := realData(t)
	for _, c := range []struct{ data, votes, columns string }{
		{"lidc/items.csv", "lidc/votes.csv", "68 features: 68 numeric"},
		{"recidivism/items.csv", "recidivism/votes.csv", "7 features: 7 numeric; ignored: reoffended"},
		{"labelme/features_train.npy", "labelme/votes_train.csv", "1 feature: 1 tensor (x 512)"},
		{"cifar10h/counts.npy", "cifar10h/counts.npy", "1 feature: 1 tensor (x 10)"},
	} {
		opts := LoadOptions{Data: []string{filepath.Join(dir, c.data)}, Votes: []string{filepath.Join(dir, c.votes)}}
		if filepath.Dir(c.data) == "recidivism" {
			opts.FeatureOptions.Ignore = []string{"reoffended"}
		}
		ds, err := Load(t.Context(), opts)
		if err != nil {
			t.Error(err)
			continue
		}
		if got := DescribeColumns(ds.Columns); got != c.columns {
			t.Errorf("got %s, want %s", got, c.columns)
		}
		s, err := NewSplit(ds, SplitOptions{Test: 0.2})
		if err != nil {
			t.Fatal(err)
		}
		tr, err := Fit(ds, s.Train, TransformOptions{})
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%v\n%s; %d inputs; %d/%d/%d items; warnings: %v", ds.Votes, DescribeColumns(ds.Columns), tr.Width(),
			len(s.Train), len(s.Validation), len(s.Test), errors.Join(ds.Warnings...))
		if err := ds.Close(); err != nil {
			t.Error(err)
		}
	}
}

// An optional id column is used in files that have it; in others the id column is found
// by its name.
func TestOptionalItem(t *testing.T) {
	inDir(t, "with.csv", "code,id,x\nc1,a,1\nc2,b,2\n", "without.csv", "id,x\na,1\nb,2\n",
		"votes.csv", "code,p,q\nc1,1,2\nc2,12,0\n", "plain.csv", "id,p,q\na,1,2\nb,12,0\n")
	for _, c := range []struct {
		data, votes, want string
	}{
		{"with.csv", "votes.csv", "[c1 c2] [1 2 12 0] code"},
		{"without.csv", "plain.csv", "[a b] [1 2 12 0] id"},
	} {
		o := LoadOptions{Data: []string{c.data}, Votes: []string{c.votes}}
		o.FeatureOptions.ItemColumn, o.FeatureOptions.ItemOptional = "code", true
		o.VotesOptions.ItemColumn, o.VotesOptions.ItemOptional = "code", true
		ds, err := Load(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint(ds.Items, ds.Counts, " ", ds.Votes.ItemColumn); got != c.want {
			t.Errorf("%s: got %s, want %s", c.data, got, c.want)
		}
		o.FeatureOptions.ItemOptional = false
		if _, err := Load(t.Context(), o); (err != nil) != (c.data == "without.csv") || err != nil && !errors.Is(err, ErrNoColumn) {
			t.Errorf("%s: %v", c.data, err)
		}
	}
}

// Columns to leave out may be in any of the files, and must be in at least one.
func TestIgnoreInAnyFile(t *testing.T) {
	inDir(t, "items.csv", "id,x,note\na,1,u\nb,2,v\n", "more.csv", "id,z,extra\na,3,4\nb,4,5\n",
		"votes.csv", "id,p,q,when\na,1,2,7\nb,12,0,8\n", "long.csv", "id,label,when\na,p,1\nb,q,2\n",
		"plain.csv", "id,p,q\na,1,2\nb,12,0\n")
	load := func(votes string, ignore ...string) (string, error) {
		o := LoadOptions{Data: []string{"items.csv", "more.csv"}, Ignore: ignore}
		if votes != "" {
			o.Votes = []string{votes}
		}
		ds, err := Load(t.Context(), o)
		if err != nil {
			return "", err
		}
		var names []string
		for _, p := range ds.Features {
			names = append(names, p.Name)
		}
		return fmt.Sprint(names, ds.Classes), nil
	}
	if got, err := load("votes.csv", "note", "extra", "when"); err != nil || got != "[x z] [p q]" {
		t.Error(got, err)
	}
	for _, c := range [][]string{{"votes.csv", "note", "nothing", "when"}, {"long.csv", "when"}, {"", "when"}} {
		_, err := load(c[0], c[1:]...)
		want := fmt.Sprintf("reading items.csv: no column %q among [id, x, note]", c[len(c)/2])
		if c[0] == "" { // votes are looked for in the first file, and not found
			want = "reading items.csv: no column of votes among [id, x, note]"
		}
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%v: got %v, want %s", c, err, want)
		}
	}
	for _, votes := range [][]string{{"votes.csv", "plain.csv"}, {"plain.csv", "votes.csv"}, {"plain.csv", "votes.csv", "long.csv"}} {
		if _, err := Load(t.Context(), LoadOptions{Votes: votes, VotesOptions: VotesOptions{Ignore: []string{"when"}}}); err != nil {
			t.Errorf("%v: %v", votes, err)
		}
	}
}
