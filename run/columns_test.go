package run

import (
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"credence/dataset"
)

// TestReadAs: files are read as the configuration of the run specifies unless options
// are set, and a file may lack the columns.
func TestReadAs(t *testing.T) {
	folder := Folder(t.TempDir())
	if err := os.WriteFile(folder.Path(ConfigFile), []byte("item: nodule\nvotes-item: read\nna: [-9, missing]\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	na := []string{"-9", "missing"}
	for _, c := range []struct {
		name               string
		given              dataset.LoadOptions
		item, votes        string
		optional, together bool
		na                 []string
	}{
		{name: "two files", given: dataset.LoadOptions{Votes: []string{"votes.csv"}}, item: "nodule", votes: "read", optional: true, together: true, na: na},
		{name: "one file", item: "nodule", optional: true, na: na},
		{name: "an array", given: dataset.LoadOptions{Votes: []string{"votes.NPY"}}, item: "nodule", optional: true, na: na},
		{name: "another column", given: dataset.LoadOptions{Votes: []string{"votes.csv"}, FeatureOptions: dataset.FeatureOptions{ItemColumn: "id"}}, item: "id", na: na},
		{name: "other spellings", given: dataset.LoadOptions{FeatureOptions: dataset.FeatureOptions{TableOptions: dataset.TableOptions{NA: []string{"x"}}}},
			item: "nodule", optional: true, na: []string{"x"}},
	} {
		o := c.given
		folder.ReadAs(&o)
		f, v := o.FeatureOptions, o.VotesOptions
		if f.ItemColumn != c.item || v.ItemColumn != c.votes || f.ItemOptional != c.optional || v.ItemOptional != c.together || !reflect.DeepEqual(f.NA, c.na) {
			t.Errorf("%s: items %q (%v), votes %q (%v), missing %q", c.name, f.ItemColumn, f.ItemOptional, v.ItemColumn, v.ItemOptional, f.NA)
		}
	}
	o := dataset.LoadOptions{Votes: []string{"votes.csv"}}
	Folder(filepath.Join(string(folder), "none")).ReadAs(&o)
	if !reflect.DeepEqual(o, dataset.LoadOptions{Votes: []string{"votes.csv"}}) {
		t.Errorf("without a configuration: %+v", o)
	}
}
