package serve

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"credence/dataset"
	"credence/internal/par"
	"credence/internal/special"
	"credence/internal/votelog"
	"credence/internal/words"
	"credence/mixture"
	"credence/predict"
)

// facet is a column to filter items by. Codes are indices into Levels, one per item, or −1 if an item
// has no value.
type facet struct {
	Name   string   `json:"name"`
	Levels []string `json:"levels"`
	Codes  []int    `json:"codes,omitempty"`
	column int      // of the raw values of a row
}

// mostLevels is the largest number of levels of a categorical feature that is offered as a filter by default.
const mostLevels = 200

// rankItems reads and predicts the items.
func (q *queue) rankItems(ctx context.Context, m *served) (*rankedItems, error) {
	p := &rankedItems{queue: q, of: m, level: q.server.options.Level, at: map[string]int{}, bad: map[int]string{}, rows: rowStore{most: keptInMemory}}
	earlier, err := readEarlierVotes(ctx, m, q.options.Earlier)
	if err != nil {
		return p, err
	}
	in, err := openItems(ctx, m, &q.options, earlier)
	if err != nil {
		return p, err
	}
	defer in.Close()
	run := predict.New(m.model, predict.Options{BatchValues: batchValues})
	for batch, err := range run.Run(ctx, in) {
		if err == nil {
			err = p.add(batch)
		}
		if err != nil {
			return p, err
		}
		q.done.Store(int64(len(p.ids)))
		q.total.Store(int64(in.Total()))
	}
	if len(p.ids) == 0 {
		return p, fmt.Errorf("%s has no items", q.options.Items[0])
	}
	p.notes = words.Each(run.Diagnostics().Warnings, error.Error)
	if p.twice > 0 {
		p.notes = append(p.notes, fmt.Sprintf("%s with the id of an earlier row ignored", words.Plural(p.twice, "row")))
	}
	p.ballots = newBallots(m.model.Classes, p.at, earlier)
	p.notes = append(p.notes, p.ballots.notes...)
	if err := p.readFacets(ctx, m, &q.options); err != nil {
		return p, err
	}
	// The votes so far are counted here, where nobody waits for the queue: with a new model, each item with votes is predicted again.
	touched := p.count(q.server.voted(0))
	for i := range p.ballots.earlier {
		touched[i] = true
	}
	p.update(slices.Sorted(maps.Keys(touched)))
	return p, ctx.Err()
}

// count adds the next votes of the vote file to the ballots, and returns the items that they are on.
func (p *rankedItems) count(votes []votelog.Vote) (touched map[int]bool) {
	touched = map[int]bool{}
	for _, v := range votes {
		if i, ok := p.at[v.Item]; ok && !isSkip(v) {
			p.ballots.record(i, v)
			touched[i] = true
		}
	}
	p.counted += len(votes)
	return touched
}

// openItems opens the files of items; earlier, if not nil, has votes on them.
func openItems(ctx context.Context, m *served, q *Queue, earlier *dataset.Dataset) (*dataset.Stream, error) {
	o := dataset.StreamOptions{KeepBad: true, Repeats: true, Beside: q.Items[1:], FeatureOptions: m.read.FeatureOptions}
	o.Ignore, o.AnyPath = nil, true // the operator names the files
	if earlier != nil {
		o.Known = earlier.Items
		if earlier.Rows != nil {
			o.Judges = earlier
		}
	}
	return dataset.OpenStream(ctx, q.Items[0], m.features, o)
}

// add adds the predictions for a batch of items. A row with the id of an earlier row is skipped and counted.
func (p *rankedItems) add(b *predict.Batch) error {
	list := make([]*numbers, len(b.Predictions))
	par.For(len(list), func(j int) {
		if x := &b.Predictions[j]; x.Err == nil {
			list[j] = numbersOf(x, p.level)
		}
	})
	for j, id := range b.Items {
		if _, twice := p.at[id]; twice {
			p.twice++
			continue
		}
		i := len(p.ids)
		if (i+1)*len(p.of.model.Classes) > mostNumbers {
			return fmt.Errorf("too many items: expected at most %s with %s", words.Thousands(i), words.Plural(len(p.of.model.Classes), "class"))
		}
		if list[j] == nil {
			p.bad[i] = b.Predictions[j].Err.Error()
		}
		p.at[id] = i
		p.ids = append(p.ids, id)
		p.prior, p.now = append(p.prior, list[j]), append(p.now, list[j])
		row, err := p.rows.add(b.Batch, j)
		if err != nil {
			return err
		}
		if i == 0 {
			p.startFacets()
		}
		for k := range p.facets {
			f, code := &p.facets[k], -1
			if x := row[f.column]; x >= 0 && int(x) < len(f.Levels) {
				code = int(x)
			}
			f.Codes = append(f.Codes, code)
		}
	}
	return nil
}

