package report

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"credence/internal/words"
)

// tripodItem is an item of the checklist, with what it asks for in a few words.
type tripodItem struct{ part, number, topic, asks string }

// tripod is the TRIPOD+AI checklist: the 27 items and their parts in the order and with the numbers of G. S.
// Collins, K. G. M. Moons, P. Dhiman et al., BMJ 2024;385:e078378, table 2; the words are ours.
var tripod = []tripodItem{
	{"Title", "1", "Title", "development or evaluation, target population, outcome"},
	{"Abstract", "2", "Abstract", "as TRIPOD+AI for abstracts asks"},
	{"Introduction", "3a", "Background", "context, rationale, existing models"},
	{"Introduction", "3b", "Background", "target population, purpose in the care pathway, users"},
	{"Introduction", "3c", "Background", "known health inequalities"},
	{"Introduction", "4", "Objectives", "aims: development, evaluation or both"},
	{"Methods", "5a", "Data", "sources for development and evaluation, representativeness"},
	{"Methods", "5b", "Data", "dates of collection and follow-up"},
	{"Methods", "6a", "Participants", "setting, number and location of centers"},
	{"Methods", "6b", "Participants", "eligibility"},
	{"Methods", "6c", "Participants", "treatments, and how they were handled"},
	{"Methods", "7", "Data preparation", "preprocessing and quality checks, also by group"},
	{"Methods", "8a", "Outcome", "definition, horizon, how and when assessed"},
	{"Methods", "8b", "Outcome", "qualification and background of the assessors"},
	{"Methods", "8c", "Outcome", "blinding of the assessment"},
	{"Methods", "9a", "Predictors", "how the initial ones were chosen"},
	{"Methods", "9b", "Predictors", "definitions, how and when measured"},
	{"Methods", "9c", "Predictors", "assessors of those that need judgment"},
	{"Methods", "10", "Sample size", "how determined and why sufficient"},
	{"Methods", "11", "Missing data", "how handled, reasons for omissions"},
	{"Methods", "12a", "Analysis", "how the data were used and partitioned"},
	{"Methods", "12b", "Analysis", "how predictors were transformed"},
	{"Methods", "12c", "Analysis", "type of model, all steps of building it, internal validation"},
	{"Methods", "12d", "Analysis", "heterogeneity between clusters"},
	{"Methods", "12e", "Analysis", "measures and plots of performance"},
	{"Methods", "12f", "Analysis", "updating after evaluation"},
	{"Methods", "12g", "Analysis", "how predictions were calculated"},
	{"Methods", "13", "Class imbalance", "methods used, and recalibration after them"},
	{"Methods", "14", "Fairness", "approaches and their rationale"},
	{"Methods", "15", "Model output", "probabilities or classes, and how thresholds were chosen"},
	{"Methods", "16", "Training versus evaluation", "differences in setting, eligibility, outcome, predictors"},
	{"Methods", "17", "Ethical approval", "committee, consent or waiver"},
	{"Open science", "18a", "Funding", "sources, and the role of funders"},
	{"Open science", "18b", "Conflicts of interest", "declarations of all authors"},
	{"Open science", "18c", "Protocol", "where it is, or that there is none"},
	{"Open science", "18d", "Registration", "register and number, or that there is none"},
	{"Open science", "18e", "Data sharing", "availability of the data"},
	{"Open science", "18f", "Code sharing", "availability of the code"},
	{"Patient and public involvement", "19", "Involvement", "in design, conduct, reporting, or none"},
	{"Results", "20a", "Participants", "flow, numbers with and without the outcome"},
	{"Results", "20b", "Participants", "characteristics, also by source and group"},
	{"Results", "20c", "Participants", "comparison with the development data"},
	{"Results", "21", "Model development", "participants and events in each analysis"},
	{"Results", "22", "Model specification", "the full model, and access to it"},
	{"Results", "23a", "Model performance", "estimates with intervals, also by subgroup"},
	{"Results", "23b", "Model performance", "heterogeneity between clusters"},
	{"Results", "24", "Model updating", "results of any updating"},
	{"Discussion", "25", "Interpretation", "main results, fairness, earlier studies"},
	{"Discussion", "26", "Limitations", "and their effects on bias, uncertainty and generalizability"},
	{"Discussion", "27a", "Usability", "poor or missing inputs in use"},
	{"Discussion", "27b", "Usability", "interaction and expertise of users"},
	{"Discussion", "27c", "Usability", "next steps of research"},
}

// checkRow is a row of the checklist. Part is set in the first row of each part.
type checkRow struct {
	Part, Number, Topic, Asks string
	Answer                    []string // nil if it is to be written
	Missing                   string   // what is still to be written in spite of an answer
	Where                     string
}

// Checklist returns the rows of the checklist. The template calls it last, when the numbers of all sections are known.
func (p *page) Checklist() []checkRow {
	if !p.study.checklist() {
		return nil
	}
	known := p.answers()
	var rows []checkRow
	part := ""
	for _, i := range tripod {
		row := checkRow{Number: i.number, Topic: i.topic, Asks: i.asks}
		if i.part != part {
			part, row.Part = i.part, i.part
		}
		a := known[i.number]
		if p.study.Card != nil {
			row.Answer = slices.Clone(p.study.Card.Tripod[i.number])
		}
		for _, k := range CardKeys {
			if slices.Contains(k.Items, i.number) {
				row.Answer = append(row.Answer, p.study.Card.paragraphs(k.Key)...)
			}
		}
		if a.text != "" {
			if row.Answer == nil {
				row.Missing = a.missing
			}
			row.Answer = append(row.Answer, a.text)
			row.Where = p.where(a.sections, a.figures)
		}
		rows = append(rows, row)
	}
	return rows
}

