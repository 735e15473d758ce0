package baseline

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Options are the settings of the methods. What is left zero gets the default
// that [Method.Settings] lists; what is set but is none of the method's is an error.
type Options struct {
	Classes int `json:"-"` // d ≥ 2

	// Lambda is λ: of qd, how much a shortfall of the coverage counts; of
	// confidence, the weight of −log c at the start.
	Lambda float64 `json:"lambda,omitempty"`
	// Soften is how steep the soft capture of qd is.
	Soften float64 `json:"soften,omitempty"`
	// Level is the share of labels that the intervals of qd shall hold.
	Level float64 `json:"level,omitempty"`
	// Budget is β of confidence: λ is adapted until the mean of −log c is β.
	Budget float64 `json:"budget,omitempty"`
	// Floor is added to the variance of mve, whose loss is unbounded below on
	// labels that are 0 or 1.
	Floor float64 `json:"floor,omitempty"`
	// Warmup is for how many epochs mve fits the mean alone; negative means none.
	Warmup int `json:"warmup,omitempty"`
	// Anneal is after how many epochs the divergence term of evidential counts in
	// full.
	Anneal int `json:"anneal,omitempty"`
	// Evidence is how evidential makes evidence of raw outputs: "softplus",
	// "relu" or "exp".
	Evidence string `json:"evidence,omitempty"`
	// Passes is how often dropout goes through a network.
	Passes int `json:"passes,omitempty"`
}

// Setting describes a setting of a method.
type Setting struct {
	Name    string // in lower case, as in JSON
	Default string
	Meaning string
}

// Settings are those that a method has.
func (m Method) Settings() []Setting {
	switch m {
	case Dropout:
		return []Setting{{"passes", "50", "passes through each network, with dropout on"}}
	case MVE:
		return []Setting{
			{"floor", "0.0001", "least variance"},
			{"warmup", "5", "epochs that fit the mean alone; -1 for none"},
		}
	case QD:
		return []Setting{
			{"lambda", "15", "how much a shortfall of the coverage counts"},
			{"soften", "160", "how steep the soft capture is"},
			{"level", "0.95", "share of labels to capture"},
		}
	case Confidence:
		return []Setting{
			{"lambda", "0.1", "weight of -log confidence at the start"},
			{"budget", "0.3", "mean of -log confidence to aim at"},
		}
	case Evidential:
		return []Setting{
			{"anneal", "10", "epochs until the divergence term counts in full"},
			{"evidence", "softplus", "softplus, relu or exp of the outputs"},
		}
	}
	return nil
}

// field returns where o keeps the setting of that name, a *float64, an *int or a
// *string; nil if there is none.
func (o *Options) field(name string) any {
	switch name {
	case "lambda":
		return &o.Lambda
	case "soften":
		return &o.Soften
	case "level":
		return &o.Level
	case "budget":
		return &o.Budget
	case "floor":
		return &o.Floor
	case "warmup":
		return &o.Warmup
	case "anneal":
		return &o.Anneal
	case "evidence":
		return &o.Evidence
	case "passes":
		return &o.Passes
	}
	return nil
}

// Set gives the setting of that name a value, as a user writes it.
func (o *Options) Set(m Method, name, value string) error {
	var own []string
	for _, s := range m.Settings() {
		own = append(own, s.Name)
	}
	switch {
	case len(own) == 0:
		return fmt.Errorf("method %s has no settings, found %q", m, name)
	case !slices.Contains(own, name):
		return fmt.Errorf("method %s has no setting %q, its settings are [%s]", m, name, strings.Join(own, " "))
	}
	switch p := o.field(name).(type) {
	case *string:
		*p = value
	case *int:
		n, err := strconv.Atoi(value)
		if err != nil || n == 0 {
			return fmt.Errorf("setting %s is %q, want a whole number that is not 0", name, value)
		}
		*p = n
	case *float64:
		x, err := strconv.ParseFloat(value, 64)
		if err != nil || !(x > 0) || math.IsInf(x, 0) {
			return fmt.Errorf("setting %s is %q, want a number above 0", name, value)
		}
		*p = x
	}
	return nil
}

// Get returns the value of the setting of that name as Set takes it, empty if
// there is no such setting.
func (o *Options) Get(name string) string {
	switch p := o.field(name).(type) {
	case *string:
		return *p
	case *int:
		return strconv.Itoa(*p)
	case *float64:
		return strconv.FormatFloat(*p, 'g', -1, 64)
	}
	return ""
}

// Complete returns o with the defaults of the method filled in, or an error
// that says which option is out of range or is none of the method's.
func (o Options) Complete(m Method) (Options, error) {
	if !m.Known() {
		return o, fmt.Errorf("method %q is not one of %q", m, Methods)
	}
	full := Options{Classes: o.Classes}
	for _, s := range m.Settings() {
		if err := full.Set(m, s.Name, s.Default); err != nil {
			return o, err
		}
		switch to := full.field(s.Name).(type) {
		case *string:
			take(to, o.field(s.Name).(*string))
		case *int:
			take(to, o.field(s.Name).(*int))
		case *float64:
			take(to, o.field(s.Name).(*float64))
		}
	}
	if o != (Options{Classes: o.Classes}) { // what no setting of the method took
		text, _ := json.Marshal(o) // numbers and a string
		return o, fmt.Errorf("method %s does not have the settings %s", m, text)
	}
	return full, full.check(m)
}

// take moves a value over a default, unless it is zero.
func take[T comparable](to, from *T) {
	var zero T
	if *from != zero {
		*to, *from = *from, zero
	}
}

func (o *Options) check(m Method) error {
	bad := func(name string, found any, want string) error {
		return fmt.Errorf("method %s: %s %v, want %s", m, name, found, want)
	}
	usable := func(x float64) bool { return x >= 0 && !math.IsInf(x, 0) } // zero if the method has no such setting
	switch {
	case o.Classes < 2:
		return bad("classes", o.Classes, "at least 2")
	case !usable(o.Lambda):
		return bad("lambda", o.Lambda, "more than 0")
	case !usable(o.Soften):
		return bad("soften", o.Soften, "more than 0")
	case !(o.Level >= 0 && o.Level < 1):
		return bad("level", o.Level, "between 0 and 1")
	case !usable(o.Budget):
		return bad("budget", o.Budget, "more than 0")
	case !usable(o.Floor):
		return bad("floor", o.Floor, "more than 0")
	case o.Anneal < 0:
		return bad("anneal", o.Anneal, "at least 1")
	case o.Passes < 0 || o.Passes == 1 || o.Passes > 10000:
		return bad("passes", o.Passes, "between 2 and 10000")
	case m == Evidential && evidences[o.Evidence] == nil:
		return bad("evidence", fmt.Sprintf("%q", o.Evidence), "one of [softplus relu exp]")
	}
	return nil
}
