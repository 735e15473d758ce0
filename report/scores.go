package report

import (
	"fmt"
	"html"
	"math"
	"regexp"
	"slices"
	"strings"
	"sync"

	"credence/evaluate"
)

// Verdict is the short answer to a question about a model, as shown on its page.
type Verdict struct {
	Mark     string `json:"mark" enum:"good,careful,bad,unknown"`
	Question string `json:"question"`
	Answer   string `json:"answer"`
}

var verdictLine = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?m)^<li><span class="mark (\w+)">[^<]*</span><span><b>([^<]*)</b> ([^<]*)</span></li>$`)
})

// Verdicts parses the verdicts of a page written by [Write]: the page is stored with the model, so
// they can be shown without the data. It returns nil for any other page.
func Verdicts(page []byte) []Verdict {
	var list []Verdict
	for _, m := range verdictLine().FindAllSubmatch(page, -1) {
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
	return append([]Verdict{better(r), probabilities(r), intervals(r), strata(r), distributions(r)}, covered(r)...)
}

// is sets the mark and the answer.
func (v *Verdict) is(mark, format string, args ...any) {
	v.Mark, v.Answer = mark, fmt.Sprintf(format, args...)
}

func better(r *evaluate.Result) Verdict {
	v := Verdict{"unknown", "Is it better than simple baselines?", "Unknown: there are no references to compare with."}
	d, than := r.LessLogisticDM, "logistic regression (with one concentration for all items)"
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
		v.is("good", "Yes: votes are predicted better than by %s (by %s).", than, by)
	case d.Lo > 0:
		v.is("bad", "No: votes are predicted worse than by %s (by %s).", than, by)
	case d.Value < 0:
		v.is("careful", "Not clearly: it is better than %s, but within sampling error (by %s).", than, by)
	default:
		v.is("careful", "No better than %s, as far as these votes show (worse by %s).", than, by)
	}
	return v
}

func probabilities(r *evaluate.Result) Verdict {
	v := Verdict{"unknown", "Are its probabilities calibrated?", "Unknown: it cannot be determined from these votes."}
	if !r.ECE.Value.Known() {
		return v
	}
	points := evaluate.NotNegative(evaluate.Estimate{Value: 100 * r.ECE.Value, SE: 100 * r.ECE.SE})
	average := fmt.Sprintf("the average calibration error is %s percentage points%s, after removing sampling noise.", number(points.Value, 1), interval95(points, 1))
	var wrong, vague []string
	for _, c := range r.ClassCalibration {
		said := fmt.Sprintf("“%s” (predicted %s%% of the votes, observed %s%%)", c.Class, number(100*c.Expected, 1), number(100*c.Observed, 1))
		switch {
		case c.Off():
			wrong = append(wrong, said)
		case !c.Near():
			vague = append(vague, said)
		}
	}
	switch {
	case wrong != nil:
		v.is("bad", "No: not for %s.", some(wrong, 3))
	case r.ECE.Value <= 0.02 && r.ECE.SE <= 0.03 && vague != nil:
		v.is("careful", "Overall yes: %s Unclear for %s.", average, some(vague, 3))
	case r.ECE.Value <= 0.05 && !(r.ECE.SE <= 0.03):
		v.is("careful", "No error is evident, but these votes show little: %s", average)
	case r.ECE.Value <= 0.02:
		v.is("good", "Yes: %s", average)
	case r.ECE.Value <= 0.05:
		v.is("careful", "Nearly: %s", average)
	default:
		v.is("bad", "No: %s", average)
	}
	return v
}

func intervals(r *evaluate.Result) Verdict {
	v := Verdict{"unknown", "Do its intervals have the right width?",
		"Unknown: this requires items with two votes."}
	ratio := r.DispersionRatio
	d, se := ratio.Value, ratio.SE
	if !d.Known() || !se.Known() {
		return v
	}
	seen := fmt.Sprintf("the variance in pairs of votes is %s times the predicted variance%s", number(ratio.Inside(), 2), interval95(ratio, 2))
	lo, hi := d-2*se, d+2*se
	differ := func(c evaluate.DispersionColumn) bool { return c.PValue < 0.01 } // by more than chance
	switch {
	case r.NearOne() && !holdsOne(ratio) && d > 1:
		v.Mark, v.Answer = "careful", "Nearly: they are slightly too narrow; "+seen+"."
	case r.NearOne() && !holdsOne(ratio):
		v.Mark, v.Answer = "careful", "Nearly: they are slightly too wide; "+seen+"."
	case r.NearOne() && slices.ContainsFunc(r.DispersionBy, differ):
		v.Mark, v.Answer = "careful", "On average, but not everywhere: "+seen+", more for some items and less for others."
	case r.NearOne():
		v.Mark, v.Answer = "good", "Yes: "+seen+"."
	case lo > 1 && d > evaluate.MostNear:
		v.Mark, v.Answer = "bad", "No, too narrow, or the probabilities are wrong: "+seen+"."
	case lo > 1:
		v.Mark, v.Answer = "careful", "Somewhat too narrow, or the probabilities are wrong: "+seen+"."
	case hi < 1 && d < evaluate.LeastNear:
		v.Mark, v.Answer = "bad", "No, too wide: "+seen+". Lower ends are lower, and upper ends higher, than the votes support."
	case hi < 1:
		v.Mark, v.Answer = "careful", "Somewhat too wide: "+seen+"."
	default:
		v.Answer = fmt.Sprintf("Unclear: %s. More items with two votes would make it clear.", seen)
	}
	return v
}

// holdsOne reports whether the interval of a ratio contains one, or is unknown.
func holdsOne(ratio evaluate.IntervalEstimate) bool {
	return !ratio.Lo.Known() || !ratio.Hi.Known() || ratio.Lo <= 1 && 1 <= ratio.Hi
}

// vagueStratum is the standard error of the ratio of a stratum above which its votes show little: a ratio of one
// and a half could be missed.
const vagueStratum = 0.25

// strata names the worst stratum.
func strata(r *evaluate.Result) Verdict {
	v := Verdict{"unknown", "Do they have the right width in every stratum?", "Unknown: no stratum has enough votes."}
	worst := r.WorstStrata()
	if len(worst) == 0 {
		return v
	}
	vague := func(x evaluate.DispersionStratum) bool { return x.Ratio.SE > vagueStratum }
	switch x := worst[0]; {
	case x.Off() && (x.Ratio.Value > evaluate.MostNear || x.Ratio.Value < evaluate.LeastNear):
		v.is("bad", "No. %s", x.Describe())
	case x.Off():
		v.is("careful", "Not quite. %s", x.Describe())
	case !holdsOne(x.Ratio): // and so does every interval if that of the worst does
		v.is("unknown", "Unclear: given the number of strata, none differs by more than chance. The worst is doubtful. %s", x.Describe())
	case slices.ContainsFunc(worst, vague):
		v.is("unknown", "Unclear: no stratum differs by more than chance, but some have few votes. The worst is %s.", &x)
	default:
		v.is("good", "Yes: intervals have the right width in every stratum examined. The worst is %s.", &x)
	}
	return v
}

func distributions(r *evaluate.Result) Verdict {
	v := Verdict{"unknown", "Do votes follow the predicted distributions?", "Unknown: it cannot be determined from these votes."}
	switch p := r.PITPValue; {
	case !p.Known():
	case p < 0.01:
		v.is("bad", "No: the difference exceeds sampling error (p-value %s).", pValue(p))
	case p < 0.05:
		v.is("careful", "Perhaps not: such a difference is rare by chance (p-value %s).", pValue(p))
	default:
		v.is("good", "Yes, as far as these votes show (p-value %s).", pValue(p))
	}
	return v
}

// covered returns the verdict on the coverage at the lowest and the highest level,
// over all classes, or nothing if it is unknown.
func covered(r *evaluate.Result) []Verdict {
	v := Verdict{Mark: "good", Question: "Do its intervals contain the true probability (known here) as often as stated?"}
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
		return nil
	}
	said := fmt.Sprintf("%s intervals contain it for %s%% of the items", percent(high), number(100*mean(high), 1))
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
		v.Mark, v.Answer = "careful", "More often, so they are wider than necessary: "+said+"."
	default:
		v.Answer = "Yes: " + said + "."
	}
	return []Verdict{v}
}

// losses returns the table of the losses of the model and of the references.
func losses(r *evaluate.Result) []row {
	var rows []row
	most := 0.0
	for _, x := range []struct {
		name, meaning string
		loss          evaluate.Estimate
	}{
		{"This model", "Joint likelihood of the votes on an item under the predicted distribution.", r.NLL},
		{"Its means with one concentration", "The same means, but one concentration for all items: what the spread of single items adds.", r.CommonNLL},
		{"Logistic regression with a concentration", "The baseline to beat: linear in the features, with one concentration for all items.", r.LogisticDMNLL},
		{"One distribution for all items", "No features; models only that votes on an item tend to agree.", r.ConstantDMNLL},
		{"Class frequencies", "No features; votes are independent.", r.ConstantNLL},
		{"Floor", "The vote shares of each item itself. With few votes per item no prediction comes near it.", r.FloorNLL},
		{"This model, vote by vote", "Votes are independent, with the predicted mean.", r.MarginalNLL},
		{"Logistic regression, vote by vote", "Linear in the features; votes are independent.", r.LogisticNLL},
	} {
		b := float64(x.loss.Value)
		rows = append(rows, row{x.name, withError(x.loss, 3), x.meaning, strings.HasPrefix(x.name, "This model"), b})
		if b > most {
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

// shownStrata is the maximum number of strata in the table.
const shownStrata = 20

// strataTable returns the table of strata, the worst first, those with too few votes last, and the note below it.
func strataTable(r *evaluate.Result) (rows []stratumRow, note string) {
	list := r.WorstStrata()
	for _, x := range r.DispersionStrata {
		if x.TooFew() {
			list = append(list, x)
		}
	}
	for _, x := range list[:min(shownStrata, len(list))] {
		p := pValue(x.Adjusted)
		if x.TooFew() {
			p = "too few votes"
		}
		rows = append(rows, stratumRow{x.String(), count(float64(x.Items)), number(x.Ratio.Inside(), 2), number(x.Ratio.Lo, 2) + " to " + number(x.Ratio.Hi, 2), p})
	}
	if len(list) > shownStrata {
		note = fmt.Sprintf("The worst %d of %d strata are shown. ", shownStrata, len(list))
	}
	return rows, note + r.StrataNote()
}

// further returns the table of the other scores.
func further(r *evaluate.Result) []row {
	var ranked []row
	if r.Ordered != nil {
		ranked = []row{{Name: "Ranked probability score", Value: withError(r.Ordered.RPS, 3),
			Meaning: "Mean squared distance between cumulative probabilities and vote, 0 to 1: a vote far from the prediction counts more. 0 is best."},
			{Name: "Quadratic kappa", Value: withError(r.Ordered.Kappa, 3),
				Meaning: "Agreement of the predicted class with a vote beyond chance, in which distances count by their squares. 1 is best, 0 is chance."}}
	}
	return append([]row{
		{Name: "Accuracy", Value: withError(r.Accuracy, 3),
			Meaning: "Share of items whose predicted class has the most votes; a tie of two counts one half. 1 is best."},
		{Name: "Brier score", Value: withError(r.Brier, 3),
			Meaning: "Mean squared distance between prediction and vote. 0 is best; where raters disagree no prediction reaches it."},
		{Name: "Calibration error", Value: ranged(evaluate.NotNegative(r.ECE), 3),
			Meaning: "Mean absolute error of the probability of the predicted class, after removing sampling noise. 0 is best."},
		{Name: "Dispersion ratio", Value: ranged(r.DispersionRatio, 2),
			Meaning: "Variance in pairs of votes divided by the predicted variance. 1 is best; above, intervals are too narrow; below, too wide."},
		{Name: "Agreement of two votes", Value: withError(evaluate.Estimate{Value: r.Agreement.Observed, SE: r.Agreement.SE}, 3),
			Meaning: "How often two raters agree on an item. Predicted: " + number(r.Agreement.Predicted, 3) + "."},
		{Name: "PIT p-value", Value: pValue(r.PITPValue),
			Meaning: "Probability of votes at least this unusual if the predicted distributions are right. Below 0.01 they are unlikely to be."},
	}, ranked...)
}
