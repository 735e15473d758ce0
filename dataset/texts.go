package dataset

import (
	"context"
	"fmt"
	"io"
	"math"

	"credence/internal/text"
)

// fittedText is the model of the documents of a feature.
type fittedText struct {
	Bias []float64 `json:"bias"` // [outputs]
	TextInfo

	model *text.Model
	held  []float32 // [N × outputs] logits of the items of the fit, each by a model fitted without its fold
}

// TextInfo describes the fit of the votes to a column of text.
type TextInfo struct {
	Column    string  `json:"column,omitempty"`
	Documents int     `json:"documents"` // number of documents in the fit
	Terms     int     `json:"terms"`
	Penalty   float64 `json:"penalty"`
	// Loss is the cross-entropy per document of the shares of votes, predicted by
	// models fitted without the document; Base that of a constant prediction.
	Loss float64 `json:"loss"`
	Base float64 `json:"base"`
	// Together is the loss of one fit to all columns of text, of whose logits this column has its share; 0 if
	// the column was fitted alone. Loss is that of the column alone in any case.
	Together float64 `json:"together,omitempty"`
}

// unread marks a feature whose documents are not fitted yet.
func (p *fitted) unread(classes int) {
	p.Texts = nil
	p.Mean, p.SD = make([]float64, text.Outputs(classes)), make([]float64, text.Outputs(classes))
}

// model returns the model that computes the logits of documents; nil before the fit.
func (p *fitted) model() *text.Model {
	if p.Text == nil {
		return nil
	}
	return p.Text.model
}

func (p *fitted) checkText() error {
	if p.Text == nil || len(p.Text.Bias) == 0 || len(p.Text.Bias) != len(p.Mean) {
		return fmt.Errorf("expected a text model with %d logits", len(p.Mean))
	}
	return nil
}

// TextColumns returns a description of the fit of each column of text.
func (t *Transform) TextColumns() []TextInfo {
	var list []TextInfo
	for _, p := range t.features {
		if p.document() {
			info := TextInfo{Column: p.Name}
			if p.Text != nil {
				info = p.Text.TextInfo
				info.Column = p.Name
			}
			list = append(list, info)
		}
	}
	return list
}

// Limits of a fit.
const (
	textBytes   = 40 << 20 // size of the arrays of all columns of text in a model file
	textTerms   = 1 << 20  // terms per column
	textWeights = 1 << 22  // terms times logits per column
	// textEntries is the number of terms of documents held in memory, 16 bytes
	// each: with more, only every second document is used, or every third ….
	textEntries = 1 << 25
)

// FitText fits, for each column of text, a logistic regression of the votes on the
// words of the documents, to the given items of ds, the same as in [Fit]. Item
// rows[j] belongs to fold folds[j]; the folds are held out in turn to select the
// strength of regularization, and [Transform.Training] returns logits of models that
// were fitted without the fold of the item. weights [N], if not nil, weight the items.
func (t *Transform) FitText(ctx context.Context, ds *Dataset, rows, folds []int, weights []float64) error {
	columns := len(t.TextColumns())
	if columns == 0 {
		return nil
	}
	if len(folds) != len(rows) {
		return fmt.Errorf("expected the folds of %d items, found %d", len(rows), len(folds))
	}
	raw := make([]float32, ds.Rows.Width())
	at := make(map[string]int) // of a feature in a raw row
	texts := make(map[string][]string)
	w := 0
	for _, p := range ds.Features {
		at[p.Name], texts[p.Name] = w, p.Texts
		w += p.Width()
	}
	var fits []textFit
	for i := range t.features {
		p := &t.features[i]
		if !p.document() {
			continue
		}
		f := textFit{p: p, data: text.Data{Classes: len(ds.Classes), Entries: textEntries}}
		for j, r := range rows {
			if err := ds.Rows.ReadRow(r, raw); err != nil {
				return err
			}
			weight := itemWeight(ds, r, weights)
			if x := raw[at[p.Name]]; x == x && weight > 0 {
				k, err := textAt(x, len(texts[p.Name]))
				if err != nil {
					return fmt.Errorf("item %q, feature %q: %w", ds.Items[r], p.Name, err)
				}
				d := &f.data
				d.Documents, f.items = append(d.Documents, texts[p.Name][k]), append(f.items, r)
				d.Folds, d.Weights = append(d.Folds, folds[j]), append(d.Weights, weight)
				d.Labels = append(d.Labels, voteShares(ds, r)...)
			}
		}
		f.data.Terms = min(textTerms, textWeights/len(p.Mean), textBytes/4/(2+len(p.Mean))/columns)
		if err := f.learn(ctx); err != nil {
			return fmt.Errorf("feature %q: %w", p.Name, err)
		}
		fits = append(fits, f)
	}
	if len(fits) > 1 {
		if err := learnTogether(ctx, fits); err != nil {
			return err
		}
	}
	for i := range fits {
		fits[i].keep(ds.Len())
	}
	return nil
}

