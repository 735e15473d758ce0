package evaluate

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"credence/dataset"
	"credence/internal/words"
)

// RaterGroup is a set of raters who share items with each other, directly or through others,
// and with no other raters.
type RaterGroup struct {
	Raters int      `json:"raters"`
	Names  []string `json:"names"` // the first of them
	Items  int      `json:"items"`
	Votes  int      `json:"votes"`
	// Modelled reports whether training may model the raters: see [RaterGraph.Group].
	Modelled bool `json:"modelled"`
}

// raterGroups is a union-find structure that joins raters who share an item.
type raterGroups []int32

// root returns the representative of the group of r.
func (c raterGroups) root(r int32) int32 {
	for c[r] != r {
		c[r] = c[c[r]]
		r = c[r]
	}
	return r
}

// join merges two groups; the representative is the rater with the smallest number.
func (c raterGroups) join(a, b int32) {
	a, b = c.root(a), c.root(b)
	c[max(a, b)] = min(a, b)
}

// LeftRaters are raters that training does not model because shared items connect them with too few
// others: their votes count as those of average raters.
type LeftRaters struct {
	Raters int          `json:"raters"`
	Votes  int          `json:"votes"`
	First  []RaterVotes `json:"first"` // the first of them
}

// RaterVotes is the number of votes that a rater cast.
type RaterVotes struct {
	Name  string `json:"rater"`
	Votes int    `json:"votes"`
}

// String returns a sentence on how many raters are not modelled, and why, without their names.
func (l *LeftRaters) String() string {
	return fmt.Sprintf("%s by %s treated as cast by an average rater: no shared items connect them with the other raters, "+
		"and a separate group is modelled only if it has at least two raters with %d votes each on average",
		words.Plural(l.Votes, "vote"), words.Plural(l.Raters, "rater"), EnoughVotes)
}

// Names lists the first of the raters with their votes.
func (l *LeftRaters) Names() string {
	return firstOf(words.Each(l.First, func(x RaterVotes) string {
		return fmt.Sprintf("%q (%s)", x.Name, words.Plural(x.Votes, "vote"))
	}), l.Raters)
}

// firstOf joins the first of a number of names.
func firstOf(names []string, all int) string {
	text := strings.Join(names, ", ")
	if more := all - len(names); more > 0 {
		text += fmt.Sprintf(" and %s more", words.Thousands(more))
	}
	return text
}

// Group returns the number, from 0, of the connected group in which training models rater r, or −1 if
// the votes of r count as those of an average rater.
//
// Votes compare raters on the items that they share, so a group that shares none with the others is
// modelled by itself, if it meets the requirement for all raters: two or more, with [EnoughVotes] on
// average. Within a group the mean bias is 0; differences between groups are attributed to the
// features. If such groups have less than half of the votes, no rater is modelled, since their average
// rater would represent a majority that may be different. In that case, and if r did not vote, Group
// returns 0.
func (g *RaterGraph) Group(r int) int {
	if g.group == nil {
		return 0
	}
	return int(g.group[r])
}

// ModelledGroups returns the number of connected groups of raters that are modelled.
func (g *RaterGraph) ModelledGroups() int { return g.groups }

// findGroups fills in the connected components of the graph.
func (g *RaterGraph) findGroups(ds *dataset.Dataset) {
	joined := make(raterGroups, len(g.cast))
	for r := range joined {
		joined[r] = int32(r)
	}
	first := make([]int32, ds.Len()) // the first rater of each item, plus one
	for _, r := range ds.Ratings {
		if first[r.Item] == 0 {
			first[r.Item] = r.Rater + 1
		} else {
			joined.join(first[r.Item]-1, r.Rater)
		}
	}
	at := map[int32]int{}
	group := make([]int32, len(g.cast)) // index in list of the group of each rater who voted
	var list []RaterGroup
	for r, n := range g.cast {
		if n == 0 {
			continue
		}
		root := joined.root(int32(r))
		k, ok := at[root]
		if !ok {
			k = len(list)
			at[root] = k
			list = append(list, RaterGroup{})
		}
		group[r] = int32(k)
		list[k].Raters++
		list[k].Votes += n
		if len(list[k].Names) < listed {
			list[k].Names = append(list[k].Names, raterName(ds.Raters, r))
		}
	}
	for _, r := range first {
		if r > 0 {
			list[at[joined.root(r-1)]].Items++
		}
	}
	g.choose(ds, group, list)
	slices.SortStableFunc(list, func(a, b RaterGroup) int { return cmp.Compare(b.Raters, a.Raters) })
	g.Components = len(list)
	g.Groups = append(g.Groups, list[:min(listed, len(list))]...)
}

// choose selects the groups that are large enough to be modelled; see Group. group is the index in list
// of the group of each rater who voted.
func (g *RaterGraph) choose(ds *dataset.Dataset, group []int32, list []RaterGroup) {
	votes, raters, groups := 0, 0, 0                // of large groups
	number := slices.Repeat([]int32{-1}, len(list)) // index among them
	for k, c := range list {
		if c.Raters >= 2 && c.Votes >= EnoughVotes*c.Raters {
			number[k] = int32(groups)
			votes, raters, groups = votes+c.Votes, raters+c.Raters, groups+1
		}
	}
	if votes == 0 || 2*votes < g.Votes {
		return
	}
	g.Modelled, g.groups = raters, groups
	for k := range list {
		list[k].Modelled = number[k] >= 0
	}
	g.group = make([]int32, len(g.cast))
	left := &LeftRaters{Raters: g.Raters - g.Modelled, Votes: g.Votes - votes}
	for r, n := range g.cast {
		if n == 0 {
			continue
		}
		if g.group[r] = number[group[r]]; g.group[r] < 0 && len(left.First) < listed {
			left.First = append(left.First, RaterVotes{raterName(ds.Raters, r), n})
		}
	}
	if left.Raters > 0 {
		g.Left = left
	}
}

// nameGroups names the two largest groups by a few of their raters, considering modelled groups only if any are.
func (g *RaterGraph) nameGroups() string {
	var list []string
	for _, c := range g.Groups {
		if len(list) == 2 || g.Modelled > 0 && !c.Modelled {
			continue
		}
		list = append(list, "{"+firstOf(c.Names[:min(3, len(c.Names))], c.Raters)+"}")
	}
	return strings.Join(list, " and ")
}
