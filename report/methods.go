package report

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"credence/dataset"
	"credence/evaluate"
	"credence/head"
	"credence/internal/words"
	"credence/train"
)

// methods are sentences on what was done, in the past tense of a journal. A sentence that does not apply is "".
type methods struct {
	sizes, split, outcome, raters           string
	predictors, preparation, missing        string
	model, fitting, imbalance, calibration  string
	output, predictions, measures, errors   string
	groups, heterogeneity, performance      string
	software, hashes, specification, update string
	reporting                               string

	references []string // cited by their numbers
}

// Paragraphs returns the methods as text to paste.
func (m *methods) Paragraphs() []string {
	join := func(sentences ...string) string {
		return strings.Join(slices.DeleteFunc(sentences, func(s string) bool { return s == "" }), " ")
	}
	return slices.DeleteFunc([]string{
		join(m.sizes, m.split, m.outcome, m.raters),
		join(m.predictors, m.preparation, m.missing),
		join(m.model, m.fitting, m.imbalance, m.calibration, m.update),
		join(m.output, m.measures, m.groups, m.errors),
		join(m.software, m.hashes, m.predictions, m.reporting),
	}, func(s string) bool { return s == "" })
}

// References returns the list of references.
func (m *methods) References() []string { return m.references }

// cite adds a reference, if it is new, and returns its number in brackets.
func (m *methods) cite(reference string) string {
	i := slices.Index(m.references, reference)
	if i < 0 {
		i = len(m.references)
		m.references = append(m.references, reference)
	}
	return fmt.Sprintf("[%d]", i+1)
}

const (
	wuReference = "Wu Q, Li H, Li L, Yu Z. Quantifying intrinsic uncertainty in classification via deep Dirichlet mixture networks. " +
		"International Conference on Machine Learning (ICML), 2019."
	tripodReference = "Collins GS, Moons KGM, Dhiman P, et al. TRIPOD+AI statement: updated guidance for reporting clinical prediction models " +
		"that use regression or machine learning methods. BMJ 2024;385:e078378."
	vickersReference = "Vickers AJ, Elkin EB. Decision curve analysis: a novel method for evaluating prediction models. Med Decis Making " +
		"2006;26:565–574."
	austinReference = "Austin PC, Steyerberg EW. The Integrated Calibration Index (ICI) and related metrics for quantifying the calibration of " +
		"logistic regression models. Stat Med 2019;38:4051–4065."
	lairdReference = "DerSimonian R, Laird N. Meta-analysis in clinical trials. Control Clin Trials 1986;7:177–188."
)

// newMethods describes the run and the evaluation.
func newMethods(in *Input) (*methods, error) {
	m := &methods{}
	var o train.Options
	if p := in.Provenance; p != nil && len(p.Config) > 0 {
		if err := json.Unmarshal(p.Config, &o); err != nil {
			return nil, fmt.Errorf("training configuration: %w", err)
		}
	}
	m.data(in)
	m.features(in.Study.Features)
	m.fit(in, &o)
	m.evaluation(in)
	m.program(in)
	return m, nil
}

// data describes items, votes and how they were divided.
func (m *methods) data(in *Input) {
	var sizes []string
	if p := in.Provenance; p != nil && p.Split.Items > 0 {
		s := p.Split
		text := fmt.Sprintf("The model was developed on %s with %s", words.Plural(s.Items-s.Unvoted, "item"), words.Plural(s.Votes, "vote"))
		if s.Unvoted > 0 {
			text += fmt.Sprintf(", after leaving out %s without votes", words.Plural(s.Unvoted, "item"))
		}
		sizes = append(sizes, text+".")
		switch {
		case s.Folds > 0:
			m.split = fmt.Sprintf("Items were divided at random into %d folds, and each network held one of them out, on which its training was stopped.",
				s.Folds)
		case s.HeldOut > 0:
			m.split = fmt.Sprintf("Training was stopped on %s that were held out.", words.Plural(s.HeldOut, "item"))
		}
		if in.Study.Part == "test" {
			m.split = strings.TrimSpace("A test part was set aside before training. " + m.split)
		}
		if m.split != "" && in.Study.Group != "" {
			m.split += fmt.Sprintf(" Items of one %s were kept together.", in.Study.Group)
		}
	}
	if r := in.Result; r != nil {
		text := fmt.Sprintf("It was evaluated on %s with %s", words.Plural(r.VotedItems, "item"), words.Plural(float64(r.Votes), "vote"))
		if in.Votes.Classes > 0 {
			text += " (" + strings.Join(classVotes(in), ", ") + ")"
		}
		switch {
		case in.Study.Seen >= r.Items && r.Items > 0:
			text += ", all of which it had been trained on"
		case in.Study.Seen > 0:
			text += fmt.Sprintf(", %s of which it had been trained on", count(float64(in.Study.Seen)))
		case in.Study.Part != "":
			text += fmt.Sprintf(", the %s part of the data, none of which it had been trained on", in.Study.Part)
		default:
			text += ", none of which it had been trained on"
		}
		sizes = append(sizes, text+".")
	}
	m.sizes = strings.Join(sizes, " ")
	m.outcome = fmt.Sprintf("The outcome was the class that a rater chose for an item: %s.",
		words.List(words.Each(in.Classes, func(c string) string { return c }), "or"))
	if in.Scale != nil {
		m.outcome = strings.TrimSuffix(m.outcome, ".") + ", in this order."
	}
	if r := in.Raters; r != nil {
		m.raters = fmt.Sprintf("Votes were cast by %s.", words.Plural(len(r.Raters), "rater"))
	}
}