// textFit is the fit of one column of text.
type textFit struct {
	p     *fitted
	data  text.Data
	items []int // of the documents
	model *text.Model
	z     []float64 // [documents × outputs] held-out logits
	info  TextInfo
}

// learn fits the model of the column alone.
func (f *textFit) learn(ctx context.Context) error {
	m, held, err := text.Fit(ctx, f.data)
	if err != nil {
		return err
	}
	f.model, f.z = m, held.Logits
	f.info = TextInfo{Documents: len(f.items), Terms: m.Terms(), Penalty: held.Lambda, Loss: held.Loss, Base: held.Base}
	return nil
}

// keep stores the fit in the transform, which was fitted to n items.
func (f *textFit) keep(n int) {
	p, c := f.p, len(f.p.Mean)
	z := make([]float32, n*c)
	for i := range z {
		z[i] = float32(math.NaN())
	}
	for j, r := range f.items {
		for k, v := range f.z[j*c : (j+1)*c] {
			z[r*c+k] = float32(v)
		}
	}
	p.center(z)
	p.Text = &fittedText{Bias: f.model.Bias(), model: f.model, held: z, TextInfo: f.info}
}

// learnTogether replaces the fits of columns of text, such as the turns of a dialogue, by one regression on the words of
// all of them, if it predicts held-out votes better than the best combination of the columns' own logits.
func learnTogether(ctx context.Context, fits []textFit) error {
	d := text.Data{Classes: fits[0].data.Classes, Terms: fits[0].data.Terms, Entries: textEntries}
	at := map[int]int{} // by item
	for _, f := range fits {
		for j, r := range f.items {
			if _, ok := at[r]; ok {
				continue
			}
			at[r] = len(d.Folds)
			d.Folds, d.Weights = append(d.Folds, f.data.Folds[j]), append(d.Weights, f.data.Weights[j])
			d.Labels = append(d.Labels, f.data.Labels[j*d.Classes:(j+1)*d.Classes]...)
		}
	}
	columns, apart := make([][]string, len(fits)), make([][]float64, len(fits))
	c := text.Outputs(d.Classes)
	for q, f := range fits {
		columns[q], apart[q] = make([]string, len(d.Folds)), make([]float64, len(d.Folds)*c)
		for j, r := range f.items {
			columns[q][at[r]] = f.data.Documents[j]
			copy(apart[q][at[r]*c:], f.z[j*c:(j+1)*c])
		}
	}
	models, parts, held, err := text.FitTogether(ctx, columns, d)
	if err != nil || models == nil {
		return err
	}
	if loss := text.CombinedLoss(ctx, apart, d); loss <= held.Loss {
		return ctx.Err()
	}
	for q := range fits {
		f := &fits[q]
		f.model, f.info.Terms, f.info.Penalty, f.info.Together = models[q], models[q].Terms(), held.Lambda, held.Loss
		for j, r := range f.items {
			copy(f.z[j*c:(j+1)*c], parts[q][at[r]*c:(at[r]+1)*c])
		}
	}
	return nil
}

