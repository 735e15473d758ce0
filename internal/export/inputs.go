package export

import (
	"math"

	"credence/dataset"
	"credence/internal/onnx"
)

// inputs are the inputs of a graph, preprocessed.
type inputs struct {
	x     string            // [N, width], or [N, C, …] if an image or a volume is the only feature
	codes map[string]string // [N, 1] of categories, by the name of the feature: levels, −1 or dataset.MissingLevel
}

// numbers are the features of one number each, standardized together.
type numbers struct {
	columns  []string
	features []dataset.Encoded
}

// inputs adds an input per feature. A column of numbers is float [N, 1], where NaN is a missing value, one of categories
// string [N, 1], where the empty text and the usual spellings are missing values, and vectors, images and volumes are
// float [N, …].
func (b *builder) inputs(t *dataset.Transform) (*inputs, error) {
	in := &inputs{codes: map[string]string{}}
	var scalars numbers
	var blocks []string
	var order []int // position in the network input of each value of the blocks
	add := func(x string, at, width int) {
		blocks = append(blocks, x)
		for i := range width {
			order = append(order, at+i)
		}
	}
	features := t.Encoded()
	columns := make([]string, len(features))
	for i, p := range features {
		switch p.Kind {
		case dataset.Text:
			return nil, refused("the %v feature %q", p.Kind, p.Name)
		case dataset.Numeric:
			columns[i] = b.Input(p.Name, onnx.Float, onnx.Batch, 1)
			scalars.columns, scalars.features = append(scalars.columns, columns[i]), append(scalars.features, p)
		case dataset.Categorical:
			columns[i] = b.levels(b.Input(p.Name, onnx.String, onnx.Batch, 1), p.Feature)
			in.codes[p.Name] = columns[i]
			add(b.category(columns[i], p), p.Offset, p.Width)
		case dataset.Tensor:
			x := b.Input(p.Name, onnx.Float, append([]int{onnx.Batch}, p.Shape...)...)
			x = b.standardize(x, p.Mean, p.SD, len(p.Shape))
			if len(features) == 1 && len(p.Shape) > 1 {
				in.x = x
				return in, nil
			}
			add(b.reshape(x, p.Width), p.Offset, p.Width)
		}
	}
	if len(scalars.columns) > 0 {
		x, places := b.scalars(scalars)
		blocks, order = append(blocks, x), append(order, places...)
	}
	if s := t.JudgeShares(); s != nil {
		add(b.shares(s, columns), s.Offset, len(s.Mean))
	}
	if len(order) != t.Width() {
		return nil, refused("the preprocessing of %d inputs, of which %d are known,", t.Width(), len(order))
	}
	in.x = b.ordered(b.concat(1, blocks), order)
	return in, nil
}

// ordered moves the values of x [N, width] to their places.
func (b *builder) ordered(x string, places []int) string {
	from, sorted := make([]int, len(places)), true
	for i, p := range places {
		from[p] = i
		sorted = sorted && p == i
	}
	if sorted {
		return x
	}
	return b.gather(x, from)
}

// scalars returns the standardized values of numbers, followed by the indicators of missing ones, and their places in
// the network input.
func (b *builder) scalars(s numbers) (x string, places []int) {
	var mean, sd []float64
	var missing, indicators []int
	for i, p := range s.features {
		mean, sd, places = append(mean, p.Mean[0]), append(sd, p.SD[0]), append(places, p.Offset)
		if p.Missing {
			missing, indicators = append(missing, i), append(indicators, p.Offset+1)
		}
	}
	all := b.concat(1, s.columns)
	blocks := []string{b.standardize(all, mean, sd, 1)}
	if len(missing) > 0 {
		blocks = append(blocks, b.gather(b.cast(b.Add("IsNaN", all), onnx.Float), missing))
		places = append(places, indicators...)
	}
	if scores, at := b.scores(all, s.features); len(at) > 0 {
		blocks, places = append(blocks, scores), append(places, at...)
	}
	return b.concat(1, blocks), places
}

