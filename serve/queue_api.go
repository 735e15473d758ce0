package serve

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"credence/internal/words"
	"credence/predict"
)

// class returns the index of a class.
func (p *rankedItems) class(name string) (int, error) {
	i := slices.Index(p.of.model.Classes, name)
	if i < 0 {
		return 0, badRequest("class %q: expected one of [%s]", name, words.Few(p.of.model.Classes))
	}
	return i, nil
}

// apiQueue adds the routes for items, the queue and withdrawn votes.
func (s *Server) apiQueue(api huma.API) {
	registerBody(api, operation("items", "get-overview", "GET", "/overview", "Get a summary of the model, its verdicts, and what needs attention", ""), s.overview)
	registerBody(api, operation("items", "list-items", "GET", "/items", "List items, filtered and paged", ""), withItems(s, (*rankedItems).list))
	registerBody(api, operation("items", "get-item", "GET", "/item", "Get an item: features, distribution and votes so far", ""), withItems(s, (*rankedItems).see))
	registerBody(api, operation("items", "item-posterior", "POST", "/item/posterior",
		"Get the distribution of an item after hypothetical votes", "Nothing is stored. The votes are added to those that the rater may see."), withItems(s, (*rankedItems).whatIf))
	register(api, operation("items", "item-image", "GET", "/item/image", "Get an image of an item, or a slice of a volume, as PNG", ""), withItems(s, (*rankedItems).image))
	register(api, operation("items", "item-points", "GET", "/items/points", "Get the numbers of all items as columns",
		"For figures: values are rounded to five decimals. Each list has one value per item with a prediction."), s.itemPoints)
	registerBody(api, operation("items", "get-queue", "GET", "/queue", "List items by the value of a rater's vote",
		"Items with the largest expected reduction in variance come first, skipped items last. Items that the rater has voted on, here or in an earlier file, or marked as undecided are excluded; with --votes-per-item, also those that have their raters."),
		withItems(s, (*rankedItems).raterQueue))
	register(api, operation("items", "skip-item", "POST", "/queue/skip", "Skip an item",
		"The item moves to the end of the rater's queue. This is not a vote; it is stored in the vote file, if there is one."), s.queue.skip)
	registerBody(api, operation("items", "list-rater-names", "GET", "/queue/raters", "List the names of known raters, and find one that resembles a name", ""), withItems(s, (*rankedItems).raterNames))
	registerBody(api, operation("items", "get-instructions", "GET", "/queue/instructions", "Get the instructions for raters", ""), s.instructions)
	registerBody(api, operation("items", "search-items", "GET", "/items/search", "List the items whose id or text contains a string", ""), withItems(s, (*rankedItems).search))
	registerBody(api, operation("items", "item-words", "GET", "/item/words", "Get the words that moved the prediction of an item most",
		"Each word is left out of its text, and the item predicted again: the effect is the change of the mean probability of the class that the word is responsible for. For raters who have not voted on the item this is part of the prediction."), withItems(s, (*rankedItems).wordEffects))
	registerBody(api, operation("items", "undo-vote", "DELETE", "/votes", "Withdraw a vote",
		"Appends a line to the vote file that withdraws the rater's vote on the item. The response is sent after the line is on disk."), s.undoVote)
	register(api, operation("items", "export-votes", "GET", "/votes/export", "Export the votes of this server",
		"The current votes: the last of each rater on an item, without withdrawn votes. The format csv can be read by credence train --votes; labelstudio is Label Studio's JSON."), s.exportVotes)
	registerBody(api, operation("items", "items-progress", "GET", "/items/progress", "Get the progress of predicting the items, and their version", ""), s.itemsProgress)
}

// withItems returns a handler that calls f with the items, locked for reading.
func withItems[I, O any](s *Server, f func(p *rankedItems, ctx context.Context, in *I) (O, error)) func(ctx context.Context, in *I) (O, error) {
	return func(ctx context.Context, in *I) (out O, err error) {
		p, release, err := s.queue.get()
		if err != nil {
			return out, err
		}
		defer release()
		return f(p, ctx, in)
	}
}

