package report

import (
	"fmt"
	"html"
	"math"
	"regexp"
	"slices"
	"strings"

	"credence/evaluate"
)

// Verdict is the short answer to a question about a model, as shown on its page.
type Verdict struct {
	Mark     string `json:"mark" enum:"good,careful,bad,unknown"`
	Question string `json:"question"`
	Answer   string `json:"answer"`
}

var verdictLine = regexp.MustCompile(`(?m)^<li><span class="mark (\w+)">[^<]*</span><span><b>([^<]*)</b> ([^<]*)</span></li>$`)

// Verdicts parses the verdicts of a page written by [Write]: the page is stored with the model, so
// they can be shown without the data. It returns nil for any other page.
func Verdicts(page []byte) []Verdict {
	var list []Verdict
	for _, m := range verdictLine.FindAllSubmatch(page, -1) {
		list = append(list, Verdict{string(m[1]), html.UnescapeString(string(m[2])), html.UnescapeString(string(m[3]))})
	}
	return list
}

// row is a row of a table of scores.
type row struct {
	Name, Value, Meaning string
	Strong               bool
	// Bar is the length of the bar next to the value, from 0 to 100; negative for
	// none.
	Bar float64
}

// Symbol returns a character for the mark, which does not depend on color.
func (v Verdict) Symbol() string {
	return map[string]string{"good": "✓", "careful": "!", "bad": "✗", "unknown": "?"}[v.Mark]
}

// verdicts returns the answers that a reader looks for first.
func verdicts(r *evaluate.Result) []Verdict {
	vs := []Verdict{better(r), probabilities(r), intervals(r), distributions(r)}
	if v, ok := covered(r); ok {
		vs = append(vs, v)
	}
	return vs
}

func better(r *evaluate.Result) Verdict {
	v := Verdict{"unknown", "Is it better than simple predictions?", "Unknown: there is nothing to compare with."}
	d, than := r.LessLogisticDM, "logistic regression (with one spread for all items)"
	if d == nil || !d.Value.Known() {
		d, than = r.LessConstantDM, "one distribution for all items"
	}
	if d == nil || !d.Value.Known() {
		return v
	}
	by := number(max(d.Value, -d.Value), 3) + " nats per vote"
	if d.Lo.Known() && d.Hi.Known() {
		lo, hi := d.Lo, d.Hi
		if d.Value < 0 {
			lo, hi = -d.Hi, -d.Lo
		}
		by += fmt.Sprintf(", 95%% interval %s to %s", number(lo, 3), number(hi, 3))
	}
	switch {
	case d.Hi < 0:
		v.Mark, v.Answer = "good", fmt.Sprintf("Yes: votes are predicted better than by %s (by %s).", than, by)
	case d.Lo > 0:
		v.Mark, v.Answer = "bad", fmt.Sprintf("No: votes are predicted worse than by %s (by %s).", than, by)
	case d.Value < 0:
		v.Mark, v.Answer = "careful",
			fmt.Sprintf("Not clearly: it is ahead of %s, but within what chance can do (by %s).", than, by)
	default:
		v.Mark, v.Answer = "careful",
			fmt.Sprintf("No better than %s, as far as these votes show (behind by %s).", than, by)
	}
	return v
}

