package dataset

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"credence/internal/array"
)

// Errors and warnings that an option resolves have an Advice with the option and the
// column; no text names a flag.
func TestAdvice(t *testing.T) {
	numbers := many("id,a", "#,#", 30)
	names := many("id,name,a", "#,n#,#", 25)
	files := map[string]string{
		"items.csv": "id,a\nx,1\ny,2\nz,3\n", "twice.csv": "patient_id,a\nx,1\nx,2\n", "text.csv": numbers + "x,abc\n",
		"names.csv": names, "paths.csv": "id,p,a\nx,x.png,1\ny,y.png,2\n",
		"two.csv": "id,p,q\na,x.nii,y.nii\n", "one.csv": "item,label\na,x\n", "short.csv": "p,q\n1,2\n12,0\n",
		"nolabel.csv": "item,x\na,1\n", "noitem.csv": "mrn,reader,grade\n7,a,1\n", "votes2.csv": "item,p,q\na,x,y\nb,x,x\na,x,y\n",
		"other.csv": "item,0,1,2\na,1,1,1\n", "unique.csv": many("Hospital no.,p,q", "x#,u,v", 9), "which.csv": "item,r1,r2\na,1,2\nb,0,1\n",
		"total.csv": "item,p,q\na,.5,.5\n", "features.csv": many("item,x,site", "a#,1.#,north", 9), "measures.csv": many("item,age,weight", "a#,3#,7#", 30),
		"alone.csv": "item,r1,r2,r3,sex\na,x,y,x,m\nb,y,x,y,f\nc,x,x,y,m\nd,y,y,x,f\ne,x,x,x,m\nf,y,x,y,f\n",
	}
	var archive bytes.Buffer
	z := zip.NewWriter(&archive)
	for _, name := range []string{"one.npy", "other.npy"} {
		w, err := z.Create(name)
		if err == nil {
			err = array.WriteNPY(w, []int{1}, []float32{1})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	files["arrays.npz"] = archive.String()
	var long strings.Builder // whose end, with an item that is there already, is not read for a proposal
	long.WriteString("item,r1,r2,r3,sex\n")
	for i := range proposalRows {
		fmt.Fprintf(&long, "%d,%c,%c,%c,%c\n", i, 'x'+i%2, 'x'+i%3%2, 'x'+i%5%2, 'm'+i%7%2)
	}
	long.WriteString("0,x,x,x,m\n")
	files["long.csv"] = long.String()
	write(t, files)
	features := func(path string, o FeatureOptions) func() ([]error, error) {
		return func() ([]error, error) {
			f, err := readFeatures(t.Context(), path, o)
			if err != nil {
				return nil, err
			}
			return f.Warnings, nil
		}
	}
	votes := func(path string, o VotesOptions) func() ([]error, error) {
		return func() ([]error, error) {
			v, err := ReadVotes(t.Context(), path, o)
			if err != nil {
				return nil, err
			}
			return v.Warnings, nil
		}
	}
	load := func(o LoadOptions) func() ([]error, error) {
		return func() ([]error, error) { _, err := Load(t.Context(), o); return nil, err }
	}
	for _, c := range []struct {
		read func() ([]error, error)
		want Advice
	}{
		{features("twice.csv", FeatureOptions{}), Advice{Settings: []Setting{SetItem, SetGroup, SetCategorical, SetIgnore}}},
		{features("text.csv", FeatureOptions{}), Advice{Settings: []Setting{SetMissing, SetCategorical}, Column: "a", Value: "abc"}},
		{features("names.csv", FeatureOptions{}), Advice{Settings: []Setting{SetText, SetCategorical}, Column: "name"}},
		{features("paths.csv", FeatureOptions{}), Advice{Settings: []Setting{SetImages}, Column: "p"}},
		{features("two.csv", FeatureOptions{Features: []string{"p", "q"}}), Advice{Settings: []Setting{SetImages}}},
		{features(".", FeatureOptions{GroupColumn: "g"}), Advice{Settings: []Setting{SetImages}}},
		{features("arrays.npz", FeatureOptions{}), Advice{Settings: []Setting{SetArray}}},
		{votes("one.csv", VotesOptions{}), Advice{Settings: []Setting{SetClasses}}},
		{votes("nolabel.csv", VotesOptions{Form: Long}), Advice{Settings: []Setting{SetLabel}}},
		{votes("noitem.csv", VotesOptions{}), Advice{Settings: []Setting{SetItem}}},
		{votes("votes2.csv", VotesOptions{}), Advice{Settings: []Setting{SetLabel}}},
		{votes("other.csv", VotesOptions{Form: Counted, Classes: []string{"0", "1"}}), Advice{Settings: []Setting{SetIgnore}, Column: "2"}},
		{votes("unique.csv", VotesOptions{}), Advice{Settings: []Setting{SetItem, SetIgnore}, Column: "Hospital no."}},
		{votes("which.csv", VotesOptions{}), Advice{Settings: []Setting{SetForm}, Forms: []Form{Wide, Counted}}},
		{votes("total.csv", VotesOptions{Form: Fractions}), Advice{Settings: []Setting{SetTotal}}},
		{votes("alone.csv", VotesOptions{Form: Wide}), Advice{Settings: []Setting{SetIgnore}}},
		{votes("alone.csv", VotesOptions{}), Advice{Settings: []Setting{SetVoteColumns}, Columns: []string{"r1", "r2", "r3"}}},
		{votes("features.csv", VotesOptions{}), Advice{Settings: []Setting{SetVoteColumns, SetForm}}},
		{votes("measures.csv", VotesOptions{}), Advice{Settings: []Setting{SetForm}}},
		{load(LoadOptions{Data: []string{"items.csv"}}), Advice{Settings: []Setting{SetVotes, SetVoteColumns, SetLabel}}},
		{load(LoadOptions{Data: []string{"long.csv"}}), Advice{Settings: []Setting{SetVoteColumns}, Columns: []string{"r1", "r2", "r3"}}},
		{load(LoadOptions{Data: []string{"items.csv"}, Votes: []string{"short.csv"}}), Advice{Settings: []Setting{SetVotesItem}}},
	} {
		warnings, err := c.read()
		if err == nil {
			err = errors.Join(warnings...)
		}
		a, ok := errors.AsType[*Advice](err)
		if !ok || fmt.Sprint(*a) != fmt.Sprint(c.want) {
			t.Errorf("%v: got %+v, want %+v", err, a, c.want)
		}
		if err != nil && strings.Contains(err.Error(), "--") {
			t.Errorf("a flag is named: %v", err)
		}
	}
}
