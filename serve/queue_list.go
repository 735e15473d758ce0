package serve

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"credence/internal/votelog"
	"credence/internal/words"
)

// listInput has the filters of a list of items.
type listInput struct {
	Rater    string   `query:"rater" maxLength:"1024" doc:"name of the rater: votes of others on an item are hidden until the rater has voted on it; without a name everything is shown"`
	Class    string   `query:"class" doc:"class of the probability and width; default the second of two classes, otherwise the predicted class"`
	MinMean  float64  `query:"min_mean"`
	MaxMean  float64  `query:"max_mean" default:"1"`
	MinWidth float64  `query:"min_width" doc:"minimum width of the interval"`
	MaxWidth float64  `query:"max_width" default:"1"`
	MinTop   float64  `query:"min_top" doc:"minimum probability that the predicted class is the top class"`
	MaxTop   float64  `query:"max_top" default:"1"`
	Predict  string   `query:"predicted" doc:"the predicted class"`
	Group    []string `query:"group,explode" doc:"COLUMN:VALUE; several values of a column are alternatives"`
	Contains string   `query:"contains" maxLength:"1024" doc:"part of the id or of a text, case-insensitive"`
	Order    string   `query:"order" enum:"value,input,width,mean" default:"value" doc:"value is the value of a vote, largest first"`
	From     int      `query:"from" minimum:"0" doc:"number of items to skip"`
	Limit    int      `query:"limit" minimum:"1" maximum:"10000" default:"100"`
}

// listedItem is an item of a list.
type listedItem struct {
	Item      string   `json:"item"`
	Rank      int      `json:"rank" doc:"rank among all items by the value of a vote"`
	Predicted string   `json:"predicted"`
	Class     string   `json:"class"`
	Mean      float64  `json:"mean"`
	Lower     float64  `json:"lower"`
	Upper     float64  `json:"upper"`
	Top       float64  `json:"p_top"`
	Gain      float64  `json:"next_gain"`
	Variance  float64  `json:"variance"`
	Votes     *float64 `json:"votes,omitempty" doc:"number of votes, unless hidden"`
	Said      bool     `json:"said,omitempty" doc:"the rater has voted or is undecided"`
}

type itemListBody struct {
	Total int          `json:"total" doc:"items that pass the filters"`
	Items []listedItem `json:"items"`
	Next  int          `json:"next,omitempty" doc:"value of from for the next page, if there are more"`
}

func (p *rankedItems) list(ctx context.Context, in *listInput) (*itemListBody, error) {
	groups, err := p.groupsOf(in.Group)
	if err != nil {
		return nil, err
	}
	for _, name := range []string{in.Class, in.Predict} {
		if _, err := p.focus(name, 0); err != nil {
			return nil, err
		}
	}
	var list []int
	for k, i := range p.order {
		if err := stopped(ctx, k); err != nil {
			return nil, err
		}
		if p.passes(in, groups, i) {
			list = append(list, i)
		}
	}
	if err := p.arrange(ctx, list, in); err != nil {
		return nil, err
	}
	out := &itemListBody{Total: len(list), Items: []listedItem{}}
	from := min(in.From, len(list))
	to := min(from+in.Limit, len(list))
	for _, i := range list[from:to] {
		out.Items = append(out.Items, p.listed(i, in.Rater, in.Class))
	}
	if to < len(list) {
		out.Next = to
	}
	return out, nil
}

// groupsOf parses filters of the form COLUMN:VALUE. It returns the codes that pass for each facet, nil for all.
func (p *rankedItems) groupsOf(filters []string) ([][]int, error) {
	groups := make([][]int, len(p.facets))
	names := words.Each(p.facets, func(f facet) string { return f.Name })
	for _, text := range filters {
		at := slices.IndexFunc(p.facets, func(f facet) bool { return strings.HasPrefix(text, f.Name+":") })
		if at < 0 {
			return nil, badRequest("group %q: expected COLUMN:VALUE with a column of [%s]", text, words.Few(names))
		}
		f := p.facets[at]
		code := slices.Index(f.Levels, strings.TrimPrefix(text, f.Name+":"))
		if code < 0 {
			return nil, badRequest("group %q: expected %s to be one of [%s]", text, f.Name, words.Few(f.Levels))
		}
		groups[at] = append(groups[at], code)
	}
	return groups, nil
}

// passes reports whether item i passes all filters.
func (p *rankedItems) passes(in *listInput, groups [][]int, i int) bool {
	n, c := p.focused(i, in.Rater, in.Class)
	width, top := n.upper[c]-n.lower[c], n.top[n.predicted]
	switch {
	case n.mean[c] < in.MinMean, n.mean[c] > in.MaxMean, width < in.MinWidth, width > in.MaxWidth, top < in.MinTop, top > in.MaxTop,
		in.Predict != "" && p.of.model.Classes[n.predicted] != in.Predict,
		in.Contains != "" && !p.contains(i, strings.ToLower(in.Contains)):
		return false
	}
	for k, codes := range groups {
		if codes != nil && !slices.Contains(codes, p.facets[k].Codes[i]) {
			return false
		}
	}
	return true
}

