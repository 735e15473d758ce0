package study

import "fmt"

// pageDependence says what coverage depends on, in words and numbers.
func (r *coverageResults) pageDependence(p *page) {
	p.heading(2, "What coverage depends on")
	for _, level := range []float64{0.95, 0.75} {
		f := r.epochFigure(level)
		p.figure(f.file+".svg", f.caption)
	}
	p.paragraph("**Epochs.** %s", r.onEpochs())
	p.paragraph("**Teacher.** %s", r.onChange("a teacher of three epochs, whose probabilities are more extreme,", setting{2, 2, 3}))
	p.paragraph("**Votes.** %s", r.onChange("three votes an image instead of two", setting{2, 3, 1}))
	on, off := r.curve(headline, chosen, 0, true), r.curve(headline, chosen, 0, false)
	p.paragraph(`**Resolution.** With the rule, coverage at 75%% goes from %s to %s and at 95%% from %s to %s. It touches %s%% of the intervals at 95%%:
		most images are all but certain to the teacher, their probabilities are beyond what the votes can tell from zero or one, and a
		student's interval there rests on how a network extrapolates rather than on votes.`,
		withError(off[levelIndex(0.75)]), withError(on[levelIndex(0.75)]), withError(off[levelIndex(0.95)]), withError(on[levelIndex(0.95)]),
		withError(r.number(headline, func(c cellResult) float64 {
			return c.network(chosen).Classes[0].On.Touched[len(PaperLevels)-1]
		}, true)))
	s, e := r.curve(headline, single, 0, true)[levelIndex(0.95)], r.curve(headline, ensemble, 0, true)[levelIndex(0.95)]
	p.paragraph(`**One network or five.** At 95%% with the rule on, %s covers %s and %s %s. Networks differ in their errors, so a mixture of
		them is wider than each: it repairs a network that claims too much and over-covers where one alone is right. Its coverage also differs
		less between seeds. Accuracies are %s and %s.`, single, withError(s), "the "+ensemble, withError(e),
		withError(r.accuracy(headline, single)), withError(r.accuracy(headline, ensemble)))
}

// onEpochs tells the coverage of one network after the first and the last epoch.
func (r *coverageResults) onEpochs() string {
	text := ""
	for _, on := range rules {
		var first, last []float64
		epoch := 0
		for _, c := range r.of(headline) {
			for _, x := range c.Epochs {
				if x.Network != single {
					continue
				}
				if x.Epoch == 1 {
					first, last = append(first, 0), append(last, 0)
					first[len(first)-1] = x.rule(on)[len(PaperLevels)-1]
				}
				last[len(last)-1] = x.rule(on)[len(PaperLevels)-1]
				epoch = max(epoch, x.Epoch)
			}
		}
		text += fmt.Sprintf("With the rule %s, the 95%% intervals of one network cover %s after one epoch and %s after %d. ",
			onOff(on), withError(newEstimate(first, 0)), withError(newEstimate(last, 0)), epoch)
	}
	return text + `Training on drives the concentrations up and the intervals together, while the means get no better: the number of epochs, which a
		report on coverage has to state, decides more than the method does. From one epoch to the next, coverage of a single network jumps by
		many points, because the last steps of training move the logits of all extreme images together.`
}

// onChange compares a setting with the headline one.
func (r *coverageResults) onChange(what string, s setting) string {
	if len(r.of(s)) == 0 {
		return "Not part of the quick version."
	}
	text := fmt.Sprintf("With %s ", what)
	for i, on := range rules {
		if i > 0 {
			text += "; "
		}
		was, is := r.curve(headline, chosen, 0, on), r.curve(s, chosen, 0, on)
		text += fmt.Sprintf("(rule %s) coverage at 75%% is %s instead of %s, at 95%% %s instead of %s", onOff(on),
			withError(is[levelIndex(0.75)]), withError(was[levelIndex(0.75)]), withError(is[levelIndex(0.95)]), withError(was[levelIndex(0.95)]))
	}
	return text + "."
}
