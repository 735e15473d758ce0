package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"credence/dataset"
	"credence/internal/words"
	"credence/model"
	"credence/run"
)

// inherit fills in what is left open from the configuration of the run to start from. Data
// that are given have votes of their own.
func (o *trainOptions) inherit() error {
	if o.From == "" {
		return nil
	}
	folder := run.FolderOf(o.From)
	if a, err := os.Stat(string(folder)); err == nil && o.out != "" {
		if b, err := os.Stat(string(o.out)); err == nil && os.SameFile(a, b) {
			return usagef("--from %s is the folder of --out: what training starts from would be replaced", o.From)
		}
	}
	if !folder.Has(run.ConfigFile) { // a model file by itself
		if _, err := run.Load(o.From); err != nil {
			return fmt.Errorf("--from: %w", err)
		}
		return nil
	}
	except := []string{"from", "epochs", "rate"}
	if o.Given("data") {
		except = append(except, "votes")
	}
	return o.File(folder.Path(run.ConfigFile), except...)
}

// begin opens the run to start from.
func (o *trainOptions) begin(ctx context.Context) error {
	if o.From == "" || o.beginning != nil {
		return nil
	}
	b, err := run.Begin(ctx, &o.Settings)
	if err != nil {
		return fmt.Errorf("--from: %w", err)
	}
	o.beginning = b
	return nil
}

// checkBegun refuses columns that the run to start from did not have, and adds to errors
// about its features or classes what can be done.
func (o *trainOptions) checkBegun(ds *dataset.Dataset, err error) error {
	switch {
	case o.beginning == nil:
		return err
	case errors.Is(err, dataset.ErrMissingFeature):
		return withHint(fmt.Errorf("--from %s: %w", o.From, err), "data to go on with need the features of the run; with others, train from the beginning, without --from")
	case err != nil && strings.Contains(err.Error(), "is not one of"):
		return withHint(fmt.Errorf("--from %s: %w", o.From, err), "a model with other classes has to be trained from the beginning, without --from")
	case err != nil:
		return err
	}
	var names []string
	for _, name := range o.beginning.NewColumns(ds) {
		if !slices.Contains(o.Load.FeatureOptions.Ignore, name) {
			names = append(names, listWord(name))
		}
	}
	if len(names) == 0 {
		return nil
	}
	return withHint(fmt.Errorf("--from %s: the run was trained without %s [%s]", o.From, plural(len(names), "column", "columns"), words.Few(names)),
		"leave out what is new with --ignore "+strings.Join(names, ",")+", or train from the beginning, without --from")
}

func plural(n int, one, more string) string {
	if n == 1 {
		return one
	}
	return more
}

// changes tells what changed since the model that training started from.
func changes(c *model.Origin) string {
	if !c.Known {
		return fmt.Sprintf("started from the model with sha256 %.12s…; its data are not at hand", c.Model)
	}
	votes := func(n float64) string { return words.Count(n) + " " + plural(int(min(n, 2)), "vote", "votes") }
	text := fmt.Sprintf("%s new, %s gone; %s added, %s removed", words.Plural(c.NewItems, "item"), words.Thousands(c.GoneItems), votes(c.AddedVotes), words.Count(c.RemovedVotes))
	if c.Items == 0 {
		return text + "; no held-out item tells what that changed"
	}
	text += fmt.Sprintf("\nnats per vote on %s that neither was trained on: %.4f before, %.4f now", words.Plural(c.Items, "item"), c.Before, c.After)
	if c.RatersBefore || c.RatersNow {
		how := map[bool]string{true: "modelled", false: "not modelled"}
		text += fmt.Sprintf("\n(each with what it knows of the raters: %s before, %s now)", how[c.RatersBefore], how[c.RatersNow])
	}
	return text
}