// Answered counts the rows of a checklist with an answer, and those that lack nothing.
func answered(rows []checkRow) (some, whole int) {
	for _, r := range rows {
		if r.Answer != nil {
			some++
			if r.Missing == "" {
				whole++
			}
		}
	}
	return some, whole
}

// ChecklistNote returns how much of the checklist is filled in.
func (p *page) ChecklistNote() string {
	some, whole := answered(p.Checklist())
	return fmt.Sprintf("Of %d entries, %d are filled in from the run and the card, %d of them in part; %d are to be written.",
		len(tripod), some, some-whole, len(tripod)-some)
}

// where names sections and figures: "Sections 2 and 5, Figures 3–8".
func (p *page) where(sections []string, figures []*figure) string {
	var parts []string
	var numbers []int
	for _, id := range sections {
		if n := p.sections[id]; n > 0 {
			numbers = append(numbers, n)
		}
	}
	slices.Sort(numbers)
	if len(numbers) > 0 {
		parts = append(parts, plural("Section", len(numbers))+" "+words.List(words.Each(numbers, strconv.Itoa), "and"))
	}
	figures = drawn(slices.Clone(figures))
	if n := len(figures); n > 0 {
		text := fmt.Sprintf("%s %d", plural("Figure", n), figures[0].Number)
		if n > 1 {
			text += fmt.Sprintf("–%d", figures[n-1].Number)
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, ", ")
}

func plural(noun string, n int) string {
	if n == 1 {
		return noun
	}
	return noun + "s"
}

// answer is what the run knows about an item, what of it remains to be written, and where the page has more.
type answer struct {
	text, missing string
	sections      []string
	figures       []*figure
}

// answers returns what the run knows, by the number of the item.
func (p *page) answers() map[string]answer {
	in, s, m := p.in, p.study, p.methods
	methods := []string{"methods"}
	performance := slices.Clone(p.Calibration)
	if p.Decisions != nil {
		performance = append(performance, p.Decisions.Figures...)
	}
	known := map[string]answer{
		"7":   {text: m.preparation, missing: "quality checks, and whether they were alike in all groups", sections: methods},
		"8a":  {text: m.outcome, missing: "how and when votes were cast", sections: []string{"data"}},
		"8b":  {text: m.raters, missing: "the qualification of the raters", sections: []string{"raters"}},
		"9b":  {text: m.predictors, missing: "how and when they were measured", sections: methods},
		"10":  {text: m.sizes, missing: "why that is sufficient", sections: []string{"front", "data"}, figures: []*figure{p.Flow}},
		"11":  {text: m.missing, sections: methods},
		"12a": {text: m.split, sections: methods, figures: []*figure{p.Flow}},
		"12b": {text: m.preparation, sections: methods},
		"12c": {text: strings.Join(nonEmpty(m.model, m.fitting, m.calibration), " "), sections: append(methods, "training", "reproduce")},
		"12e": {text: m.measures, sections: append(methods, "scores", "calibration", "decisions"), figures: performance},
		"12g": {text: m.predictions, sections: []string{"reproduce"}},
		"13":  {text: m.imbalance, sections: methods},
		"15":  {text: m.output, sections: []string{"use"}, figures: p.Examples},
		"18f": {text: m.software, missing: "where your own code is", sections: []string{"reproduce", "cite"}},
		"20a": {text: m.sizes, sections: []string{"front"}, figures: []*figure{p.Flow}},
		"21":  {text: m.sizes, sections: []string{"data", "training"}},
		"22":  {text: m.specification, missing: "who may have it", sections: []string{"reproduce"}},
		"23a": {text: m.performance, sections: []string{"front", "scores", "calibration", "decisions"}, figures: performance},
		"26":  {text: strings.Join(p.Warnings, " "), missing: "other limitations", sections: []string{"warnings"}},
	}
	if m.missing != "" {
		text := "In predictions as in training: " + strings.ToLower(m.missing[:1]) + m.missing[1:]
		known["27a"] = answer{text: text, missing: "how poor inputs are recognized", sections: methods}
	}
	if decisions(in) != nil {
		a := known["15"]
		a.missing = "how the threshold was chosen"
		known["15"] = a
	}
	if in.Title != "" {
		known["1"] = answer{text: in.Title}
	}
	if s.Recalibration == nil {
		known["12f"] = answer{text: "The model was not updated after its evaluation.", sections: methods}
		known["24"] = known["12f"]
	} else {
		known["12f"] = answer{text: "Predictions were adjusted to later votes; credence inspect describes how.", sections: methods}
	}
	if m.groups != "" {
		known["12d"] = answer{text: m.groups, sections: append(methods, "front")}
		known["23b"] = answer{text: m.heterogeneity, sections: []string{"front", "calibration", "decisions"}}
		known["14"] = answer{text: m.groups, missing: "approaches to fairness, and their rationale", sections: []string{"front"}}
	}
	return known
}
