package main

import (
	"slices"

	"github.com/spf13/pflag"

	"credence/mixture"
)

// checkPoint checks the flags of the column point.
func (o *predictOptions) checkPoint(f *pflag.FlagSet) error {
	point := o.score != ""
	_, err := mixture.ParseScore(o.score)
	switch {
	case point && err != nil:
		return usagef("--point: %w", err)
	case !point && f.Changed("point"):
		return usagef("--point: %w", err)
	case !point && f.Changed("votes-expected"):
		return usagef("--votes-expected: expected --point with it, the score to optimize")
	case !point && slices.Contains(o.format.Fields, "point"):
		return usagef("--only point: expected --point with it, the score to optimize")
	}
	return expect(o.expected >= 0 || !f.Changed("votes-expected"), "--votes-expected %d: expected a number of votes, 0 for the probabilities themselves", o.expected)
}
