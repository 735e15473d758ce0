package main

import (
	"fmt"
	"slices"
	"strings"

	"credence/internal/printout"
	"credence/internal/words"
)

// treesText describes the trees of the model, or why it has none.
func (c modelCard) treesText() string {
	t := c.Trees
	if t.Share == 0 {
		return "none: " + t.Reason.String()
	}
	least, most := slices.Min(t.Trees), slices.Max(t.Trees)
	count := fmt.Sprintf("%d to %d trees", least, most)
	if least == most {
		count = words.Plural(least, "tree")
	}
	text := fmt.Sprintf("%.0f%% of each member: a forest of %s\n%s", 100*t.Share, count, t.Reason)
	var list []string
	for _, i := range c.TreeGains[:min(5, len(c.TreeGains))] {
		list = append(list, fmt.Sprintf("%s %.0f%%", printout.Ellipsis(i.Column, 24), 100*i.Share))
	}
	if list != nil {
		text += "\ngain of splits: " + strings.Join(list, ", ")
	}
	return text
}
