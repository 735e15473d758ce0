package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"credence/dataset"
	"credence/evaluate"
	"credence/internal/config"
	"credence/internal/words"
	"credence/model"
	"credence/predict"
)

// votePrices are the prices of votes, 0 for those that are not for sale.
type votePrices struct {
	person float64
	judges []float64 // in the order of the model's judges
}

// parsePrices reads prices such as human=1; nil for none.
func parsePrices(m *model.Model, texts []string) (*votePrices, error) {
	if texts == nil {
		return nil, nil
	}
	names := dataset.JudgesOf(m.Transform.Schema())
	if len(names) == 0 {
		return nil, withHint(fmt.Errorf("--price %s: the model was trained without judges", strings.Join(texts, ",")),
			"without --price, credence next ranks items for votes by people")
	}
	p := &votePrices{judges: make([]float64, len(names))}
	for _, text := range texts {
		at := strings.LastIndex(text, "=")
		x, err := strconv.ParseFloat(text[at+1:], 64)
		if at <= 0 || err != nil || !(x > 0 && x < 1e12) {
			return nil, usagef("--price %s: expected a name and a price above 0, such as human=1", text)
		}
		to := &p.person
		switch k := slices.Index(names, text[:at]); {
		case k >= 0:
			to = &p.judges[k]
		case text[:at] != "human":
			hint := "the judges are " + words.Few(names)
			if near := words.Nearest(text[:at], append(slices.Clone(names), "human")); near != "" {
				hint = fmt.Sprintf("did you mean %s?", near)
			}
			return nil, withHint(usagef("--price %s: expected human or a judge of the model, found %q", text, text[:at]), hint)
		}
		if *to > 0 {
			return nil, usagef("--price %s: duplicate price of %s", text, text[:at])
		}
		*to = x
	}
	return p, nil
}

// planPriced spends the budget on votes of people and judges, and writes the plan.
func (o *nextOptions) planPriced(cmd *cobra.Command, c *candidates, prices *votePrices, path string) error {
	ctx := cmd.Context()
	trained, err := (&judgesOptions{data: *config.New()}).read(ctx, c.from.model, path, nil)
	if err != nil {
		return err
	}
	defer trained.Close()
	judges, err := predict.NewJudgeVotes(ctx, c.from.model, trained, c.from.votes)
	if err != nil {
		return err
	}
	for k, name := range judges.Names {
		if !(prices.judges[k] > 0) {
			continue
		}
		voted := slices.IndexFunc(c.items, func(x predict.JudgedItem) bool { return !judges.Has(&x, k) }) < 0
		if voted && len(c.items) > 0 {
			c.from.warn(fmt.Sprintf("all items have a vote of judge %s", name))
		} else if slices.Contains(judges.Always, name) {
			c.from.warn(fmt.Sprintf("judge %s voted on all items of training: what its vote adds where it is missing is known only roughly", name))
		}
	}
	most := o.most
	if most == 0 {
		most = min(fewVotes, evaluate.MostVotes(len(c.from.model.Classes)))
	}
	bought, err := evaluate.PlanPriced(ctx, len(c.items), evaluate.PriceOptions{Budget: float64(o.budget), Person: prices.person, Judges: prices.judges,
		Most: most, MostJudges: judges.Most(), Has: func(item, judge int) bool { return judges.Has(&c.items[item], judge) },
		Outcomes: func(item int, list []int) ([]evaluate.JudgedOutcome, error) {
			return judges.Outcomes(ctx, &c.items[item], list)
		}})
	if err != nil {
		return withHint(err, "try a smaller --max-votes, which has fewer outcomes")
	}
	l := &askPlan{Budget: o.budget, Votes: len(bought), Plan: []askVote{}, candidates: len(c.rows)}
	for _, r := range c.rows {
		l.Variance += r.Variance
	}
	items, names, counts := map[int]bool{}, []string{}, map[string]int{}
	for i, v := range bought {
		name := "human"
		if v.Judge != evaluate.Person {
			name = judges.Names[v.Judge]
		}
		if items[v.Item] = true; counts[name] == 0 {
			names = append(names, name)
		}
		counts[name]++
		l.add(i+1, c.rows[v.Item], name, v.Price, v.Gain)
	}
	l.Items, l.Raters = len(items), len(names)
	l.by = "no one"
	if len(names) > 0 {
		l.by = strings.Join(words.Each(names, func(name string) string { return fmt.Sprintf("%s (%s)", name, words.Thousands(counts[name])) }), ", ")
	}
	return o.write(cmd, c, l, records(l.Plan))
}
