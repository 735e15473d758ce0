package monitor

import (
	"fmt"
	"slices"
	"strings"

	"credence/internal/words"
)

// Alarm records that evidence reached the level of an alarm. It is not removed when a vote is withdrawn.
type Alarm struct {
	Kind     string  `json:"kind"` // votes, rater or inputs
	Votes    int     `json:"votes"`
	Evidence float64 `json:"evidence"` // when it was raised
	Text     string  `json:"text"`
}

// Alarms returns the alarms so far, at most one of each kind.
func (w *Monitor) Alarms() []Alarm { return slices.Clone(w.alarms) }

// Record adds an alarm that was raised before, such as by a monitor of the same votes before one was withdrawn.
func (w *Monitor) Record(a Alarm) {
	if !w.alarmed(a.Kind) {
		w.alarms = append(w.alarms, a)
	}
}

func (w *Monitor) alarmed(kind string) bool {
	return slices.ContainsFunc(w.alarms, func(a Alarm) bool { return a.Kind == kind })
}

// check raises an alarm.
func (w *Monitor) check(kind string, evidence float64, text string) {
	if evidence >= w.o.Alarm {
		w.Record(Alarm{kind, len(w.votes), evidence, text})
	}
}

// checkVotes raises alarms after a vote.
func (w *Monitor) checkVotes() {
	if e := w.evidence().Tolerant; e >= w.o.Alarm && !w.alarmed(kindVotes) {
		w.check(kindVotes, e, w.words(e))
	}
	if e := w.raters.evidence().Tolerant; e >= w.o.Alarm && !w.alarmed(kindRater) {
		w.check(kindRater, e, w.raterWords(e))
	}
}

const (
	kindVotes  = "votes"
	kindRater  = "rater"
	kindInputs = "inputs"
)

// AlarmKinds are the kinds of alarms.
var AlarmKinds = []string{kindVotes, kindRater, kindInputs}

// leadingGroup returns the group with the largest evidence if it is stronger than that of all votes, or worth a note and apart
// times as strong as that of any other group; else −1.
func (w *Monitor) leadingGroup() int {
	if w.o.By == "" {
		return -1
	}
	g := w.groups.leading()
	if g < 0 {
		return -1
	}
	const apart = 5
	e, second := w.groups.members[g].evidence().Tolerant, 0.0
	for i, p := range w.groups.members {
		if i != g && p.votes > 0 {
			second = max(second, p.evidence().Tolerant)
		}
	}
	if e >= w.pooled.evidence().Tolerant || e >= w.o.Note && e >= apart*second {
		return g
	}
	return -1
}

// words describes the leading group and bet, and the evidence.
func (w *Monitor) words(evidence float64) string {
	p, from := w.pooled, ""
	if g := w.leadingGroup(); g >= 0 {
		p, from = w.groups.members[g], " from "+w.groupName(g)
	}
	text := w.bets[p.leading()].words(w.classes)
	return strings.Replace(text, "votes", "votes"+from, 1) + "; evidence " + odds(evidence)
}

func (w *Monitor) groupName(g int) string {
	name := w.groups.names[g]
	if name == "" {
		name = "(none)"
	}
	return w.o.By + " " + name
}

func (w *Monitor) raterWords(evidence float64) string {
	r := w.raters.leading()
	text := w.byRater[w.raters.members[r].leading()].words(w.classes)
	return strings.Replace(text, "votes", "votes of rater "+w.raters.names[r], 1) + "; evidence " + odds(evidence)
}

// odds formats evidence.
func odds(x float64) string {
	switch {
	case x < 10:
		return fmt.Sprintf("%.1f : 1", x)
	case x < 1e6:
		return words.Thousands(int(x)) + " : 1"
	}
	return fmt.Sprintf("%.0e : 1", x)
}

// Levels of evidence.
const (
	Quiet  = "quiet"
	Little = "little" // evidence against exactness, none beyond the tolerance
	Noted  = "note"
	Raised = "alarm"
)

// Report is the state of a monitor.
type Report struct {
	Level    string   `json:"level"` // quiet, little, note or alarm
	Text     string   `json:"text"`
	Votes    int      `json:"votes"`
	Items    int      `json:"items"` // with votes that count
	Tolerate float64  `json:"tolerate"`
	Note     float64  `json:"note_at"`
	Alarm    float64  `json:"alarm_at"`
	Evidence Evidence `json:"evidence"`
	Largest  Evidence `json:"largest"` // the largest evidence so far

	Bets   []Stream `json:"bets"`
	By     string   `json:"by,omitempty"`
	Groups []Stream `json:"groups,omitempty"`

	RaterEvidence Evidence `json:"rater_evidence"`
	RatersModeled bool     `json:"raters_modelled"`
	Raters        []Stream `json:"raters,omitempty"` // by evidence, largest first

	Inputs   *InputReport `json:"inputs,omitempty"`
	Alarms   []Alarm      `json:"alarms"`
	Warnings []string     `json:"warnings,omitempty"`
	History  []Point      `json:"history"`
}

