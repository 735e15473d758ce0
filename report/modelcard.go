package report

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"regexp"
	"slices"
	"strings"
	"sync"

	"credence/dataset"
	"credence/internal/words"
)

// ModelCard is the card of a model in the form of the Hugging Face Hub: metadata, which the Hub reads, and sections for
// people. [ModelCard.WriteMarkdown] writes it as the README of a model, encoding/json as an object.
type ModelCard struct {
	Metadata CardMetadata  `json:"metadata"`
	Name     string        `json:"name"`
	Summary  string        `json:"summary"`
	Sections []CardSection `json:"sections"`
}

// CardSection is a section: paragraphs, then a table of names and values.
type CardSection struct {
	Title string      `json:"title"`
	Text  []string    `json:"text,omitempty"`
	Table [][2]string `json:"table,omitempty"`
	Code  string      `json:"code,omitempty"`
}

// CardMetadata has the names of the Hub.
type CardMetadata struct {
	Language []string      `json:"language,omitempty"`
	License  string        `json:"license,omitempty"`
	Library  string        `json:"library_name"`
	Pipeline string        `json:"pipeline_tag,omitempty"`
	Tags     []string      `json:"tags"`
	Index    []CardResults `json:"model-index,omitempty"`
}

// CardResults are the evaluations of a model.
type CardResults struct {
	Name    string       `json:"name"`
	Results []CardResult `json:"results"`
}

// CardResult is an evaluation on one data set.
type CardResult struct {
	Task    CardName     `json:"task"`
	Dataset CardName     `json:"dataset"`
	Metrics []CardMetric `json:"metrics"`
}

// CardName is a type and a name.
type CardName struct {
	Type string `json:"type"`
	Name string `json:"name"`
}

// CardMetric is a score.
type CardMetric struct {
	Type  string  `json:"type"`
	Value float64 `json:"value"`
	Name  string  `json:"name"`
}

// NewModelCard returns the card of a model. Of the input it needs what describes the model: the provenance and the
// study, of which the card may be nil.
func NewModelCard(in Input) (*ModelCard, error) {
	card, model := in.Study.Card, *in.Study
	model.Card = nil // the methods of a model follow no checklist
	plain := in
	plain.Study = &model
	m, err := newMethods(&plain)
	if err != nil {
		return nil, err
	}
	c := &ModelCard{Name: cmp.Or(card.text("name"), in.Title, "A Credence model"), Summary: lead(&in)}
	pipeline := pipelineOf(in.Study.Features)
	c.Metadata = CardMetadata{Language: card.paragraphs("language"), License: card.text("license"), Library: "credence",
		Pipeline: pipeline, Tags: []string{"uncertainty", "credible-intervals", "annotator-disagreement", "dirichlet"}}
	if p := in.Provenance; p != nil && p.Scores.Items > 0 {
		c.Metadata.Index = cardIndex(&in, c.Name, pipeline)
	}
	c.use(&in)
	c.add(CardSection{Title: "Training data", Text: slices.Concat(card.paragraphs("data"),
		nonEmpty(m.sizes, m.outcome, m.raters, m.predictors, m.preparation, m.missing))})
	c.add(CardSection{Title: "Training procedure", Text: nonEmpty(m.split, m.model, m.fitting, m.imbalance, m.calibration, m.update)})
	c.results(&in)
	c.add(CardSection{Title: "How to use it", Code: "credence predict model.credence items.csv --level 0.95 -o predictions.csv"})
	c.add(CardSection{Title: "Technical details", Table: cardDetails(&in)})
	c.add(CardSection{Title: "Warnings", Text: warnings(&in)})
	c.add(CardSection{Title: "References", Text: m.references})
	c.add(CardSection{Title: "Contact", Text: card.paragraphs("contact")})
	return c, nil
}

// add appends a section that has a content.
func (c *ModelCard) add(s CardSection) {
	if s.Text != nil || s.Table != nil || s.Code != "" {
		c.Sections = append(c.Sections, s)
	}
}

// use adds what the card states; that intended use and limits are not stated is said.
func (c *ModelCard) use(in *Input) {
	for _, s := range []struct {
		title string
		keys  []string
		must  bool
	}{
		{"Intended use", []string{"question", "intended_use", "users", "population"}, true},
		{"Out of scope", []string{"out_of_scope"}, false},
		{"Limitations", []string{"limits", "inequalities", "fairness", "input_quality"}, true},
		{"Raters", []string{"outcome", "raters", "blinding"}, false},
		{"Ethics", []string{"ethics"}, false},
	} {
		var text []string
		for _, key := range s.keys {
			text = append(text, in.Study.Card.paragraphs(key)...)
		}
		if text == nil && s.must {
			text = []string{"Not stated."}
		}
		c.add(CardSection{Title: s.title, Text: text})
	}
}

// results adds the scores on held-out votes.
func (c *ModelCard) results(in *Input) {
	p := in.Provenance
	if p == nil || p.Scores.Items == 0 {
		return
	}
	s := CardSection{Title: "Evaluation", Text: []string{fmt.Sprintf("On %s with %s, by networks that were not trained on them.",
		words.Plural(p.Scores.Items, "item"), words.Plural(p.Scores.Votes, "vote"))}}
	for _, x := range heldOut(in) {
		s.Table = append(s.Table, [2]string{x.Name, fmt.Sprintf("%.4f", x.Value)})
	}
	c.add(s)
}

