package run

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"credence/dataset"
	"credence/evaluate"
	"credence/report"
)

// rated are items of the plane with votes of three raters by name.
func rated(n int) *dataset.Dataset {
	ds := plane(n)
	ds.Raters = []string{"ann", "bob", "cy"}
	clear(ds.Counts)
	for j := range n {
		for r := range ds.Raters {
			class := (j*(r+3)/7 + j*r) % 2
			ds.Counts[j*len(ds.Classes)+class]++
			ds.Ratings = append(ds.Ratings, dataset.Rating{Item: int32(j), Rater: int32(r), Class: int32(class)})
		}
	}
	return ds
}

// ratersAt loads a model and returns what is known about its raters.
func ratersAt(path string) (*evaluate.RaterReport, error) {
	m, err := Load(path)
	if err != nil {
		return nil, err
	}
	return Raters(m, path)
}

// A run keeps what is known about named raters, modelled or not; a model file alone only its rater
// model.
func TestRaters(t *testing.T) {
	d, err := Divide(rated(60), 0, 0, 1)
	if err != nil {
		t.Fatal(err)
	}
	for _, how := range []string{"off", "on"} {
		folder := Folder(filepath.Join(t.TempDir(), how))
		fit := quick()
		fit.Raters = how
		trained(t, folder, d, Options{Fit: fit})
		r, err := ratersAt(string(folder))
		if err != nil {
			t.Fatal(err)
		}
		if r.Modelled != (how == "on") || len(r.Raters) != 3 || r.Raters[1].Name != "bob" || r.Raters[1].Votes != 60 || !r.Raters[1].Agreement.Known() {
			t.Errorf("raters %s: %+v", how, r)
		}
		page := string(read(t, folder, ReportFile))
		if shown := strings.Contains(page, "Raters</h2>"); shown != r.Modelled || strings.Contains(page, ">bob<") {
			t.Errorf("raters %s: the page shows raters: %v, names: %v", how, shown, strings.Contains(page, ">bob<"))
		}
		alone, err := ratersAt(folder.Path(ModelFile))
		switch {
		case how == "off" && !errors.Is(err, ErrNoRaters):
			t.Errorf("a model that knows no raters: error %v", err)
		case how == "on" && (err != nil || len(alone.Raters) != 3 || alone.Raters[0].Agreement.Known() || alone.Class != d.Learn.Classes[1]):
			t.Errorf("a model file: %+v, %v", alone, err)
		}
		if err := os.WriteFile(folder.Path(RatersFile), []byte("{"), 0o666); err != nil {
			t.Fatal(err)
		}
		if _, err := ratersAt(string(folder)); err == nil || !strings.Contains(err.Error(), RatersFile) {
			t.Errorf("a damaged file: error %v", err)
		}
	}
}

// Pseudonyms replace names on the page, and leave the names of the run alone.
func TestShowRaters(t *testing.T) {
	d, err := Divide(rated(60), 0, 0, 1)
	if err != nil {
		t.Fatal(err)
	}
	folder := Folder(filepath.Join(t.TempDir(), "run"))
	fit := quick()
	fit.Raters = "on"
	trained(t, folder, d, Options{Fit: fit})
	r, err := ratersAt(string(folder))
	if err != nil {
		t.Fatal(err)
	}
	var page report.Input
	ShowRaters(&page, r, true)
	if name := page.Raters.Raters[1].Name; !strings.HasPrefix(name, "R-") {
		t.Errorf("rater %q", name)
	}
	if r.Raters[1].Name != "bob" || r.Pseudonymous {
		t.Error("the names are gone for good")
	}
	ShowRaters(&page, r, false)
	if page.Raters.Raters[1].Name != "bob" || page.Raters.Pseudonymous {
		t.Errorf("by name: %+v", page.Raters.Raters[1])
	}
	ShowRaters(&page, nil, true)
}