// startFacets adds a facet without codes for each categorical feature of the model.
func (p *rankedItems) startFacets() {
	column := 0
	for _, f := range p.rows.features {
		named := slices.Contains(p.queue.options.By, f.Name)
		if f.Kind == dataset.Categorical && len(f.Levels) <= mostLevels && !named {
			p.facets = append(p.facets, facet{Name: f.Name, Levels: f.Levels, column: column})
		}
		column += f.Width()
	}
}

// readFacets adds the facets for the columns in the options.
func (p *rankedItems) readFacets(ctx context.Context, m *served, o *Queue) error {
	if len(o.By) == 0 {
		return nil
	}
	load := dataset.LoadOptions{Data: slices.Clone(o.Items), NoVotes: true, FeatureOptions: m.read.FeatureOptions}
	load.FeatureOptions.Ignore = nil
	values, err := (&dataset.Dataset{Items: p.ids}).ReadColumns(ctx, load, o.By)
	if err != nil {
		if errors.Is(err, dataset.ErrNoColumn) {
			return fmt.Errorf("filtering by %s: %w", strings.Join(o.By, ", "), err)
		}
		return err
	}
	for k, name := range o.By {
		p.facets = append(p.facets, newFacet(name, values[k]))
	}
	return nil
}

// newFacet encodes the values of a column; "" means no value.
func newFacet(name string, values []string) facet {
	f := facet{Name: name, Codes: make([]int, len(values))}
	code := map[string]int{}
	for _, v := range values {
		code[v] = -1
	}
	delete(code, "")
	f.Levels = slices.SortedFunc(maps.Keys(code), byNumber)
	code[""] = -1
	for c, v := range f.Levels {
		code[v] = c
	}
	for i, v := range values {
		f.Codes[i] = code[v]
	}
	return f
}

// rowStore stores the features of many items, one record each, in the order of insertion: in memory up
// to most bytes, and beyond that in a private temporary file. A record consists of the raw values of the
// row, float32, then each text preceded by its length.
type rowStore struct {
	features []dataset.Feature // the features of a row, without texts
	width    int
	most     int64 // bytes in memory

	memory []byte
	file   *os.File // or nil
	ends   []int64  // end offsets of records; those beyond len(memory) are in the file
}

// keptInMemory is the number of bytes of features that are kept in memory; the rest goes to a file.
const keptInMemory = 256 << 20

// add appends the record of row i of a batch, and returns its raw values.
func (s *rowStore) add(b *dataset.Batch, i int) ([]float32, error) {
	if s.features == nil {
		s.features = append([]dataset.Feature{}, b.Features...)
		for k := range s.features {
			s.features[k].Texts = nil
			s.width += s.features[k].Width()
		}
	}
	row := make([]float32, s.width)
	if err := b.Rows.ReadRow(i, row); err != nil {
		return nil, err
	}
	record, err := binary.Append(nil, binary.LittleEndian, row)
	if err != nil {
		return nil, err
	}
	at := 0
	for _, p := range b.Features {
		if p.Kind == dataset.Text {
			text := textOf(p, row[at])
			record = append(binary.AppendUvarint(record, uint64(len(text))), text...)
		}
		at += p.Width()
	}
	return row, s.append(record)
}

// textOf returns the text of a raw value, "" if there is none.
func textOf(p dataset.Feature, value float32) string {
	if k := int(value); value >= 0 && k < len(p.Texts) {
		return p.Texts[k]
	}
	return ""
}