// arrange sorts a list that is ordered by the value of a vote into the requested order.
func (p *rankedItems) arrange(ctx context.Context, list []int, in *listInput) error {
	by := func(of func(n *numbers, c int) float64) error {
		keys := make([]float64, len(p.ids))
		for k, i := range list {
			if err := stopped(ctx, k); err != nil {
				return err
			}
			keys[i] = of(p.focused(i, in.Rater, in.Class))
		}
		slices.SortStableFunc(list, func(a, b int) int { return cmp.Compare(keys[b], keys[a]) })
		return nil
	}
	switch in.Order {
	case "input":
		slices.Sort(list)
	case "width":
		return by(func(n *numbers, c int) float64 { return n.upper[c] - n.lower[c] })
	case "mean":
		return by(func(n *numbers, c int) float64 { return n.mean[c] })
	}
	return nil
}

// listed returns item i as a rater may see it.
func (p *rankedItems) listed(i int, rater, class string) listedItem {
	n, c := p.focused(i, rater, class)
	x := listedItem{Item: p.ids[i], Rank: p.rank[i] + 1, Predicted: p.of.model.Classes[n.predicted], Class: p.of.model.Classes[c],
		Mean: n.mean[c], Lower: n.lower[c], Upper: n.upper[c], Top: n.top[n.predicted], Gain: p.now[i].gain, Variance: n.variance}
	_, x.Said = p.ballots.own(i, rater)
	if agree, total := p.agreement(i, c, rater); agree != 4 {
		x.Votes = &total
	}
	return x
}

type queueInput struct {
	Rater string `query:"rater" required:"true" minLength:"1" maxLength:"1024" doc:"name of the rater"`
	From  int    `query:"from" minimum:"0" doc:"number of items to skip"`
	Limit int    `query:"limit" minimum:"1" maximum:"1000" default:"10"`
}

// queueProgress is the progress of voting.
type queueProgress struct {
	Own      int     `json:"own" doc:"items that the rater has voted on or marked as undecided"`
	Left     int     `json:"left" doc:"items in the rater's queue"`
	Votes    int     `json:"votes" doc:"current votes of all raters in the vote file"`
	Raters   int     `json:"raters" doc:"number of raters with current votes"`
	Items    int     `json:"items" doc:"items with a prediction"`
	First    float64 `json:"variance_first" doc:"sum of the variances of all items when the server started"`
	Variance float64 `json:"variance" doc:"current sum of the variances of all items"`
	Next     float64 `json:"next_gain" doc:"expected reduction in variance by the next vote"`
	Takes    bool    `json:"takes_votes" doc:"whether the server accepts votes"`
}

type queueBody struct {
	Items    []listedItem  `json:"items"`
	Progress queueProgress `json:"progress"`
	Version  int           `json:"version"`
}

func (p *rankedItems) raterQueue(ctx context.Context, in *queueInput) (*queueBody, error) {
	list, left, err := p.forRater(ctx, in.Rater, in.From, in.Limit)
	if err != nil {
		return nil, err
	}
	out := &queueBody{Items: []listedItem{}, Progress: p.progress(in.Rater), Version: p.queue.version}
	if len(list) > 0 && in.From == 0 && p.queue.options.PerItem > 0 {
		p.queue.reserve(in.Rater, p.ids[list[0]])
	}
	for _, i := range list {
		out.Items = append(out.Items, p.listed(i, in.Rater, ""))
	}
	out.Progress.Left, out.Progress.Takes = left, p.queue.server.votes != nil
	if len(list) > 0 {
		out.Progress.Next = p.now[list[0]].gain
	}
	return out, nil
}

// progress returns the progress of voting, apart from the rater's queue.
func (p *rankedItems) progress(rater string) queueProgress {
	g := queueProgress{Items: len(p.order), First: p.first, Variance: p.variance}
	raters := map[string]bool{}
	for _, marks := range p.ballots.marks {
		for _, m := range marks {
			if m.class >= 0 {
				g.Votes++
				raters[m.rater] = true
			}
			if m.rater == rater {
				g.Own++
			}
		}
	}
	g.Raters = len(raters)
	return g
}

type skipInput struct {
	Body struct {
		Item  string `json:"item" minLength:"1" maxLength:"1024"`
		Rater string `json:"rater" minLength:"1" maxLength:"1024"`
	}
}

type undoInput struct {
	Item  string `query:"item" required:"true" minLength:"1" maxLength:"1024"`
	Rater string `query:"rater" required:"true" minLength:"1" maxLength:"1024"`
	Key   string `query:"key" maxLength:"128" doc:"idempotency key: a request that is sent again with the same key counts once"`
}

type savedBody struct {
	Saved bool `json:"saved" doc:"true: the change is on disk"`
}

func (s *Server) undoVote(ctx context.Context, in *undoInput) (savedBody, error) {
	if err := checkKey(in.Key); err != nil {
		return savedBody{}, err
	}
	return savedBody{true}, s.addVote(votelog.Vote{Item: in.Item, Rater: in.Rater, Key: in.Key, Time: time.Now()})
}

type progressBody struct {
	Ready   bool   `json:"ready"`
	Done    int    `json:"done" doc:"items predicted"`
	Total   int    `json:"total" doc:"number of items; 0 if unknown"`
	Version int    `json:"version" doc:"incremented with every change"`
	Error   string `json:"error,omitempty" doc:"why there are no items"`
	Takes   bool   `json:"takes_votes"`
}

func (s *Server) itemsProgress(ctx context.Context, _ *struct{}) (*progressBody, error) {
	q := s.queue
	if q == nil {
		return nil, errNoItems
	}
	q.renew()
	q.mu.RLock()
	defer q.mu.RUnlock()
	b := &progressBody{Ready: q.items != nil, Done: int(q.done.Load()), Total: int(q.total.Load()), Version: q.version, Takes: s.votes != nil}
	if q.failed != nil {
		b.Error = q.failed.Error()
	}
	return b, nil
}