type itemInput struct {
	Rater string  `query:"rater" maxLength:"1024" doc:"name of the rater: votes of others on an item are hidden until the rater has voted on it; without a name everything is shown"`
	ID    string  `query:"id" required:"true" doc:"id of the item"`
	Class string  `query:"class" doc:"class of the density; default the second of two classes, otherwise the predicted class"`
	Level float64 `query:"level" doc:"level of the intervals"`
}

// find returns the index of an item.
func (p *rankedItems) find(id string) (int, error) {
	if i, ok := p.at[id]; ok {
		return i, nil
	}
	for _, near := range p.ids {
		if strings.EqualFold(near, id) {
			return 0, failf(http.StatusNotFound, "unknown item %q: did you mean %q?", id, near)
		}
	}
	return 0, failf(http.StatusNotFound, "unknown item %q", id)
}

// findAt returns the index of an item, and the level of a request or, if it is 0, the server's.
func (p *rankedItems) findAt(id string, requested float64) (i int, level float64, err error) {
	if i, err = p.find(id); err != nil {
		return 0, 0, err
	}
	level = cmp.Or(requested, p.level)
	return i, level, checkLevel(level)
}

type whatIfInput struct {
	Body struct {
		Item  string             `json:"item" minLength:"1" maxLength:"1024"`
		Rater string             `json:"rater,omitempty" maxLength:"1024" doc:"name of the rater; see get-item"`
		Votes map[string]float64 `json:"votes" doc:"further votes: class → number"`
		Class string             `json:"class,omitempty" doc:"class of the density"`
		Level float64            `json:"level,omitempty"`
	}
}

func (p *rankedItems) whatIf(ctx context.Context, in *whatIfInput) (*itemDist, error) {
	b := &in.Body
	i, level, err := p.findAt(b.Item, b.Level)
	if err != nil {
		return nil, err
	}
	if p.now[i] == nil {
		return nil, failf(http.StatusConflict, "item %q has no prediction: %s", b.Item, p.bad[i])
	}
	votes := make([]float64, len(p.of.model.Classes))
	for name, n := range b.Votes {
		k, err := p.class(name)
		if err != nil {
			return nil, err
		}
		if !(n >= 0 && n <= 1e6) {
			return nil, badRequest("votes for %q: expected a number from 0 to 1,000,000, found %v", name, n)
		}
		votes[k] = n
	}
	_, a, at, err := p.predictFor(ctx, i, b.Rater, b.Class)
	if err != nil {
		return nil, err
	}
	if slices.Max(votes) > 0 {
		if a.Decoded, err = predict.After(p.of.model, &a.Decoded, votes); err != nil {
			return nil, badRequest("%w", err)
		}
	}
	return p.distOf(ctx, &a, level, at)
}

type imageInput struct {
	ID      string `query:"id" required:"true" doc:"id of the item"`
	Feature int    `query:"part" doc:"index of the feature, from 0"`
	Axis    int    `query:"axis" minimum:"0" maximum:"2" doc:"for a volume: axis perpendicular to the slices"`
	Slice   int    `query:"slice" minimum:"0" doc:"for a volume: index of the slice"`
}

type fileResponse struct {
	ContentType        string `header:"Content-Type"`
	ContentEncoding    string `header:"Content-Encoding"`
	ContentDisposition string `header:"Content-Disposition"`
	CacheControl       string `header:"Cache-Control"`
	Body               []byte
}

type pointsInput struct {
	Rater          string `query:"rater" maxLength:"1024" doc:"name of the rater: votes of others on an item are hidden until the rater has voted on it; without a name everything is shown"`
	Class          string `query:"class" doc:"class of the probability and width"`
	AcceptEncoding string `header:"Accept-Encoding" hidden:"true"`
}