func probabilities(r *evaluate.Result) Verdict {
	v := Verdict{"unknown", "Are its probabilities right?", "Unknown: it cannot be determined from these votes."}
	if !r.ECE.Value.Known() {
		return v
	}
	points := evaluate.Estimate{Value: 100 * r.ECE.Value, SE: 100 * r.ECE.SE}
	off := "off by " + withError(points, 1) + " points in a hundred"
	average := "they are " + off + " on average, after removing sampling noise."
	var wrong, vague []string
	for _, c := range r.ClassCalibration {
		said := fmt.Sprintf("“%s” (predicted %s%% of the votes, seen %s%%)", c.Class, number(100*c.Expected, 1), number(100*c.Observed, 1))
		switch {
		case c.Off():
			wrong = append(wrong, said)
		case !c.Near():
			vague = append(vague, said)
		}
	}
	switch {
	case wrong != nil:
		v.Mark, v.Answer = "bad", fmt.Sprintf("No: not those of %s.", some(wrong, 3))
	case r.ECE.Value <= 0.02 && r.ECE.SE <= 0.03 && vague != nil:
		v.Mark, v.Answer = "careful",
			fmt.Sprintf("On average: they are %s, after removing sampling noise. Unclear for %s.", off, some(vague, 3))
	case r.ECE.Value <= 0.05 && !(r.ECE.SE <= 0.03):
		v.Mark, v.Answer = "careful", "Nothing speaks against it, but these votes show little: "+average
	case r.ECE.Value <= 0.02:
		v.Mark, v.Answer = "good", "Yes: "+average
	case r.ECE.Value <= 0.05:
		v.Mark, v.Answer = "careful", "Nearly: "+average
	default:
		v.Mark, v.Answer = "bad", "No: "+average
	}
	return v
}

func intervals(r *evaluate.Result) Verdict {
	v := Verdict{"unknown", "Are its intervals as wide as they should be?",
		"Unknown: that takes two votes on an item."}
	ratio := r.DispersionRatio
	d, se := ratio.Value, ratio.SE
	if !d.Known() || !se.Known() {
		return v
	}
	seen := fmt.Sprintf("pairs of votes show %s times the predicted variance", withError(ratio.Estimate, 2))
	lo, hi := d-2*se, d+2*se
	switch {
	case r.NearOne() && !alike(r):
		v.Mark, v.Answer = "careful", "On the whole, but not everywhere: "+seen+", here more and there less."
	case r.NearOne():
		v.Mark, v.Answer = "good", "Yes: "+seen+"."
	case lo > 1 && d > evaluate.MostNear:
		v.Mark, v.Answer = "bad", "No, too narrow, or the probabilities are off: "+seen+"."
	case lo > 1:
		v.Mark, v.Answer = "careful", "Somewhat too narrow, or the probabilities are off: "+seen+"."
	case hi < 1 && d < evaluate.LeastNear:
		v.Mark, v.Answer = "bad", "No, too wide: "+seen+". Lower ends are lower, and upper ends higher, than the votes call for."
	case hi < 1:
		v.Mark, v.Answer = "careful", "Somewhat too wide: "+seen+"."
	default:
		v.Answer = fmt.Sprintf("Unclear: %s, so that it may be anything from %s to %s times. More items with two votes would show it.",
			seen, number(ratio.Lo, 2), number(ratio.Hi, 2))
	}
	return v
}

// alike reports whether the data are consistent with one ratio for all items.
func alike(r *evaluate.Result) bool {
	return !slices.ContainsFunc(r.DispersionBy, func(c evaluate.DispersionColumn) bool { return c.PValue < 0.01 })
}

func distributions(r *evaluate.Result) Verdict {
	v := Verdict{"unknown", "Do votes follow the predicted distributions?", "Unknown: it cannot be determined from these votes."}
	switch p := r.PITPValue; {
	case !p.Known():
	case p < 0.01:
		v.Mark, v.Answer = "bad", "No: the difference is more than chance (p-value "+pValue(p)+")."
	case p < 0.05:
		v.Mark, v.Answer = "careful", "Perhaps not: chance would do this rarely (p-value "+pValue(p)+")."
	default:
		v.Mark, v.Answer = "good", "Yes, as far as these votes show (p-value "+pValue(p)+")."
	}
	return v
}

