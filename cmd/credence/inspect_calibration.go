package main

import (
	"fmt"
	"strings"

	"credence/calibrate"
	"credence/evaluate"
	"credence/internal/printout"
	"credence/internal/words"
)

// calibrationText describes how intervals are calibrated.
func calibrationText(c *calibrate.Calibration, classes []string) string {
	text := "variances as the networks predict them"
	if c.Items > 0 {
		ratio := evaluate.NotNegative(evaluate.Estimate{Value: evaluate.Number(c.Ratio), SE: evaluate.Number(c.RatioSE)})
		text = fmt.Sprintf("variances times %.2f: the squared error is %s times the predicted\nvariance, by pairs of votes on %s",
			c.Scale, inside(ratio, 2), words.Plural(c.Items, "held-out item"))
		if len(classes) > 2 && len(c.Classes) == len(classes) { // two classes share one ratio
			var list []string
			for i, name := range classes {
				list = append(list, fmt.Sprintf("%s %.2f", printout.Ellipsis(name, 20), c.Classes[i]))
			}
			text += "\nby class: " + strings.Join(list, ", ")
		}
		for _, step := range []struct {
			taken bool
			text  string
		}{
			{c.Within > 0 && c.Within < 1, fmt.Sprintf("single networks: %s; %.0f%% of the variance of the ensemble is within networks",
				inside(evaluate.NotNegative(evaluate.Estimate{Value: evaluate.Number(c.Network), SE: evaluate.Number(c.NetworkSE)}), 2), 100*c.Within)},
			{c.Trust > 0 && c.Trust < 1, fmt.Sprintf("the likelihood of the votes supports %.0f%% of the change", 100*c.Trust)},
			{c.ScaleSE > 0, fmt.Sprintf("distributions are averaged over the scale, whose standard error is %.2f", c.ScaleSE)},
			{c.Place != nil, "the scale depends on the features and the predicted spread of an item"},
			{c.Groups != nil, groupsText(c.Groups)},
			{c.Raters != nil, populationText(c.Raters)},
			{c.Leak, "not narrowed: the features seem to contain the votes"},
			{c.Uncertain(), "uncertain: these votes hardly determine the width of intervals"},
		} {
			if step.taken {
				text += "\n" + step.text
			}
		}
	}
	if c.Resolution == 0 {
		return text + "\ninterval ends are not moved to 0 or 1"
	}
	return fmt.Sprintf("%s\nends within %.2g of 0 or 1 are moved there, and their tail to the other end", text, c.Resolution)
}

// populationText describes whose mean intervals are for.
func populationText(r *calibrate.Raters) string {
	switch {
	case r == nil:
		return ""
	case r.Effective == 0:
		return "for the mean of all raters: votes have no names, and are taken for those of many raters"
	}
	whom := "these raters"
	if r.Population == calibrate.LikeThese {
		whom = "raters like these"
	}
	text := fmt.Sprintf("for the mean of %s (effective number %.1f)", whom, r.Effective)
	switch {
	case !r.Few():
		return text + ", who are many: these and like-these are nearly the same"
	case r.Spread > 0 && r.Population == calibrate.LikeThese:
		return text + fmt.Sprintf(": that others could have voted adds %.2f of the predicted variance", r.Spread)
	case r.Spread > 0:
		return text + fmt.Sprintf(", who differ; raters like these: %.2f of the predicted variance more", r.Spread)
	}
	return text
}

// shownGroups is the number of groups that are listed.
const shownGroups = 20

// groupsText describes the calibration by group.
func groupsText(g *calibrate.Groups) string {
	if g == nil {
		return ""
	}
	text := fmt.Sprintf("by %s: groups do not differ beyond chance (p = %.2g), one scale for all", g.Feature, g.P)
	if g.Differ() {
		text = fmt.Sprintf("by %s, whose groups differ (p = %.2g); an unknown group has the scale of all items", g.Feature, g.P)
	}
	for k, x := range g.Levels {
		if k == shownGroups {
			return text + fmt.Sprintf("\n  and %d more", len(g.Levels)-k)
		}
		of := fmt.Sprintf("ratio %.2f ± %.2f, scale times %.2f", x.Ratio, x.SE, x.Factor)
		if x.TooFew {
			of = "too few votes, the scale of all items"
		}
		text += fmt.Sprintf("\n  %s: %s (%s)", printout.Ellipsis(x.Level, 30), of, words.Plural(x.Items, "item"))
	}
	return text
}
