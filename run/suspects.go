package run

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"

	"credence/evaluate"
	"credence/head"
	"credence/report"
	"credence/train"
)

// ErrNoSuspects is the error for a run without a list of suspect votes: of an earlier version, or of a method without
// distributions.
var ErrNoSuspects = errors.New("its training recorded no list of suspect votes")

// Bounds on the suspect votes in suspects.json: a share of all votes, and numbers.
const (
	suspectShare = 0.1
	fewSuspects  = 100
	mostSuspects = 10_000
)

// ShownSuspects is the number of suspect votes on a page.
const ShownSuspects = 10

// writeSuspects writes suspects.json: the votes that networks which were not trained on them find most improbable.
func (t *Trained) writeSuspects(ctx context.Context, folder Folder, d *Partition) error {
	var items []int
	var decoded []head.Decoded
	votes := 0.0
	for j, p := range t.OutOfFold {
		if p != nil {
			items, decoded = append(items, j), append(decoded, *p)
			votes += d.Learn.VotesOf(j)
		}
	}
	if len(items) == 0 || !t.Model.Traits().Joint {
		return nil
	}
	held := d.Learn.Select(items)
	in, err := newInput(t.Model, held, decoded)
	if err != nil {
		return err
	}
	most := min(max(int(suspectShare*votes), fewSuspects), mostSuspects)
	if t.suspects, err = evaluate.Suspects(ctx, in, held, most); err != nil {
		if ctx.Err() != nil {
			os.Remove(folder.Path(suspectFile)) // of an earlier state of the run
			os.Remove(folder.Path(ReportFile))
			return fmt.Errorf("%w: the model is written, its report is not", train.ErrStopped)
		}
		return err
	}
	return folder.writeJSON(suspectFile, " ", t.suspects)
}

// Suspects returns the most improbable votes that a run was trained on. If there is no list, the error is
// ErrNoSuspects.
func (f Folder) Suspects() (*evaluate.SuspectReport, error) {
	path := f.Path(suspectFile)
	text, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("%s: %w", f, ErrNoSuspects)
	}
	if err != nil {
		return nil, err
	}
	r := &evaluate.SuspectReport{}
	if err := json.Unmarshal(text, r); err != nil {
		return nil, fmt.Errorf("reading %s: %w", path, cause(err))
	}
	return r, nil
}

// ShowSuspects adds the first suspect votes to a page, their raters under pseudonyms or under their names.
func ShowSuspects(page *report.Input, r *evaluate.SuspectReport, pseudonyms bool) {
	if r == nil || len(r.Suspects) == 0 {
		return
	}
	shown := &evaluate.SuspectReport{Votes: r.Votes, Suspects: slices.Clone(r.Suspects[:min(len(r.Suspects), ShownSuspects)])}
	if pseudonyms {
		shown.UsePseudonyms(DefaultPseudonyms)
	}
	page.Suspects = shown
}