// covered returns the verdict on the coverage at the lowest and the highest level,
// over all classes.
func covered(r *evaluate.Result) (Verdict, bool) {
	v := Verdict{Mark: "good", Question: "Do its intervals hold the true probability (known here) as often as they say?"}
	low, high := 1.0, 0.0
	for _, c := range r.Coverage {
		low, high = min(low, c.Level), max(high, c.Level)
	}
	mean := func(level float64) evaluate.Number {
		sum, n := evaluate.Number(0), evaluate.Number(0)
		for _, c := range r.Coverage {
			if c.Level == level && c.Empirical.Known() {
				sum += c.Empirical
				n++
			}
		}
		return sum / n
	}
	if len(r.Coverage) == 0 || !mean(low).Known() || !mean(high).Known() {
		return v, false
	}
	said := fmt.Sprintf("%s intervals hold it for %s%% of the items", percent(high), number(100*mean(high), 1))
	if low < high {
		said += fmt.Sprintf(", %s intervals for %s%%", percent(low), number(100*mean(low), 1))
	}
	// Relative to the share that intervals may miss: 5% for a level of 95%.
	gap := func(level float64) float64 { return (float64(mean(level)) - level) / (1 - level) }
	switch worst := min(gap(low), gap(high)); {
	case worst < -2:
		v.Mark, v.Answer = "bad", "Much too rarely: "+said+"."
	case worst < -0.4:
		v.Mark, v.Answer = "careful", "Less often: "+said+"."
	case gap(low) > 0.3:
		v.Mark, v.Answer = "careful", "More often, so they are wider than need be: "+said+"."
	default:
		v.Answer = "Yes: " + said + "."
	}
	return v, true
}

// losses returns the table of the losses of the model and of the references.
func losses(r *evaluate.Result) []row {
	var rows []row
	most := 0.0
	for _, x := range []struct {
		name, meaning string
		loss          evaluate.Estimate
	}{
		{"This model", "All votes on an item together, under the predicted distribution.", r.NLL},
		{"Logistic regression with a spread", "The mark to beat: features are used linearly, every item is equally uncertain.", r.LogisticDMNLL},
		{"One distribution for all items", "No features; only knows that votes on an item tend to agree.", r.ConstantDMNLL},
		{"Class frequencies", "No features, every vote for itself.", r.ConstantNLL},
		{"Floor", "Knows each item’s own votes beforehand. With few votes per item nothing can come near it.", r.FloorNLL},
		{"This model, vote by vote", "Each vote for itself, under the mean alone.", r.MarginalNLL},
		{"Logistic regression, vote by vote", "Features are used linearly.", r.LogisticNLL},
	} {
		rows = append(rows, row{Name: x.name, Value: withError(x.loss, 3), Meaning: x.meaning,
			Strong: strings.HasPrefix(x.name, "This model"), Bar: float64(x.loss.Value)})
		if b := float64(x.loss.Value); b > most {
			most = b
		}
	}
	for i := range rows {
		if b := rows[i].Bar; b >= 0 && most > 0 {
			rows[i].Bar = math.Round(1000*b/most) / 10
		} else {
			rows[i].Bar = -1
		}
	}
	return rows
}

// further returns the table of the other scores.
func further(r *evaluate.Result) []row {
	return []row{
		{Name: "Accuracy", Value: withError(r.Accuracy, 3),
			Meaning: "Share of items whose predicted class has most votes; a tie of two counts one half. 1 is best."},
		{Name: "Brier score", Value: withError(r.Brier, 3),
			Meaning: "Mean squared distance between prediction and vote. 0 is best; where raters disagree no prediction reaches it."},
		{Name: "Calibration error", Value: withError(r.ECE, 3),
			Meaning: "How far the probability of the predicted class is off on average, less what chance adds. 0 is best."},
		{Name: "Dispersion ratio", Value: withError(r.DispersionRatio.Estimate, 2),
			Meaning: "Variance seen in pairs of votes over predicted variance. 1 is best; above, intervals are too narrow; below, too wide."},
		{Name: "Agreement of two votes", Value: withError(evaluate.Estimate{Value: r.Agreement.Observed, SE: r.Agreement.SE}, 3),
			Meaning: "How often two raters agree on an item. Predicted: " + number(r.Agreement.Predicted, 3) + "."},
		{Name: "PIT p-value", Value: pValue(r.PITPValue),
			Meaning: "How likely such votes are if the predicted distributions are right. Below 0.01 they are not."},
	}
}