// shownPredictors is the maximum number of predictors that are named.
const shownPredictors = 20

// features describes the predictors.
func (m *methods) features(list []dataset.Feature) {
	if len(list) == 0 {
		return
	}
	names := map[dataset.Kind][]string{}
	judges := false
	for _, f := range list {
		names[f.Kind] = append(names[f.Kind], f.Name)
		judges = judges || f.Judge
	}
	var kinds, how, missing []string
	add := func(kind dataset.Kind, one, prepared, absent string) {
		if n := len(names[kind]); n > 0 {
			kinds = append(kinds, fmt.Sprintf("%s (%s)", words.Plural(n, one), some(names[kind], shownPredictors)))
			how = append(how, prepared)
			missing = append(missing, absent)
		}
	}
	add(dataset.Numeric, "numeric variable", "numeric variables were standardized by the mean and standard deviation of the training items",
		"a missing number was replaced by the mean, with an indicator where numbers were missing in training")
	add(dataset.Categorical, "categorical variable", "categories were coded by indicators, or by integer codes where there are many levels",
		"a missing or unknown category was a level of its own")
	add(dataset.Text, "text", "texts were reduced to class scores by ridge logistic regression on hashed words and characters, fitted by folds",
		"a missing text was empty")
	add(dataset.Tensor, "array of values", "arrays of values were standardized", "missing values of an array were replaced by the mean")
	m.predictors = fmt.Sprintf("Predictors were %s.", words.List(kinds, "and"))
	if judges {
		m.predictors += " Votes of machines were among them."
	}
	m.preparation, m.missing = sentence(strings.Join(how, "; ")), sentence(strings.Join(missing, "; "))
}

// fit describes the model and how it was fitted.
func (m *methods) fit(in *Input, o *train.Options) {
	if in.Members == 0 || in.Method == nil {
		return
	}
	network := cmp.Or(in.Network, "custom layers")
	if network == "mlp" {
		network = "multilayer perceptron"
		if len(o.Widths) > 0 {
			network += " with hidden layers of " + words.List(words.Each(o.Widths, strconv.Itoa), "and") + " units"
		}
	} else {
		network = "network of type " + network
	}
	article := "A " + network
	if in.Members > 1 {
		article = fmt.Sprintf("An ensemble of %d networks, each a %s,", in.Members, network)
	}
	if x, ok := in.Method.(head.Mixture); ok {
		m.model = fmt.Sprintf("%s was fitted as a deep Dirichlet mixture network %s: from the predictors of an item it computes a mixture of %s of "+
			"the class probabilities (%s parameters in all), and it was trained by the exact likelihood of all votes on an item together.", article, m.cite(wuReference),
			words.Plural(x.Components, "Dirichlet distribution"), count(float64(in.Parameters)))
	} else {
		m.model = fmt.Sprintf("%s was fitted by the method %s (%s parameters in all).", article, in.Method.Name(), count(float64(in.Parameters)))
	}
	if o.Optimizer != "" {
		name := map[string]string{"adamw": "AdamW", "adam": "Adam", "sgd": "stochastic gradient descent"}[o.Optimizer]
		m.fitting = fmt.Sprintf("The optimizer was %s (learning rate %g, batches of %s, weight decay %g, dropout %g), for at most %s",
			cmp.Or(name, o.Optimizer), o.Rate, words.Plural(o.Batch, "item"), max(0, o.WeightDecay), max(0, o.Dropout), words.Plural(o.Epochs, "epoch"))
		if o.Patience > 0 {
			m.fitting += fmt.Sprintf(", stopped after %s without a smaller loss on held-out items; the weights with the smallest were kept",
				words.Plural(o.Patience, "epoch"))
		}
		m.fitting += "."
	}
	m.imbalance = "No method for class imbalance was used."
	if o.ClassWeights != nil {
		m.imbalance = fmt.Sprintf("Votes were weighted by class (%s).",
			strings.Join(words.Each(o.ClassWeights, func(x float64) string { return fmt.Sprintf("%g", x) }), ", "))
	}
	if p := in.Provenance; p != nil && p.Raters != nil {
		if p.Raters.Known {
			m.raters = strings.TrimSpace(m.raters + " The bias and guess rate of each rater were estimated with the model, and probabilities are those " +
				"of an average rater.")
		} else {
			m.raters = strings.TrimSpace(m.raters + " All votes had equal weight.")
		}
	}
	if c := in.Study.Calibration; c != nil && c.Items > 0 {
		m.calibration = fmt.Sprintf("The spread of the predicted distributions was calibrated by pairs of votes on %s (variances times %.2f).",
			words.Plural(c.Items, "held-out item"), c.Scale)
	}
	if r := in.Study.Recalibration; r != nil {
		m.update = fmt.Sprintf("Predictions were later adjusted to %s on %s.", words.Plural(r.Votes, "vote"), words.Plural(r.Items, "item"))
	}
}

