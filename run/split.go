package run

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"

	"credence/dataset"
	"credence/internal/words"
	"credence/model"
)

// The parts of a split.
const (
	trainPart      = "train"
	validationPart = "validation"
	TestPart       = "test"
)

// Parts are the parts of a split, as split.csv names them.
var Parts = []string{trainPart, validationPart, TestPart}

// ErrNoSplit is the reason when a part is asked of a run whose items were not
// divided.
var ErrNoSplit = errors.New("there is no " + splitFile)

// Division is how a run uses the items of a data set.
type Division struct {
	Split *dataset.Split   // nil if all items are trained on
	Items *dataset.Dataset // the data set divided
	Learn *dataset.Dataset // its items that training sees
	Held  []int            // those of Learn that every network holds out
}

// Divide makes a split with the given shares, or follows one given in the data:
// the test part is left alone, the validation part held out by every network.
// Whole groups stay together, and the parts are alike in their majority classes.
func Divide(ds *dataset.Dataset, validation, test float64, seed uint64) (*Division, error) {
	d := &Division{Items: ds, Learn: ds}
	if ds.Given == nil && test+validation == 0 {
		return d, nil
	}
	if validation == 0 {
		validation = -1 // none
	}
	var err error
	if d.Split, err = dataset.NewSplit(ds, dataset.SplitOptions{Validation: validation, Test: test, Seed: seed}); err != nil {
		return nil, err
	}
	keep := slices.Concat(d.Split.Train, d.Split.Validation)
	slices.Sort(keep)
	for at, j := range keep {
		if _, found := slices.BinarySearch(d.Split.Validation, j); found {
			d.Held = append(d.Held, at)
		}
	}
	d.Learn = ds.Select(keep)
	return d, nil
}

// parts returns the part of each item, "" for those in none.
func (d *Division) parts() []string {
	part := make([]string, d.Items.Len())
	for i, rows := range [][]int{d.Split.Train, d.Split.Validation, d.Split.Test} {
		for _, j := range rows {
			part[j] = Parts[i]
		}
	}
	return part
}

// writeSplit records the part of each item; those in none are left out.
func (f Folder) writeSplit(d *Division) error {
	if d.Split == nil {
		return nil
	}
	part := d.parts()
	return f.write(splitFile, func(w io.Writer) error {
		c := csv.NewWriter(w)
		c.Write([]string{"item", "part"})
		for j, id := range d.Items.Items {
			if part[j] != "" {
				c.Write([]string{id, part[j]})
			}
		}
		c.Flush()
		return c.Error()
	})
}

// readSplit returns the part of each item, or nil if the run has no split.
func (f Folder) readSplit() (map[string]string, error) {
	path := f.Path(splitFile)
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer file.Close()
	c := csv.NewReader(file)
	c.FieldsPerRecord = 2
	parts := map[string]string{}
	for line := 1; ; line++ {
		rec, err := c.Read()
		if err == io.EOF {
			return parts, nil
		}
		if err != nil {
			return nil, fmt.Errorf("reading %s: %w", path, err)
		}
		if line == 1 {
			continue
		}
		if !slices.Contains(Parts, rec[1]) {
			return nil, fmt.Errorf("reading %s: item %q: part %q is not one of %v", path, rec[0], rec[1], Parts)
		}
		parts[rec[0]] = rec[1]
	}
}

// Part returns the items of ds that were in one part of the run's split. Without
// a split the error is ErrNoSplit.
func (f Folder) Part(ds *dataset.Dataset, part string) (*dataset.Dataset, error) {
	parts, err := f.readSplit()
	if err != nil {
		return nil, err
	}
	if parts == nil {
		return nil, fmt.Errorf("%w in %s", ErrNoSplit, f)
	}
	var rows []int
	for i, id := range ds.Items {
		if parts[id] == part {
			rows = append(rows, i)
		}
	}
	if len(rows) == 0 {
		return nil, fmt.Errorf("none of the %s is in the %s part of %s", words.Plural(ds.Len(), "item"), part, f.Path(splitFile))
	}
	return ds.Select(rows), nil
}

// Seen returns how many items of ds had a part in training m, the model of the
// run. Equal is true if they are the very data set it was trained on.
func (f Folder) Seen(m *model.Model, ds *dataset.Dataset) (n int, equal bool, err error) {
	hash, err := ds.Hash()
	if err != nil {
		return 0, false, err
	}
	if hash == m.Provenance.Data {
		return ds.Len(), true, nil
	}
	parts, err := f.readSplit()
	if err != nil {
		return 0, false, err
	}
	for _, id := range ds.Items {
		if p := parts[id]; p == trainPart || p == validationPart {
			n++
		}
	}
	return n, false, nil
}
