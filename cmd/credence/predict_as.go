package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"credence/internal/words"
	"credence/model"
	"credence/predict"
)

// checkAs checks the flags of predictions for a rater.
func (o *predictOptions) checkAs(f *pflag.FlagSet) error {
	average := func(field string) bool {
		return slices.Contains([]string{"weights", "alpha", "item_weights", "item_alpha", "next_gain"}, field)
	}
	other := firstChanged(f, "full", "next")
	return cmp.Or(
		expect(!f.Changed("as") || o.who != "", "--as: expected the name of a rater"),
		expect(o.raters == "" || o.who != "", "--rater-data: expected --as with it, the rater or group to predict"),
		expect(o.who == "" || other == "", "--as and --%s exclude each other: mixtures and gains are those of an average rater", other),
		expect(o.who == "" || !slices.ContainsFunc(o.format.Fields, average), "--as and --only %s exclude each other: mixtures and gains are those of an average rater",
			strings.Join(o.format.Fields, ",")))
}

// as returns the rater whose votes are predicted, nil without --as, and reports what is known about the rater.
func (o *predictOptions) as(ctx context.Context, cmd *cobra.Command, m *model.Model) (*predict.As, error) {
	if o.who == "" {
		return nil, nil
	}
	var data *predict.RaterData
	if o.raters != "" {
		var err error
		if data, err = predict.ReadRaterData(ctx, o.raters); err != nil {
			return nil, err
		}
	}
	if data != nil && len(data.LeftOut) > 0 {
		fmt.Fprintf(cmd.ErrOrStderr(), "credence: warning: %s: columns with more than 20 different texts are no features: %s\n", o.raters, words.Few(data.LeftOut))
	}
	as, err := predict.NewAs(m, o.who, data)
	if errors.Is(err, predict.ErrNoRaterModel) {
		return nil, withHint(fmt.Errorf("--as %s: %w", o.who, err), "train on votes that name their raters, with --raters on")
	}
	if err != nil {
		return nil, fmt.Errorf("--as: %w", err)
	}
	fmt.Fprintf(cmd.ErrOrStderr(), "credence: %s\n", as.About)
	return as, nil
}

// given returns a list of the file, empty if there is none.
func given(file string) []string {
	if file == "" {
		return nil
	}
	return []string{file}
}