// points are the numbers of all items with a prediction. Agreement is 0 if all votes are for the class,
// 1 if all are for one other class, 2 if they are mixed, 3 if there are fewer than two, 4 if they are
// hidden.
type points struct {
	Version int       `json:"version"`
	Class   string    `json:"class"`
	Classes []string  `json:"classes"`
	Level   float64   `json:"level"`
	Items   []string  `json:"items"`
	Mean    []float64 `json:"mean"`
	Lower   []float64 `json:"lower"`
	Upper   []float64 `json:"upper"`
	Top     []float64 `json:"p_top"`
	Gain    []float64 `json:"gain"`
	Votes   []float64 `json:"votes"`
	Class1  []int     `json:"predicted"`
	Agree   []int     `json:"agreement"`
	Facets  []facet   `json:"facets"`
	Bad     int       `json:"without_prediction"`
}

func (s *Server) itemPoints(ctx context.Context, in *pointsInput) (*fileResponse, error) {
	out, err := withItems(s, (*rankedItems).points)(ctx, in)
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(out)
	if err := cmp.Or(err, s.options.Limits.checkResponse(int64(len(text)))); err != nil {
		return nil, err
	}
	f := &fileResponse{ContentType: "application/json", CacheControl: "no-store", Body: text}
	if strings.Contains(in.AcceptEncoding, "gzip") && len(text) > 1<<16 {
		var b bytes.Buffer
		w, _ := gzip.NewWriterLevel(&b, gzip.BestSpeed)
		w.Write(text)
		w.Close()
		f.ContentEncoding, f.Body = "gzip", b.Bytes()
	}
	return f, nil
}

// points returns the numbers that figures of all items show to a rater.
func (p *rankedItems) points(ctx context.Context, in *pointsInput) (*points, error) {
	c, err := p.focus(in.Class, 0)
	if err != nil {
		return nil, err
	}
	o := &points{Version: p.queue.version, Class: p.of.model.Classes[c], Classes: p.of.model.Classes, Level: p.level, Bad: len(p.bad), Items: []string{}, Facets: []facet{}}
	for _, f := range p.facets {
		o.Facets = append(o.Facets, facet{Name: f.Name, Levels: f.Levels})
	}
	for i := range p.ids {
		if err := stopped(ctx, i); err != nil {
			return nil, err
		}
		n := p.now[i]
		if n == nil {
			continue
		}
		agree, total := p.agreement(i, c, in.Rater)
		if agree == 4 {
			n = p.prior[i]
		}
		o.Items = append(o.Items, p.ids[i])
		o.Mean = append(o.Mean, rounded(n.mean[c], 1e5))
		o.Lower, o.Upper = append(o.Lower, rounded(n.lower[c], 1e5)), append(o.Upper, rounded(n.upper[c], 1e5))
		o.Top = append(o.Top, rounded(n.top[n.predicted], 1e5))
		o.Gain = append(o.Gain, rounded(p.now[i].gain, 1e7))
		o.Votes, o.Agree, o.Class1 = append(o.Votes, total), append(o.Agree, agree), append(o.Class1, n.predicted)
		for k := range p.facets {
			o.Facets[k].Codes = append(o.Facets[k].Codes, p.facets[k].Codes[i])
		}
	}
	return o, nil
}

// agreement returns the agreement code of the votes on item i about a class, see points, and their number.
func (p *rankedItems) agreement(i, class int, rater string) (int, float64) {
	if p.hides(i, rater) {
		return 4, 0
	}
	ds := p.ballots.of(i, p.ids[i], "")
	if ds == nil {
		return 3, 0
	}
	total := ds.VotesOf(0)
	most := slices.Max(ds.Counts)
	switch {
	case total < 2:
		return 3, total
	case float64(most) < total:
		return 2, total
	case ds.Counts[class] == most:
		return 0, total
	}
	return 1, total
}
