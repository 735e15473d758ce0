package study

import (
	"fmt"
	"slices"
	"strings"

	"credence/head"
	"credence/train"
)

// method is one of those compared.
type method struct {
	key, label, short string
	options           train.Options // what makes it this method
	// grid are the settings it chooses from; the first are its defaults.
	grid []train.Options
}

// annealed trains for a few epochs with a rate that falls to zero, and keeps
// the last weights. The votes of a fold of hundreds of items, of which few
// differ, carry little information about which epoch is best.
func annealed(o train.Options) train.Options {
	o.Schedule, o.Epochs, o.Patience = "cosine", 15, -1
	return o
}

// asShipped is the key of a fit with the defaults of the command line: five networks, with reported
// predictions.
const asShipped = "defaults"

// The methods: what is shipped, the mixture head as the study has it, then those of the paper, then further ones.
// Rivals choose between settings of their own, between strengths of the weight
// decay or dropout where there is no other setting, and whether to be
// annealed, as the mixture is, or stopped by what they hold out.
var methods = []method{
	{asShipped, "defaults, as reported", "defaults", train.Options{Head: head.Mixture{}}, nil},
	{"mixture10", "mixture, K = 10", "K = 10", train.Options{Head: head.Mixture{Components: 10}},
		[]train.Options{annealed(train.Options{})}},
	{"mixture1", "mixture, K = 1", "K = 1", train.Options{Head: head.Mixture{Components: 1}},
		[]train.Options{annealed(train.Options{})}},
	{"mve", "mean-variance estimation", "MVE", train.Options{Head: head.MVE{}}, []train.Options{
		{Head: head.MVE{Warmup: 5}}, {Head: head.MVE{Warmup: -1}}, {Head: head.MVE{Warmup: 20}},
		{Head: head.MVE{Warmup: 5}, WeightDecay: 0.1}, {Head: head.MVE{Warmup: 20}, WeightDecay: 0.1},
		annealed(train.Options{Head: head.MVE{Warmup: 5}}),
	}},
	{"qd", "quality-driven intervals", "QD", train.Options{Head: head.QD{}}, []train.Options{
		{Head: head.QD{Lambda: 15, Soften: 160}}, {Head: head.QD{Lambda: 15, Soften: 50}},
		{Head: head.QD{Lambda: 5, Soften: 160}}, {Head: head.QD{Lambda: 5, Soften: 50}},
		{Head: head.QD{Lambda: 50, Soften: 50}}, annealed(train.Options{Head: head.QD{Lambda: 15, Soften: 160}}),
	}},
	{"confidence", "confidence network", "confidence", train.Options{Head: head.Confidence{}}, []train.Options{
		{Head: head.Confidence{Budget: 0.3}}, {Head: head.Confidence{Budget: 0.1}},
		{Head: head.Confidence{Budget: 0.6}}, {Head: head.Confidence{Budget: 1}},
		annealed(train.Options{Head: head.Confidence{Budget: 0.3}}),
	}},
	{"softmax", "softmax", "softmax", train.Options{Head: head.Softmax{}}, []train.Options{
		{}, {WeightDecay: 0.1}, {WeightDecay: 0.5}, annealed(train.Options{}),
	}},
	{"dropout", "Monte Carlo dropout", "MC dropout", train.Options{Head: head.Dropout{}}, []train.Options{
		{Dropout: 0.1, Head: passes}, {Dropout: 0.05, Head: passes}, {Dropout: 0.2, Head: passes},
		{Dropout: 0.4, Head: passes},
		annealed(train.Options{Dropout: 0.1, Head: passes}),
	}},
	{"evidential", "evidential network", "evidential", train.Options{Head: head.Evidential{}}, []train.Options{
		{Head: head.Evidential{Anneal: 10, Evidence: "softplus"}},
		{Head: head.Evidential{Anneal: 50, Evidence: "softplus"}},
		{Head: head.Evidential{Anneal: 10, Evidence: "exp"}}, {Head: head.Evidential{Anneal: 10, Evidence: "relu"}},
		annealed(train.Options{Head: head.Evidential{Anneal: 10, Evidence: "exp"}}),
	}},
}

// passes is the number of forward passes of Monte Carlo dropout: enough for a
// standard deviation to within a seventh.
var passes = head.Dropout{Passes: 30}

// ours reports whether the method is the mixture.
func (m method) ours() bool { return m.options.Head.Name() == head.Mixture{}.Name() }

// methodOf returns the method of a key.
func methodOf(key string) method {
	return methods[slices.IndexFunc(methods, func(m method) bool { return m.key == key })]
}

// first returns the settings that the method has without tuning.
func (m method) first() train.Options {
	if len(m.grid) == 0 {
		return train.Options{}
	}
	return m.grid[0]
}