// Stream is the evidence of one bet, group or rater.
type Stream struct {
	Name  string `json:"name"`
	Text  string `json:"text"`
	Votes int    `json:"votes,omitempty"`
	Evidence
}

// Point is the evidence after a number of votes.
type Point struct {
	Votes int `json:"votes"`
	Evidence
}

// InputReport is the evidence about inputs.
type InputReport struct {
	Items    int        `json:"items"`
	Far      int        `json:"far"`
	Unknown  int        `json:"unknown"`
	Expected InputRates `json:"expected"`
	Evidence float64    `json:"evidence"`
	Text     string     `json:"text"`
}

// Report returns the evidence so far, with at most the given number of points of its history.
func (w *Monitor) Report(points int) *Report {
	r := &Report{Votes: len(w.votes), Items: w.pooled.units, Tolerate: w.o.Tolerate, Note: w.o.Note, Alarm: w.o.Alarm,
		Evidence: w.evidence(), Largest: Evidence{1, 1}, By: w.o.By, RaterEvidence: w.raters.evidence(),
		RatersModeled: w.model != nil, Alarms: append([]Alarm{}, w.alarms...), History: []Point{{0, Evidence{1, 1}}}}
	for _, e := range w.history {
		r.Largest = Evidence{max(r.Largest.Strict, e.Strict), max(r.Largest.Tolerant, e.Tolerant)}
	}
	r.level(w)
	for j, b := range w.bets {
		r.Bets = append(r.Bets, Stream{b.name(w.classes), b.words(w.classes), 0, Evidence{w.pooled.strict[j], w.pooled.tolerant[j]}})
	}
	for g, p := range w.groups.members {
		if w.o.By != "" && p.votes > 0 {
			r.Groups = append(r.Groups, Stream{w.groupName(g), w.bets[p.leading()].words(w.classes), p.votes, p.evidence()})
		}
	}
	for i, p := range w.raters.members {
		if p.votes > 0 {
			r.Raters = append(r.Raters, Stream{w.raters.names[i], w.byRater[p.leading()].words(w.classes), p.votes, p.evidence()})
		}
	}
	slices.SortStableFunc(r.Raters, func(a, b Stream) int { return compareDown(a.Tolerant, b.Tolerant) })
	if n := w.inputs; n != nil && n.items > 0 {
		r.Inputs = &InputReport{n.items, n.far, n.unknown, n.rates, n.evidence(), n.words()}
	}
	r.warn(w)
	step := max(1, (len(w.history)+points-1)/max(points, 1))
	for i, e := range w.history {
		if (i+1)%step == 0 || i == len(w.history)-1 {
			r.History = append(r.History, Point{i + 1, e})
		}
	}
	return r
}

func compareDown(a, b float64) int {
	switch {
	case a > b:
		return -1
	case a < b:
		return 1
	}
	return 0
}

// level sets the level and its text.
func (r *Report) level(w *Monitor) {
	e := r.Evidence
	switch at := slices.IndexFunc(w.alarms, func(a Alarm) bool { return a.Kind == kindVotes }); {
	case at >= 0:
		r.Level, r.Text = Raised, w.alarms[at].Text
	case r.Votes == 0:
		r.Level, r.Text = Quiet, "no votes yet"
	case e.Tolerant >= r.Note:
		r.Level, r.Text = Noted, w.words(e.Tolerant)
	case e.Strict >= r.Alarm:
		r.Level, r.Text = Little, fmt.Sprintf("off by a little, as expected: evidence %s that the model is not exact, %s beyond a bias of %g",
			odds(e.Strict), odds(e.Tolerant), r.Tolerate)
	default:
		r.Level, r.Text = Quiet, "votes are as predicted; evidence "+odds(e.Tolerant)
	}
}

// mostVotes is the share of votes by one rater from which the rater's own bias would dominate the evidence.
const mostVotes = 0.5

// warn adds what limits the conclusions.
func (r *Report) warn(w *Monitor) {
	if r.RatersModeled {
		return
	}
	for _, s := range r.Raters {
		if r.Votes >= 20 && float64(s.Votes) > mostVotes*float64(r.Votes) {
			r.Warnings = append(r.Warnings, fmt.Sprintf("rater %s cast %s of %s votes, and the model does not model raters: the rater's own bias would look like a change",
				s.Name, words.Thousands(s.Votes), words.Thousands(r.Votes)))
		}
	}
}