// itemWeight returns the weight of item r in the fit of a model of texts: it grows
// with the number m of votes, but less than in proportion, because votes on one item
// are correlated: 2m/(m+1), times weights[r] if weights is not nil.
func itemWeight(ds *Dataset, r int, weights []float64) float64 {
	m := ds.VotesOf(r)
	w := 2 * m / (m + 1)
	if weights != nil {
		w *= weights[r]
	}
	return w
}

// voteShares returns the shares of the classes among the votes on an item.
func voteShares(ds *Dataset, r int) []float64 {
	m := ds.VotesOf(r)
	shares := make([]float64, len(ds.Classes))
	for c, s := range ds.CountsOf(r) {
		shares[c] = float64(s) / m
	}
	return shares
}

// Training returns the network inputs of the items of ds for training networks: as
// [Transform.Over], but the logits of documents in the fit of the transform come
// from models fitted without these documents. ds is the data set of the
// fit.
func (t *Transform) Training(ds *Dataset) (*InputRows, error) {
	in, err := t.Over(ds)
	if err != nil {
		return nil, err
	}
	for i := range in.ops {
		b := &in.ops[i]
		if !b.p.document() {
			continue
		}
		if len(b.p.Text.held) != ds.Len()*len(b.p.Mean) {
			return nil, fmt.Errorf("feature %q was fitted to other items", b.p.Name)
		}
		b.held = b.p.Text.held
	}
	return in, nil
}

// textAt converts a raw value to an index into n texts.
func textAt(x float32, n int) (int, error) {
	if !(x >= 0 && int(x) < n) || x != float32(int(x)) {
		return 0, fmt.Errorf("expected the index of one of %d texts, found %v", n, x)
	}
	return int(x), nil
}

// hashTexts hashes the texts of a raw row and sets their indices in it to 0,
// because they depend on how the data were read.
func hashTexts(h io.Writer, schema []Feature, row []float32) error {
	at := 0
	for _, p := range schema {
		if p.Kind == Text && row[at] == row[at] {
			i, err := textAt(row[at], len(p.Texts))
			if err != nil {
				return fmt.Errorf("feature %q: %w", p.Name, err)
			}
			fmt.Fprintf(h, "%d:%s\n", len(p.Texts[i]), p.Texts[i])
			row[at] = 0
		}
		at += p.Width()
	}
	return nil
}

// document writes the network input of the text with index x, of item i.
func (b *binding) document(to []float32, x float32, i int) error {
	p := b.p
	clear(to)
	if x != x {
		if p.Missing {
			to[len(p.Mean)] = 1
		}
		return nil
	}
	at, err := textAt(x, len(b.texts))
	if err != nil {
		return fmt.Errorf("feature %q: %w", p.Name, err)
	}
	c := len(p.Mean)
	if b.held != nil && b.held[i*c] == b.held[i*c] {
		copy(to, b.held[i*c:(i+1)*c])
	} else {
		z := make([]float64, c)
		p.model().Logits(z, b.texts[at])
		for k, v := range z {
			to[k] = float32(v)
		}
	}
	for k := range c {
		to[k] = standardize(to[k], p.Mean[k], p.SD[k])
	}
	return nil
}

// minSpread is the smallest standard deviation that logits are divided by: they are
// on a natural scale, and small differences should not be inflated.
const minSpread = 0.25

// center sets mean and standard deviation to those of the logits z [n × c], in which
// NaN marks a missing value.
func (p *fitted) center(z []float32) {
	c := len(p.Mean)
	for k := range c {
		var n, sum, squares float64
		for i := k; i < len(z); i += c {
			if v := float64(z[i]); v == v {
				n, sum, squares = n+1, sum+v, squares+v*v
			}
		}
		p.Mean[k], p.SD[k] = 0, 1
		if n > 0 {
			p.Mean[k] = sum / n
			p.SD[k] = max(minSpread, math.Sqrt(max(0, squares/n-sum/n*sum/n)))
		}
	}
}