// meaning describes the method's measure of uncertainty.
func (m method) meaning() string {
	if m.ours() {
		return "The variance of the probability itself, given the item: that of the predicted " +
			"Beta mixture, fitted to the votes on an item jointly."
	}
	h := m.options.Head
	if first := m.first().Head; first != nil {
		h = first
	}
	r, err := h.New(head.Task{Classes: 2})
	if err != nil {
		panic(err) // the methods above are those there are
	}
	return r.Traits().Meaning
}

// contender is a method with a number of networks.
type contender struct {
	method       method
	label, short string
	networks     int
}

// contenders are all that are compared: what is shipped, then each method as an
// ensemble and as one network.
func contenders(ensemble int) []contender {
	var list []contender
	for _, m := range methods {
		several := contender{m, fmt.Sprintf("%s, %d networks", m.label, ensemble),
			fmt.Sprintf("%s × %d", m.short, ensemble), ensemble}
		one := contender{m, m.label + ", one network", m.short + " × 1", 1}
		if m.key == "softmax" {
			several.label, several.short = fmt.Sprintf("deep ensemble of %d", ensemble),
				fmt.Sprintf("deep ensemble × %d", ensemble)
			one.label, one.short = "softmax, p(1−p)", "softmax, p(1−p)"
		}
		if m.key == asShipped {
			list = append(list, contender{m, m.label, m.short, train.Defaults().Ensemble})
			continue
		}
		if m.key == "dropout" {
			list = append(list, one) // its passes are its ensemble
			continue
		}
		list = append(list, several, one)
	}
	return list
}

// combine returns the options of a fit: those of every method, of this one, and
// its settings.
func (c Comparison) combine(m method, settings train.Options, networks int, seed uint64) train.Options {
	o := c.Common
	if m.key == asShipped {
		o = train.Options{}
	}
	o.Seed, o.Ensemble, o.NoReferences = seed, networks, true
	o.Head = m.options.Head
	overlay(&o, settings)
	return o
}

// overlay sets in o what is set in settings.
func overlay(o *train.Options, settings train.Options) {
	if settings.Head != nil {
		o.Head = mergeHead(o.Head, settings.Head)
	}
	for _, pair := range []struct{ to, from *float64 }{
		{&o.Dropout, &settings.Dropout}, {&o.WeightDecay, &settings.WeightDecay},
		{&o.Rate, &settings.Rate},
	} {
		if *pair.from != 0 {
			*pair.to = *pair.from
		}
	}
	if settings.Widths != nil {
		o.Widths = settings.Widths
	}
	if settings.Schedule != "" {
		o.Schedule, o.Epochs = settings.Schedule, settings.Epochs
	}
	if settings.Patience != 0 {
		o.Patience = settings.Patience
	}
}

// mergeHead returns settings, with what it leaves zero of a mixture taken from h.
func mergeHead(h, settings head.Method) head.Method {
	m, ok := settings.(head.Mixture)
	if from, too := h.(head.Mixture); ok && too {
		if m.Components == 0 {
			m.Components = from.Components
		}
		if m.Limit == 0 {
			m.Limit = from.Limit
		}
		return m
	}
	return settings
}

// settingsText writes the settings that are set.
func settingsText(o train.Options) string {
	var parts []string
	say := func(name string, v float64) {
		switch {
		case v < 0:
			parts = append(parts, "no "+name)
		case v != 0:
			parts = append(parts, fmt.Sprintf("%s %g", name, v))
		}
	}
	mixture, _ := o.Head.(head.Mixture)
	if mixture.Components != 0 {
		parts = append(parts, fmt.Sprintf("K = %d", mixture.Components))
	}
	if o.Widths != nil {
		parts = append(parts, strings.ReplaceAll(strings.Trim(fmt.Sprint(o.Widths), "[]"), " ", " × "))
	}
	switch h := o.Head.(type) {
	case head.MVE:
		say("warm-up", float64(h.Warmup))
	case head.QD:
		say("lambda", h.Lambda)
		say("soften", h.Soften)
	case head.Confidence:
		say("budget", h.Budget)
	case head.Dropout:
		say("passes", float64(h.Passes))
	case head.Evidential:
		say("anneal", float64(h.Anneal))
		parts = append(parts, "evidence "+h.Evidence)
	}
	say("dropout", o.Dropout)
	say("weight decay", o.WeightDecay)
	say("rate", o.Rate)
	say("limit", mixture.Limit)
	if o.Schedule != "" {
		parts = append(parts, fmt.Sprintf("%s rate over %d epochs", o.Schedule, o.Epochs))
	}
	if o.Patience > 0 {
		parts = append(parts, fmt.Sprintf("patience %d", o.Patience))
	}
	if len(parts) == 0 {
		return "defaults"
	}
	return strings.Join(parts, ", ")
}
