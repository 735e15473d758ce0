package serve

import (
	"context"
	"fmt"
	"os"
	"strings"

	"credence/internal/words"
	"credence/report"
	"credence/run"
)

// overview is what the page tells first.
type overview struct {
	Model      string           `json:"model"`
	Version    string           `json:"version"`
	Program    string           `json:"program" doc:"version of the server"`
	Classes    []string         `json:"classes"`
	Method     string           `json:"method"`
	Networks   int              `json:"networks"`
	Parameters int              `json:"parameters"`
	Features   []string         `json:"features" doc:"what the model looks at"`
	Items      int              `json:"trained_items" doc:"items that the model was trained on"`
	Votes      float64          `json:"trained_votes" doc:"votes on them"`
	Level      float64          `json:"level"`
	Resolution float64          `json:"resolution" doc:"how close to 0 or 1 intervals may end"`
	Scale      float64          `json:"scale" doc:"how much wider the distributions were made, in variance, as votes held out showed"`
	Raters     bool             `json:"raters" doc:"the model knows raters apart"`
	Verdicts   []report.Verdict `json:"verdicts" doc:"of the report of the run"`
	Warnings   []string         `json:"warnings" doc:"of training"`
	Queue      *overviewItems   `json:"queue,omitempty" doc:"the items, if the server has any and they are ready"`
	HasItems   bool             `json:"has_items"`
	TakesVotes bool             `json:"takes_votes"`
}

// overviewItems is what is told of the items.
type overviewItems struct {
	Items     int           `json:"items"`
	Progress  queueProgress `json:"progress"`
	Attention []attention   `json:"attention"`
}

// attention is something to look at, and the filter that shows it.
type attention struct {
	Mark   string `json:"mark" enum:"good,careful,bad,unknown"`
	Text   string `json:"text"`
	Filter string `json:"filter,omitempty" doc:"query of the items meant"`
}

type overviewAsked struct {
	Rater string `query:"rater" maxLength:"1024" doc:"who looks"`
}

func (s *Server) overview(ctx context.Context, in *overviewAsked) (*overview, error) {
	c := s.registry.current.Load()
	name := ""
	if names := c.names(); len(names) > 1 {
		name = names[0]
	}
	m, err := s.registry.get(name, "")
	if err != nil {
		return nil, err
	}
	card, err := run.NewCard(m.model)
	if err != nil {
		return nil, err
	}
	o := &overview{Model: m.name, Version: m.version, Program: s.options.Version, Classes: card.Classes, Method: m.model.Method.Name(),
		Networks: card.Networks, Parameters: card.Parameters, Items: card.Split.Items - card.Split.Unvoted, Votes: card.Split.Votes, Level: s.options.Level,
		Raters: m.model.Crowd != nil, Warnings: append([]string{}, card.Warnings...), Verdicts: []report.Verdict{}, HasItems: s.queue != nil, TakesVotes: s.votes != nil}
	for _, p := range card.Features {
		o.Features = append(o.Features, p.String())
	}
	if cal := m.model.Calibration; cal != nil {
		o.Resolution, o.Scale = cal.Resolution, cal.Scale
	}
	if text, err := os.ReadFile(m.folder.Path(run.ReportFile)); err == nil {
		o.Verdicts = append(o.Verdicts, report.Verdicts(text)...)
	}
	if s.queue == nil {
		return o, nil
	}
	if p, release, err := s.queue.get(); err == nil {
		defer release()
		list, err := p.attention(ctx, in.Rater)
		if err != nil {
			return nil, err
		}
		o.Queue = &overviewItems{Items: len(p.ids), Progress: p.progress(in.Rater), Attention: list}
	}
	return o, nil
}

// wide is the width above which an interval tells little.
const wide = 0.5

// attention says what needs it about the items.
func (p *pool) attention(ctx context.Context, rater string) ([]attention, error) {
	var broad, unsure, split int
	for k, i := range p.order {
		if err := stopped(ctx, k); err != nil {
			return nil, err
		}
		n, c := p.focused(i, rater, "")
		if n.upper[c]-n.lower[c] > wide {
			broad++
		}
		if n.top[n.predicted] < 0.9 {
			unsure++
		}
		if agree, _ := p.agreement(i, 0, rater); agree == 2 {
			split++
		}
	}
	n := len(p.order)
	share := func(k int) string {
		return fmt.Sprintf("%s of %s (%.0f%%)", words.Thousands(k), words.Plural(n, "item"), 100*float64(k)/float64(max(1, n)))
	}
	var list []attention
	add := func(k int, mark, text, filter string) {
		if k > 0 {
			list = append(list, attention{mark, text, filter})
		}
	}
	add(unsure, "careful", share(unsure)+": which class is the most probable one is not clear (p_top below 0.9).", "max_top=0.9")
	add(broad, "careful", share(broad)+fmt.Sprintf(": the %g%% interval is wider than %g.", 100*p.level, wide), fmt.Sprintf("min_width=%g", wide))
	add(split, "careful", share(split)+": the votes so far disagree.", "agreement=2")
	add(len(p.bad), "bad", words.Plural(len(p.bad), "item")+" cannot be predicted: "+p.firstBad(), "")
	for _, note := range p.notes {
		add(1, "careful", strings.ToUpper(note[:1])+note[1:]+".", "")
	}
	if list == nil {
		list = []attention{{"good", "Nothing stands out.", ""}}
	}
	return list, nil
}

// firstBad says why the first item without a prediction has none.
func (p *pool) firstBad() string {
	for i, id := range p.ids {
		if why, ok := p.bad[i]; ok {
			return fmt.Sprintf("item %q: %s", id, why)
		}
	}
	return ""
}
