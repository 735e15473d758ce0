package export

import (
	"math"

	"credence/dataset"
	"credence/internal/onnx"
	"credence/tree"
)

// Limits of package tree.
const minLogS, maxLogS, leastLogAlpha = -4, 8, -16

// forest returns log α [N, d] of a forest for network inputs x [N, width]. Trees are symmetric: bit k of the index of a
// leaf is whether the value of level k is larger than its cut, so that all trees are compared at once.
func (b *builder) forest(f *tree.Forest, columns []dataset.Column, x string) string {
	z, places := b.compared(f, columns, x)
	out := b.add(b.mul(b.slice(x, 1, 0, 1), b.Floats([]float32{0})), b.Floats(f.Start, len(f.Start))) // [N, O]
	if trees, depth := f.Trees(), f.Depth; trees > 0 {
		splits, bits, first := make([]int, len(f.Splits)), make([]float32, depth), make([]int, trees)
		for k, s := range f.Splits {
			splits[k] = places[int(s)]
		}
		for k := range bits {
			bits[k] = float32(int(1) << k)
		}
		for t := range first {
			first[t] = t << depth
		}
		right := b.cast(b.Add("Greater", b.gather(z, splits), b.Floats(f.Cuts, len(f.Cuts))), onnx.Float)
		leaf := b.sum(b.mul(b.reshape(right, trees, depth), b.Floats(bits, depth)), 2)
		index := b.Add("Add", b.cast(b.reshape(leaf, trees), onnx.Int64), b.Ints(first...))
		rows := b.Add("Gather", b.Floats(f.Leaves, trees<<depth, len(f.Start)), index) // [N, T, O]
		out = b.add(out, b.reshape(b.sum(rows, 1), len(f.Start)))
	}
	d := f.Classes
	logits := len(f.Start) - 1
	out = b.cast(out, onnx.Double)
	logS := b.clip(b.slice(out, 1, logits, logits+1), minLogS, maxLogS)
	v := b.slice(out, 1, 0, logits)
	if d == 2 { // the logit of the second class
		v = b.concat(1, []string{b.mul(v, b.num(0)), v})
	}
	log := b.add(logS, b.AddWith("LogSoftmax", []onnx.Attr{{Name: "axis", Value: 1}}, v))
	return b.max(log, b.num(leastLogAlpha))
}

// compared returns the values that trees compare: numbers where a missing one is below all cuts, shares of the levels of
// categories, and numbers where a missing one is above all cuts; places has the columns there of what splits are by.
func (b *builder) compared(f *tree.Forest, columns []dataset.Column, x string) (z string, places []int) {
	shares := f.Classes
	if shares == 2 {
		shares = 1
	}
	var numbers, missing []int
	var low, high []int // of each value, high counted from the first of the second copy of numbers
	var categories []string
	width := 0 // of the shares of categories
	for _, c := range columns {
		if c.Levels == 0 {
			low, high = append(low, len(numbers)), append(high, len(numbers))
			numbers, missing = append(numbers, c.At), append(missing, c.Missing)
			continue
		}
		stats := f.Stats[len(categories)]
		codes := b.slice(x, 1, c.At, c.At+1)
		known := b.Add("And", b.Add("GreaterOrEqual", codes, b.Floats([]float32{0})), b.Add("Less", codes, b.Floats([]float32{float32(c.Levels)})))
		level := b.cast(b.Add("Where", known, codes, b.Floats([]float32{0})), onnx.Int64)
		categories = append(categories, b.reshape(b.Add("Gather", b.Floats(stats, c.Levels, shares), level), shares))
		for range shares {
			low, high = append(low, -1-width), append(high, -1-width)
			width++
		}
	}
	blocks := categories
	n := len(numbers)
	if n > 0 {
		values := b.gather(x, numbers)
		blocks = append([]string{b.missing(values, x, missing, float32(math.Inf(-1)))}, categories...)
		blocks = append(blocks, b.missing(values, x, missing, float32(math.Inf(1))))
	}
	for _, at := range low {
		if at < 0 {
			at = n - 1 - at
		}
		places = append(places, at)
	}
	for _, at := range high {
		if at < 0 {
			at = n - 1 - at
		} else {
			at += n + width
		}
		places = append(places, at)
	}
	return b.concat(1, blocks), places
}

// missing replaces the values [N, F] of inputs x that an indicator among them marks as missing.
func (b *builder) missing(values, x string, indicators []int, as float32) string {
	at, marked, some := make([]int, len(indicators)), make([]float32, len(indicators)), false
	for i, m := range indicators {
		if m >= 0 {
			at[i], marked[i], some = m, 1, true
		}
	}
	if !some {
		return values
	}
	gone := b.mul(b.gather(x, at), b.Floats(marked, len(marked)))
	return b.Add("Where", b.cast(gone, onnx.Bool), b.Floats([]float32{as}), values)
}
