package main

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"credence/dataset"
	"credence/internal/words"
)

// splitFile says, in the folder of a run, which part each item was in.
const splitFile = "split.csv"

// The parts of a split, as splitFile names them.
const (
	trainPart      = "train"
	validationPart = "validation"
	testPart       = "test"
)

var splitParts = []string{trainPart, validationPart, testPart}

// writeSplit records the part of each item of ds; those in none are left out.
func (r runFolder) writeSplit(ds *dataset.Dataset, s *dataset.Split) error {
	part := make([]string, ds.Len())
	for name, rows := range map[string][]int{trainPart: s.Train, validationPart: s.Validation, testPart: s.Test} {
		for _, i := range rows {
			part[i] = name
		}
	}
	return r.write(splitFile, func(w io.Writer) error {
		c := csv.NewWriter(w)
		c.Write([]string{"item", "part"})
		for i, id := range ds.Items {
			if part[i] != "" {
				c.Write([]string{id, part[i]})
			}
		}
		c.Flush()
		return c.Error()
	})
}

// folderOf returns the folder of a run that is named by its folder or by the
// model file in it.
func folderOf(run string) runFolder {
	if info, err := os.Stat(run); err == nil && !info.IsDir() {
		run = filepath.Dir(run)
	}
	return runFolder(run)
}

// readSplit returns the part of each item, or nil if the run has no split.
func (r runFolder) readSplit() (map[string]string, error) {
	path := r.path(splitFile)
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	c := csv.NewReader(f)
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
		if !slices.Contains(splitParts, rec[1]) {
			return nil, fmt.Errorf("reading %s: item %q: part %q is not one of %v", path, rec[0], rec[1], splitParts)
		}
		parts[rec[0]] = rec[1]
	}
}

// partOf returns the items of ds that were in one part of the run's split.
func (r runFolder) partOf(ds *dataset.Dataset, part string) (*dataset.Dataset, error) {
	parts, err := r.readSplit()
	if err != nil {
		return nil, err
	}
	if parts == nil {
		return nil, withHint(fmt.Errorf("--part %s: there is no %s in %s", part, splitFile, r),
			"credence train writes one if --test, --validation or --split divides the items")
	}
	var rows []int
	for i, id := range ds.Items {
		if parts[id] == part {
			rows = append(rows, i)
		}
	}
	if len(rows) == 0 {
		return nil, fmt.Errorf("none of the %s is in the %s part of %s", plural(ds.Len(), "item"), part, r.path(splitFile))
	}
	return ds.Select(rows), nil
}

// seen warns if items of ds had a part in training the run.
func (r runFolder) seen(ds *dataset.Dataset) (string, error) {
	parts, err := r.readSplit()
	if err != nil {
		return "", err
	}
	n := 0
	for _, id := range ds.Items {
		if p := parts[id]; p == trainPart || p == validationPart {
			n++
		}
	}
	switch n {
	case 0:
		return "", nil
	case ds.Len():
		return "the model has seen these items in training: every number flatters it", nil
	}
	return fmt.Sprintf("the model has seen %s of these %s items in training, which flatters it: --part test leaves them out",
		words.Thousands(n), words.Thousands(ds.Len())), nil
}

// checkPart refuses a part that no split has.
func checkPart(part string) error {
	if part != "" && !slices.Contains(splitParts, part) {
		return usagef("--part %q: expected one of %s", part, strings.Join(splitParts, ", "))
	}
	return nil
}