// evaluation describes the measures and their errors.
func (m *methods) evaluation(in *Input) {
	r := in.Result
	if r == nil {
		return
	}
	m.output = fmt.Sprintf("For each item the model gives a distribution of the probability of each class, of which we report the mean and %s "+
		"credible intervals.", percent(r.Level))
	measures := "We report the negative log-likelihood per vote next to that of simpler models, accuracy, the Brier score, calibration curves, " +
		"the expected calibration error after removing sampling noise, and the dispersion ratio: the variance of the true probabilities about " +
		"the predicted means, estimated from pairs of votes, over the predicted variance."
	m.errors = fmt.Sprintf("Intervals are at 95%%; standard errors are from %s of %s (seed %d), with the model held fixed.",
		words.Plural(r.Replicates, "bootstrap sample"), words.Plural(r.Units, unitNoun(in)), r.Seed)
	m.performance = performance(r)
	if d := r.Decisions; d != nil {
		m.decisions(d)
		measures = strings.TrimSuffix(measures, ".") + ". " + m.decisionMeasures(d)
	}
	m.measures = measures
	var columns []string
	for _, c := range r.DispersionBy {
		if c.Column != "spread" {
			columns = append(columns, c.Column)
		}
	}
	if columns != nil {
		m.groups = fmt.Sprintf("Results are also given by %s.", words.List(columns, "and"))
		_, _, m.heterogeneity = subgroups(r)
		if r.Decisions != nil && len(r.Decisions.By) > 0 {
			m.groups += fmt.Sprintf(" Heterogeneity was assessed by random-effects models %s.", m.cite(lairdReference))
		}
	}
}

// unitNoun names what the bootstrap draws.
func unitNoun(in *Input) string {
	if in.Result.Units < in.Result.Items {
		return "group"
	}
	return "item"
}

// decisions adds what is reported at thresholds.
func (m *methods) decisions(d *evaluate.Decisions) {
	m.output += fmt.Sprintf(" An item was called %s from a probability of %s on.", d.Positive,
		words.List(words.Each(d.Thresholds, func(t evaluate.DecisionThreshold) string { return fmt.Sprintf("%.3g", t.Threshold) }), "or"))
}

// decisionMeasures describes the scores of decisions and the reference standard.
func (m *methods) decisionMeasures(d *evaluate.Decisions) string {
	return fmt.Sprintf("Decisions on %s were compared with %s. Discrimination was assessed by the area under the ROC curve, decisions by "+
		"sensitivity, specificity, predictive values and likelihood ratios, calibration by intercept, slope, the ratio of observed to expected "+
		"and the integrated calibration index %s, and clinical utility by net benefit %s. Their standard errors follow from the influence of items, summed within groups of items that belong together.",
		d.Positive, d.Basis(), m.cite(austinReference), m.cite(vickersReference))
}

// performance states the main results.
func performance(r *evaluate.Result) string {
	var list []string
	for _, x := range mainScores(r) {
		list = append(list, lowerFirst(x.Name)+" "+x.Value)
	}
	return sentence(strings.Join(list, "; "))
}

// lowerFirst returns a name of a score within a sentence; abbreviations stay as they are.
func lowerFirst(s string) string {
	if len(s) > 1 && strings.ToUpper(s[:2]) == s[:2] {
		return s
	}
	return strings.ToLower(s[:1]) + s[1:]
}

// program describes the software and identifies data and model.
func (m *methods) program(in *Input) {
	version := ""
	p := in.Provenance
	if p != nil && p.Version != "" {
		version = " " + p.Version
	}
	software := fmt.Sprintf("Credence%s: class probabilities with credible intervals from several votes per item.", version)
	m.software = fmt.Sprintf("All computations were done with Credence%s %s", version, m.cite(software))
	if p != nil {
		m.software += fmt.Sprintf(" (instruction set %s, training seed %d)", p.Kernel, p.Seed)
	}
	m.software += "."
	var sums []string
	if p != nil && p.Data != "" {
		sums = append(sums, "training data "+p.Data)
	}
	for _, x := range []struct{ name, sum string }{{"model", in.Study.Model}, {"evaluated data", in.Study.Data}} {
		if x.sum != "" {
			sums = append(sums, x.name+" "+x.sum)
		}
	}
	if len(sums) > 0 {
		m.hashes = fmt.Sprintf("SHA-256 sums: %s.", strings.Join(sums, ", "))
	}
	if in.Study.Model != "" {
		m.specification = fmt.Sprintf("The model file (safetensors, SHA-256 %s) has all %s parameters and the preprocessing.",
			in.Study.Model, count(float64(in.Parameters)))
		m.predictions = "Predictions were computed by the same program from the stored model, which includes the preprocessing of the predictors."
	}
	if in.Study.checklist() {
		m.reporting = "Reporting follows TRIPOD+AI " + m.cite(tripodReference) + "."
	}
}
