package report

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"credence/evaluate"
	"credence/internal/words"
)

// dash is shown for a number that could not be computed.
const dash = "—"

// number formats x with the given number of decimals, or returns a dash.
func number(x evaluate.Number, decimals int) string {
	if !x.Known() {
		return dash
	}
	s := strconv.FormatFloat(float64(x), 'f', decimals, 64)
	if strings.Trim(s, "-0.") == "" {
		s = strings.TrimPrefix(s, "-")
	}
	return strings.Replace(s, "-", "−", 1)
}

// withError formats an estimate with its standard error, value ± se.
func withError(e evaluate.Estimate, decimals int) string {
	s := number(e.Value, decimals)
	if e.Value.Known() && e.SE.Known() {
		s += " ± " + number(e.SE, decimals)
	}
	return s
}

// ranged formats an estimate, which lies in its interval, with the interval.
func ranged(e evaluate.IntervalEstimate, decimals int) string {
	if !e.Value.Known() || !e.Lo.Known() || !e.Hi.Known() {
		return withError(e.Estimate, decimals)
	}
	return fmt.Sprintf("%s [%s, %s]", number(e.Inside(), decimals), number(e.Lo, decimals), number(e.Hi, decimals))
}

// interval95 formats the interval of an estimate, in parentheses after a blank, or returns "".
func interval95(e evaluate.IntervalEstimate, decimals int) string {
	if !e.Lo.Known() || !e.Hi.Known() {
		return ""
	}
	return fmt.Sprintf(" (95%% interval %s to %s)", number(e.Lo, decimals), number(e.Hi, decimals))
}

// pValue formats a p-value with three decimals, or as a bound.
func pValue(x evaluate.Number) string {
	switch {
	case !x.Known():
		return dash
	case x < 0.001:
		return "below 0.001"
	}
	return number(x, 3)
}

// count formats a count with commas between thousands.
func count(v float64) string {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return dash
	}
	return words.Count(v)
}

// sentence returns s with a capital letter and a period.
func sentence(s string) string {
	s = strings.TrimSpace(s)
	if s == "" {
		return s
	}
	r := []rune(s)
	r[0] = []rune(strings.ToUpper(string(r[:1])))[0]
	s = string(r)
	if !strings.ContainsAny(s[len(s)-1:], ".!?") {
		s += "."
	}
	return s
}

// percent formats a level as a percentage.
func percent(level float64) string { return strconv.FormatFloat(100*level, 'g', 4, 64) + "%" }

// sigma is half the width of a 95% interval in standard errors.
const sigma = 1.96

// around returns the ends of the 95% interval x ± 1.96 se, clipped to [least, most].
func around(x, se evaluate.Number, least, most float64) (lo, hi float64) {
	if !x.Known() || !se.Known() {
		return math.NaN(), math.NaN()
	}
	return max(least, float64(x-sigma*se)), min(most, float64(x+sigma*se))
}

// some joins a list, with at most shown elements and the number of others.
func some(things []string, shown int) string {
	if n := len(things); n > shown+1 {
		things = append(slices.Clone(things[:shown]), fmt.Sprintf("%d others", n-shown))
	}
	return words.List(things, "and")
}