// heldOut returns the scores of a model on held-out votes that are known.
func heldOut(in *Input) []CardMetric {
	s := in.Provenance.Scores
	var list []CardMetric
	add := func(kind, name string, value float64, known bool) {
		if known && !math.IsNaN(value) && !math.IsInf(value, 0) {
			list = append(list, CardMetric{kind, value, name})
		}
	}
	add("accuracy", "Accuracy against the majority of votes", s.Accuracy, true)
	add("nll", "Negative log-likelihood per vote, votes on an item together", s.NLLPerVote, s.NLLPerVote != 0)
	add("nll_marginal", "Negative log-likelihood per vote, votes one by one", s.MarginalPerVote, true)
	add("nll_constant", "Negative log-likelihood per vote without features", s.ConstantPerVote, true)
	return list
}

// cardIndex returns the results in the form that the Hub reads.
func cardIndex(in *Input, name, pipeline string) []CardResults {
	data := "Votes on held-out items"
	if in.Subject != "" {
		data += " of " + in.Subject
	}
	task := CardName{cmp.Or(pipeline, "other"), "Class probabilities from several votes per item"}
	return []CardResults{{name, []CardResult{{task, CardName{"custom", data}, heldOut(in)}}}}
}

// pipelineOf returns the task of the Hub that fits the features, or "".
func pipelineOf(features []dataset.Feature) string {
	task := ""
	for _, f := range features {
		switch {
		case f.Kind == dataset.Text:
			return "text-classification"
		case f.Kind == dataset.Tensor && f.Volume == nil && len(f.Shape) == 3:
			task = "image-classification"
		case f.Kind != dataset.Tensor && task == "":
			task = "tabular-classification"
		}
	}
	return task
}

// cardDetails returns the table that identifies the model.
func cardDetails(in *Input) [][2]string {
	var rows [][2]string
	for _, p := range provenance(in) {
		rows = append(rows, [2]string{p.Name, p.Value})
	}
	if sum := in.Study.Model; sum != "" {
		rows = append(rows, [2]string{"Model file (SHA-256)", sum})
	}
	return append(rows, [2]string{"Classes", strings.Join(in.Classes, ", ")})
}

// nonEmpty returns the texts that are not empty.
func nonEmpty(texts ...string) (list []string) {
	for _, s := range texts {
		if s != "" {
			list = append(list, s)
		}
	}
	return list
}

// WriteMarkdown writes the card as Markdown with YAML front matter.
func (c *ModelCard) WriteMarkdown(w io.Writer) error {
	var b strings.Builder
	b.WriteString("---\n")
	c.Metadata.yaml(&b)
	fmt.Fprintf(&b, "---\n\n# %s\n\n%s\n", markdown(c.Name), markdown(c.Summary))
	for _, s := range c.Sections {
		fmt.Fprintf(&b, "\n## %s\n", s.Title)
		for i, text := range s.Text {
			if s.Title == "References" {
				fmt.Fprintf(&b, "\n%d. %s\n", i+1, markdown(text))
			} else {
				fmt.Fprintf(&b, "\n%s\n", markdown(text))
			}
		}
		if s.Code != "" {
			fmt.Fprintf(&b, "\n```sh\n%s\n```\n", s.Code)
		}
		if s.Table != nil {
			b.WriteString("\n| | |\n| --- | --- |\n")
		}
		for _, row := range s.Table {
			fmt.Fprintf(&b, "| %s | %s |\n", markdown(row[0]), markdown(row[1]))
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// markdownMarks are escaped in texts of people, so that a text cannot become HTML, a link or a row of a table.
var markdownMarks = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile("[\\\\`*_\\[\\]<>|#]") })

// markdown returns a text in one line with the marks of Markdown escaped. References such as [1] stay as they are.
func markdown(s string) string {
	s = markdownMarks().ReplaceAllString(strings.Join(strings.Fields(s), " "), `\$0`)
	return reference().ReplaceAllString(s, "[$1]")
}

var reference = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\\\[(\d+)\\\]`) })

// yaml writes the metadata as YAML. Texts are in JSON's quotes, which are YAML's as well.
func (m *CardMetadata) yaml(b *strings.Builder) {
	quote := func(s string) string {
		text, _ := json.Marshal(s) // never fails for a string
		return string(text)
	}
	list := func(key string, texts []string) {
		if len(texts) > 0 {
			fmt.Fprintf(b, "%s:\n", key)
		}
		for _, s := range texts {
			fmt.Fprintf(b, "- %s\n", quote(s))
		}
	}
	field := func(key, text string) {
		if text != "" {
			fmt.Fprintf(b, "%s: %s\n", key, quote(text))
		}
	}
	list("language", m.Language)
	field("license", m.License)
	field("library_name", m.Library)
	field("pipeline_tag", m.Pipeline)
	list("tags", m.Tags)
	if m.Index != nil {
		b.WriteString("model-index:\n")
	}
	for _, x := range m.Index {
		fmt.Fprintf(b, "- name: %s\n  results:\n", quote(x.Name))
		for _, r := range x.Results {
			fmt.Fprintf(b, "  - task:\n      type: %s\n      name: %s\n    dataset:\n      type: %s\n      name: %s\n    metrics:\n",
				quote(r.Task.Type), quote(r.Task.Name), quote(r.Dataset.Type), quote(r.Dataset.Name))
			for _, k := range r.Metrics {
				fmt.Fprintf(b, "    - type: %s\n      value: %.6g\n      name: %s\n", quote(k.Type), k.Value, quote(k.Name))
			}
		}
	}
}