// scores returns the normal scores of numbers x [N, F] and their places in the network input. With knots k_i, whose
// scores are s_i, all features are computed together, those of fewer knots with steps of 0:
//
//	score = s_0 + Σ_i (s_{i+1} − s_i) min(max((x − k_i)/(k_{i+1} − k_i), 0), 1)
func (b *builder) scores(x string, features []dataset.Encoded) (scores string, places []int) {
	var columns []int
	most := 0
	for i, p := range features {
		if len(p.Knots) > 0 {
			columns, places, most = append(columns, i), append(places, p.ScoreAt), max(most, len(p.Knots)-1)
		}
	}
	n := len(columns)
	if n == 0 {
		return "", nil
	}
	start, knots, widths, steps := make([]float64, n), make([]float64, n*most), make([]float64, n*most), make([]float64, n*most)
	for c, i := range columns {
		p := features[i]
		start[c] = float64(p.Scores[0])
		for k := range most {
			at := c*most + k
			widths[at] = 1
			if k+1 < len(p.Knots) {
				knots[at], widths[at] = float64(p.Knots[k]), float64(p.Knots[k+1])-float64(p.Knots[k])
				steps[at] = float64(p.Scores[k+1]) - float64(p.Scores[k])
			}
		}
	}
	x = b.reshape(b.gather(x, columns), n, 1)
	share := b.clip(b.div(b.sub(b.cast(x, onnx.Double), b.Doubles(knots, n, most)), b.Doubles(widths, n, most)), 0, 1)
	sum := b.add(b.sum(b.mul(share, b.Doubles(steps, n, most)), 2), b.Doubles(start, n, 1))
	sum = b.Add("Where", b.Add("IsNaN", x), b.Floats([]float32{0}), b.cast(sum, onnx.Float))
	return b.reshape(sum, n), places
}

// standardize returns (x − mean)/sd of x [N, C, …] with the given number of dimensions after N, and 0 for missing and
// constant values.
func (b *builder) standardize(x string, mean, sd []float64, dims int) string {
	shape := make([]int, dims)
	for i := range shape {
		shape[i] = 1
	}
	shape[0] = len(mean)
	divisor, varies := make([]float64, len(sd)), make([]float32, len(sd))
	constant := false
	for i, s := range sd {
		divisor[i], varies[i] = 1, 0
		if s > 0 {
			divisor[i], varies[i] = s, 1
		} else {
			constant = true
		}
	}
	z := b.div(b.sub(b.cast(x, onnx.Double), b.Doubles(mean, shape...)), b.Doubles(divisor, shape...))
	z = b.cast(b.clip(z, -math.MaxFloat32, math.MaxFloat32), onnx.Float)
	z = b.Add("Where", b.Add("IsNaN", x), b.Floats([]float32{0}), z)
	if constant {
		z = b.Add("Mul", z, b.Floats(varies, shape...))
	}
	return z
}

// levels returns the codes of categories [N, 1].
func (b *builder) levels(x string, p dataset.Feature) string {
	texts, codes := p.Spellings()
	return b.AddWith("LabelEncoder", []onnx.Attr{{Name: "keys_strings", Value: texts}, {Name: "values_int64s", Value: codes},
		{Name: "default_int64", Value: dataset.UnknownLevel}}, x)
}

// category returns the network input of the codes of a category [N, 1]: one value per level, or one code.
func (b *builder) category(codes string, p dataset.Encoded) string {
	if p.Input == dataset.Codes {
		// Codes from 0: unknown, missing if training items had missing values, the levels. The table is indexed by
		// code + 2, where MissingLevel is 0 and UnknownLevel 1.
		table := []float32{0, 0}
		first := 1
		if p.Missing {
			table[0], first = 1, 2
		}
		for i := range p.Levels {
			table = append(table, float32(first+i))
		}
		return b.Add("Gather", b.Floats(table, len(table)), b.Add("Add", codes, b.Ints(2)))
	}
	columns := make([]int, 0, p.Width)
	for i := range p.Levels {
		columns = append(columns, i)
	}
	if p.Missing {
		columns = append(columns, dataset.MissingLevel)
	}
	return b.cast(b.Add("Equal", codes, b.Ints(columns...)), onnx.Float)
}

// shares returns the standardized shares of judges per label [N, labels], given the value of each feature, which is a
// code for a category.
func (b *builder) shares(s *dataset.JudgeShares, columns []string) string {
	labels := len(s.Mean)
	var votes []string
	for _, v := range s.Votes {
		x := columns[v.Feature]
		if v.Values != nil {
			votes = append(votes, b.cast(b.Add("Equal", x, b.Floats(v.Values, labels)), onnx.Float))
			continue
		}
		table := make([]float32, (len(v.Labels)+2)*labels)
		for level, l := range v.Labels {
			if l >= 0 {
				table[(level+2)*labels+int(l)] = 1
			}
		}
		rows := b.Add("Gather", b.Floats(table, len(v.Labels)+2, labels), b.Add("Add", x, b.Ints(2)))
		votes = append(votes, b.reshape(rows, labels))
	}
	counts := votes[0]
	if len(votes) > 1 {
		counts = b.Add("Sum", votes...)
	}
	n := b.sum(counts, 1)
	share := b.div(counts, n) // NaN for an item without votes, whose shares are the means
	return b.standardize(share, s.Mean, s.SD, 1)
}