func (s *rowStore) append(record []byte) error {
	end := int64(len(record))
	if n := len(s.ends); n > 0 {
		end += s.ends[n-1]
	}
	if s.file == nil && int64(len(s.memory)+len(record)) > s.most {
		f, err := os.CreateTemp("", "credence-items-*")
		if err != nil {
			return fmt.Errorf("items exceed %d MB, and a temporary file cannot be created: %w", s.most>>20, err)
		}
		s.file = f
		// On Unix the system frees an unlinked file with its last handle, however the process ends.
		// Elsewhere close removes it.
		_ = os.Remove(f.Name())
	}
	if s.file == nil {
		s.memory = append(s.memory, record...)
	} else if _, err := s.file.Write(record); err != nil {
		return fmt.Errorf("writing items to %s: %w", s.file.Name(), err)
	}
	s.ends = append(s.ends, end)
	return nil
}

// record returns the record of item i.
func (s *rowStore) record(i int) ([]byte, error) {
	begin, end := int64(0), s.ends[i]
	if i > 0 {
		begin = s.ends[i-1]
	}
	kept := int64(len(s.memory))
	if end <= kept {
		return s.memory[begin:end:end], nil
	}
	b := make([]byte, end-begin)
	if _, err := s.file.ReadAt(b, begin-kept); err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("reading a stored item: %w", err)
	}
	return b, nil
}

// dataset returns the features of item i as a data set of one item.
func (s *rowStore) dataset(i int, id string) (*dataset.Dataset, error) {
	record, err := s.record(i)
	if err != nil {
		return nil, err
	}
	values := make([]float32, s.width)
	n, err := binary.Decode(record, binary.LittleEndian, values)
	if err != nil {
		return nil, err
	}
	record = record[n:]
	features := slices.Clone(s.features)
	at := 0
	for k := range features {
		f := &features[k]
		if f.Kind == dataset.Text {
			n, w := binary.Uvarint(record)
			f.Texts = []string{string(record[w : w+int(n)])}
			record = record[w+int(n):]
			values[at] = min(values[at], 0)
		}
		at += f.Width()
	}
	return &dataset.Dataset{Items: []string{id}, Features: features, Rows: &dataset.Memory{N: 1, W: s.width, Values: values}}, nil
}

// texts returns the texts of item i, without those of records that cannot be read.
func (s *rowStore) texts(i int) []string {
	isText := func(f dataset.Feature) bool { return f.Kind == dataset.Text }
	if !slices.ContainsFunc(s.features, isText) {
		return nil
	}
	record, err := s.record(i)
	if err != nil {
		return nil
	}
	record = record[4*s.width:]
	var list []string
	for len(record) > 0 {
		n, w := binary.Uvarint(record)
		list = append(list, string(record[w:w+int(n)]))
		record = record[w+int(n):]
	}
	return list
}

// close closes and removes the file.
func (s *rowStore) close() {
	if s.file != nil {
		s.file.Close()
		_ = os.Remove(s.file.Name()) // if it could not be removed while it was open
	}
}

// numbers is the summary of an item; slices are [d], one value per class.
type numbers struct {
	mean, lower, upper, top []float64
	gain, variance          float64
	predicted               int
}

// numbersOf summarizes a prediction with the precision of credence predict.
func numbersOf(p *predict.Prediction, level float64) *numbers {
	r, _ := summaryOf(context.Background(), p, level) // cannot fail
	d := len(p.Mean)
	all := make([]float64, 4*d)
	n := &numbers{mean: all[:d:d], lower: all[d : 2*d : 2*d], upper: all[2*d : 3*d : 3*d], top: all[3*d:],
		predicted: r.Predicted, gain: r.NextGain, variance: special.Sum(p.Variance)}
	for i, c := range r.Classes {
		in := c.Intervals[0].TwoSided
		n.mean[i], n.lower[i], n.upper[i], n.top[i] = c.Mean, in.Lo, in.Hi, c.Top
	}
	return n
}

// summaryOf returns the full summary of a prediction at one level.
func summaryOf(ctx context.Context, p *predict.Prediction, level float64) (predict.Row, error) {
	s := predict.Summary{Levels: []float64{level}, Precision: mixture.SixDigits}.All()
	return p.Summarize(ctx, &s)
}
