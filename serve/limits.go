package serve

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"time"

	"credence/internal/calculator"
	"credence/internal/words"
)

// Limits bound what a request may ask for. A field that is 0 has the value of [DefaultLimits].
type Limits struct {
	Body        int64         // bytes of a request
	Rows        int           // items in a request
	Columns     int           // columns of a request, and of a table with several levels that is answered; classes of a mixture
	Values      int           // numbers in the lists of a request
	Levels      int           // levels of intervals in a request
	Intervals   int           // items by classes by levels
	Components  int           // of a mixture that is asked about
	Points      int           // levels, quantiles and points of a mixture that is asked about, by classes
	Answer      int64         // bytes of an answer
	Memory      int64         // bytes that the bodies and answers of all requests at work hold
	Concurrency int           // requests at work at the same time
	Timeout     time.Duration // of a request
}

// DefaultLimits are beyond what clients ask for on purpose.
var DefaultLimits = Limits{
	Body: 64 << 20, Rows: 100_000, Columns: 10_000, Values: 16 << 20,
	Levels: 200, Intervals: 10_000_000, Components: 1000, Points: 100_000,
	Answer: 256 << 20, Memory: 512 << 20, Concurrency: 256, Timeout: time.Minute,
}

// complete puts in what is not given.
func (l *Limits) complete() error {
	l.Memory = cmp.Or(l.Memory, max(DefaultLimits.Memory, 2*l.Body))
	all, initial := reflect.ValueOf(l).Elem(), reflect.ValueOf(DefaultLimits)
	for i := range all.NumField() {
		if all.Field(i).IsZero() {
			all.Field(i).Set(initial.Field(i))
		}
		if all.Field(i).Int() < 0 {
			return errors.New("a limit is negative")
		}
	}
	return nil
}

// exceeds is the error of a request in which there is more of something than a flag allows; nil if there is not.
func exceeds(what string, found, most int, flag string) error {
	if found <= most {
		return nil
	}
	return failf(http.StatusRequestEntityTooLarge, "%s: found %s, expected at most %s (credence serve --%s)",
		what, words.Thousands(found), words.Thousands(most), flag)
}

// checkLevels refuses a request for too many levels.
func (l *Limits) checkLevels(n int) error {
	return exceeds("levels of a request", n, l.Levels, "max-levels")
}

// checkIntervals refuses items that have too many intervals in all.
func (l *Limits) checkIntervals(rows, classes, levels int) error {
	what := fmt.Sprintf("intervals of a request (items × %d classes × %d levels)", classes, levels)
	return exceeds(what, rows*classes*levels, l.Intervals, "max-intervals")
}

// checkMixture refuses questions about a mixture that are too large.
func (l *Limits) checkMixture(s calculator.Size) error {
	return cmp.Or(
		exceeds("components of the mixture", s.Components, l.Components, "max-components"),
		exceeds("classes of the mixture", s.Classes, l.Columns, "max-columns"),
		l.checkLevels(s.Levels),
		exceeds("levels, quantiles and points, times classes", s.Points, l.Points, "max-points"))
}

// checkAnswer refuses an answer of too many bytes.
func (l *Limits) checkAnswer(bytes int64) error {
	if bytes <= l.Answer {
		return nil
	}
	return failf(http.StatusRequestEntityTooLarge,
		"the answer has more than %s bytes (credence serve --max-answer): ask for fewer items, levels or outputs at a time", words.Thousands(int(l.Answer)))
}

// timedOut is the error of a request that took too long.
func (l *Limits) timedOut() error {
	return failf(http.StatusServiceUnavailable,
		"the request took longer than %v (credence serve --timeout): ask for fewer items, levels or components at a time", l.Timeout)
}
