package run

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"

	"credence/evaluate"
	"credence/model"
	"credence/report"
)

// DefaultPseudonyms is the seed of the pseudonyms in reports; see [evaluate.Pseudonyms].
const DefaultPseudonyms = 0

// mostRaters bounds how many raters raters.json tells of.
const mostRaters = 100_000

// ErrNoRaters is the reason when nothing is known of the raters of a run.
var ErrNoRaters = errors.New("nothing is known of its raters")

// writeRaters writes raters.json, where votes name raters.
func (t *Trained) writeRaters(folder Folder, d *Division) error {
	if len(d.Learn.Ratings) == 0 || len(d.Learn.Raters) > mostRaters {
		return nil
	}
	t.raters = evaluate.DescribeRaters(d.Learn, t.Model.Crowd, t.Model.Raters)
	if p := t.Model.Provenance.Raters; p != nil {
		t.raters.Reason = p.Reason.String()
	}
	return folder.writeJSON(RatersFile, " ", t.raters)
}

// ShowRaters has a page show the raters, where they are modelled: under pseudonyms or under their
// names. The warnings of a model name no raters.
func ShowRaters(page *report.Input, r *evaluate.RaterReport, pseudonyms bool) {
	if r == nil {
		return
	}
	shown := *r
	shown.Raters = slices.Clone(r.Raters)
	if pseudonyms {
		shown.UsePseudonyms(DefaultPseudonyms)
	}
	if shown.Modelled {
		page.Raters = &shown
	}
}

// Raters returns what is known of the raters that the run or the model file at path was trained
// on: of a run also how they vote compared with others, of a model file by itself only what it
// learned. If neither tells of any, the error is ErrNoRaters.
func Raters(path string) (*evaluate.RaterReport, error) {
	m, err := Load(path)
	if err != nil {
		return nil, err
	}
	return RatersOf(m, path)
}

// RatersOf is [Raters] for a model that was loaded from path.
func RatersOf(m *model.Model, path string) (*evaluate.RaterReport, error) {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		file := Folder(path).Path(RatersFile)
		text, err := os.ReadFile(file)
		if err == nil {
			r := &evaluate.RaterReport{}
			if err := json.Unmarshal(text, r); err != nil {
				return nil, fmt.Errorf("reading %s: %w", file, err)
			}
			r.MarkAlike()
			return r, nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	if m.Crowd == nil {
		return nil, fmt.Errorf("%s: %w", path, ErrNoRaters)
	}
	r := evaluate.DescribeRaters(nil, m.Crowd, m.Raters)
	if len(m.Crowd.Lean) > 0 {
		r.Class = m.Classes[1]
	}
	if p := m.Provenance.Raters; p != nil {
		r.Reason = p.Reason.String()
		if p.Left != nil {
			for _, x := range p.Left.First {
				r.AddAverage(x.Name, x.Votes)
			}
		}
	}
	r.MarkAlike()
	return r, nil
}
