package evaluate

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"credence/dataset"
	"credence/internal/words"
)

// RaterGroup is a number of raters who share items with each other, directly or by way of others,
// and with nobody else.
type RaterGroup struct {
	Raters int      `json:"raters"`
	Names  []string `json:"names"` // the first of them
	Items  int      `json:"items"`
	Votes  int      `json:"votes"`
	// Modelled is whether training may model the raters: see [RaterGraph.Group].
	Modelled bool `json:"modelled"`
}

// raterGroups joins raters who share an item, by union-find.
type raterGroups []int32

// root returns the rater who stands for r's camp.
func (c raterGroups) root(r int32) int32 {
	for c[r] != r {
		c[r] = c[c[r]]
		r = c[r]
	}
	return r
}

// join makes one camp of two; the rater of smallest number stands for it.
func (c raterGroups) join(a, b int32) {
	a, b = c.root(a), c.root(b)
	c[max(a, b)] = min(a, b)
}

// LeftRaters are raters whom training does not model because items connect them with too few others:
// their votes count as those of average raters.
type LeftRaters struct {
	Raters int          `json:"raters"`
	Votes  int          `json:"votes"`
	First  []RaterVotes `json:"first"` // the first of them
}

// RaterVotes is how many votes a rater cast.
type RaterVotes struct {
	Name  string `json:"rater"`
	Votes int    `json:"votes"`
}

// String reports how many raters are not modelled, and why, without their names.
func (l *LeftRaters) String() string {
	whom, verb := "this rater", "counts"
	if l.Votes != 1 {
		verb = "count"
	}
	if l.Raters > 1 {
		whom = "these raters"
	}
	return fmt.Sprintf("%s by %s %s as cast by an average rater: no shared items connect %s with the others, "+
		"and a separate group is modelled only from two raters with %d votes each on average",
		words.Plural(l.Votes, "vote"), words.Plural(l.Raters, "rater"), verb, whom, EnoughVotes)
}

// Names lists the first of the raters with their votes.
func (l *LeftRaters) Names() string {
	var list []string
	for _, x := range l.First {
		list = append(list, fmt.Sprintf("%q (%s)", x.Name, words.Plural(x.Votes, "vote")))
	}
	text := strings.Join(list, ", ")
	if more := l.Raters - len(l.First); more > 0 {
		text += fmt.Sprintf(" and %s more", words.Thousands(more))
	}
	return text
}

// Group returns the number of the group of connected raters that training models rater r in, from 0,
// or −1 if the votes of r count as those of an average rater.
//
// Votes compare raters on the items that they share, so a group that shares none with the others is
// modelled by itself, if it is large enough by what is asked of all raters: two or more, with
// [EnoughVotes] on average. Within it the mean bias is 0; what sets groups apart, raters or items,
// is left to the features. If such groups hold less than half of the votes nobody is modelled, since
// their average rater would stand for a majority that is not like them for all that is known. Then,
// and if r did not vote, Group returns 0.
func (g *RaterGraph) Group(r int) int {
	if g.group == nil {
		return 0
	}
	return int(g.group[r])
}

// ModelledGroups returns the number of connected groups of raters that are modelled.
func (g *RaterGraph) ModelledGroups() int { return g.groups }

// findGroups finds the connected parts of the graph.
func (g *RaterGraph) findGroups(ds *dataset.Dataset) {
	of := make(raterGroups, len(g.cast))
	for r := range of {
		of[r] = int32(r)
	}
	first := make([]int32, ds.Len()) // the first rater of each item, plus one
	for _, r := range ds.Ratings {
		if first[r.Item] == 0 {
			first[r.Item] = r.Rater + 1
		} else {
			of.join(first[r.Item]-1, r.Rater)
		}
	}
	at := map[int32]int{}
	camp := make([]int32, len(g.cast)) // of each rater who voted
	var list []RaterGroup
	for r, n := range g.cast {
		if n == 0 {
			continue
		}
		root := of.root(int32(r))
		k, ok := at[root]
		if !ok {
			k = len(list)
			at[root] = k
			list = append(list, RaterGroup{})
		}
		camp[r] = int32(k)
		list[k].Raters++
		list[k].Votes += n
		if len(list[k].Names) < listed {
			list[k].Names = append(list[k].Names, raterName(ds.Raters, r))
		}
	}
	for _, r := range first {
		if r > 0 {
			list[at[of.root(r-1)]].Items++
		}
	}
	g.choose(ds, camp, list)
	slices.SortStableFunc(list, func(a, b RaterGroup) int { return cmp.Compare(b.Raters, a.Raters) })
	g.Components = len(list)
	g.Groups = append(g.Groups, list[:min(listed, len(list))]...)
}

// choose finds the camps that are large enough to be modelled; see Group. camp is that of each rater
// who voted.
func (g *RaterGraph) choose(ds *dataset.Dataset, camp []int32, list []RaterGroup) {
	large := func(c RaterGroup) bool { return c.Raters >= 2 && c.Votes >= EnoughVotes*c.Raters }
	votes := 0
	for _, c := range list {
		if large(c) {
			votes += c.Votes
		}
	}
	if votes == 0 || 2*votes < g.Votes {
		return
	}
	number := make([]int32, len(list)) // among those that are modelled
	for k := range list {
		number[k] = -1
		if c := &list[k]; large(*c) {
			c.Modelled, number[k] = true, int32(g.groups)
			g.groups++
			g.Modelled += c.Raters
		}
	}
	g.group = make([]int32, len(g.cast))
	left := &LeftRaters{Raters: g.Raters - g.Modelled, Votes: g.Votes - votes}
	for r, n := range g.cast {
		if n == 0 {
			continue
		}
		if g.group[r] = number[camp[r]]; g.group[r] < 0 && len(left.First) < listed {
			left.First = append(left.First, RaterVotes{raterName(ds.Raters, r), n})
		}
	}
	if left.Raters > 0 {
		g.Left = left
	}
}

// nameGroups names the two largest camps by a few of their raters, of those that are modelled if any is.
func (g *RaterGraph) nameGroups() string {
	var list []string
	for _, c := range g.Groups {
		if len(list) == 2 || g.Modelled > 0 && !c.Modelled {
			continue
		}
		name := strings.Join(c.Names[:min(3, len(c.Names))], ", ")
		if more := c.Raters - min(3, len(c.Names)); more > 0 {
			name += fmt.Sprintf(" and %s more", words.Thousands(more))
		}
		list = append(list, "{"+name+"}")
	}
	return strings.Join(list, " and ")
}
