package dataset

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math"

	"credence/internal/array"
)

// Rating is one rater's vote on one item: indices into Items, Raters, Classes.
type Rating struct {
	Item, Rater, Class int32
}

// Dataset is N items in input order, with features and votes.
type Dataset struct {
	Items    []string  // [N] ids
	Classes  []string  // [d] in the order of the counts
	Ordered  bool      // classes are the points of a scale, from its lower end to its upper end
	Counts   []float32 // [N×d] votes for each class; fractions of a vote are allowed
	Raters   []string  // names of the raters, if the votes have raters
	Ratings  []Rating  // the single votes, in input order, if the votes have raters
	Groups   []string  // [N] or nil: a split keeps items of the same group together
	Given    []string  // [N] or nil: the split given in the file (train, validation or test), as written there
	Weights  []float64 // [N] or nil: weights of the items in training
	Truth    []float32 // [N×d] or nil: true class probabilities, in simulations
	Features []Feature // the features of an item
	Rows     Rows      // their raw values [N×W]; nil if there are no features

	Votes    Interpretation // how the votes were read
	Columns  []ColumnInfo   // how the columns of the feature file were read
	Warnings []error        // what was left out, fixed or looks wrong

	closers []io.Closer
}

// Len returns the number of items N.
func (ds *Dataset) Len() int { return len(ds.Items) }

// CountsOf returns the votes of item i, a row of Counts.
func (ds *Dataset) CountsOf(i int) []float32 {
	d := len(ds.Classes)
	return ds.Counts[i*d : (i+1)*d : (i+1)*d]
}

// VotesOf returns the number of votes of item i.
func (ds *Dataset) VotesOf(i int) float64 {
	var m float64
	for _, s := range ds.CountsOf(i) {
		m += float64(s)
	}
	return m
}

// ItemColumn returns the name of the id column of the feature file, or "".
func (ds *Dataset) ItemColumn() string {
	for _, c := range ds.Columns {
		if c.role == roleItem {
			return c.Name
		}
	}
	return ""
}

// Close closes the files that the rows are read from.
func (ds *Dataset) Close() error {
	var errs []error
	for _, c := range ds.closers {
		errs = append(errs, c.Close())
	}
	ds.closers = nil
	return errors.Join(errs...)
}

// Check returns an error for the first inconsistency between the fields. The
// readers return consistent data; data built by hand should be checked.
func (ds *Dataset) Check() error {
	n, d := len(ds.Items), len(ds.Classes)
	switch {
	case len(ds.Counts) != n*d:
		return fmt.Errorf("%d items and %d classes, but %d counts", n, d, len(ds.Counts))
	case ds.Groups != nil && len(ds.Groups) != n:
		return fmt.Errorf("%d items, but %d groups", n, len(ds.Groups))
	case ds.Given != nil && len(ds.Given) != n:
		return fmt.Errorf("%d items, but %d values of the given split", n, len(ds.Given))
	case ds.Weights != nil && len(ds.Weights) != n:
		return fmt.Errorf("%d items, but %d weights", n, len(ds.Weights))
	case ds.Truth != nil && len(ds.Truth) != n*d:
		return fmt.Errorf("%d items and %d classes, but %d true probabilities", n, d, len(ds.Truth))
	case ds.Rows == nil && len(ds.Features) > 0:
		return errors.New("expected rows for the features, found none")
	case ds.Rows != nil && ds.Rows.Len() != n:
		return fmt.Errorf("%d items, but %d rows of features", n, ds.Rows.Len())
	case ds.Rows != nil && ds.Rows.Width() != totalWidth(ds.Features):
		return fmt.Errorf("expected rows of %d values, found %d", totalWidth(ds.Features), ds.Rows.Width())
	}
	for i, c := range ds.Counts {
		if !(c >= 0) || math.IsInf(float64(c), 0) {
			return fmt.Errorf("item %q, class %q: expected a number of votes, found %v", ds.Items[i/d], ds.Classes[i%d], c)
		}
	}
	for _, r := range ds.Ratings {
		if uint(r.Item) >= uint(n) || uint(r.Rater) >= uint(len(ds.Raters)) || uint(r.Class) >= uint(d) {
			return fmt.Errorf("a rating of item %d by rater %d for class %d: there are %d items, %d raters and %d classes",
				r.Item, r.Rater, r.Class, n, len(ds.Raters), d)
		}
	}
	return checkFeatures(ds.Features)
}

// Select returns the items at the given indices, in that order. Features are
// shared with ds, not copied; only ds needs to be closed.
func (ds *Dataset) Select(at []int) *Dataset {
	d := len(ds.Classes)
	out := &Dataset{
		Items: pickRows(ds.Items, at, 1), Classes: ds.Classes, Ordered: ds.Ordered, Raters: ds.Raters,
		Groups: pickRows(ds.Groups, at, 1), Given: pickRows(ds.Given, at, 1), Weights: pickRows(ds.Weights, at, 1),
		Counts: pickRows(ds.Counts, at, d), Truth: pickRows(ds.Truth, at, d),
		Features: ds.Features, Columns: ds.Columns, Votes: ds.Votes,
	}
	if ds.Rows != nil {
		out.Rows = picked(ds.Rows, at)
	}
	if ds.Ratings != nil {
		// An item may be picked several times, as in a bootstrap.
		places := make(map[int32][]int32, len(at))
		for to, from := range at {
			places[int32(from)] = append(places[int32(from)], int32(to))
		}
		out.Ratings = []Rating{}
		for _, r := range ds.Ratings {
			for _, to := range places[r.Item] {
				out.Ratings = append(out.Ratings, Rating{to, r.Rater, r.Class})
			}
		}
	}
	out.Votes.count(out)
	return out
}

// pickRows returns the rows of w values at the given indices.
func pickRows[T any](from []T, at []int, w int) []T {
	if from == nil {
		return nil
	}
	out := make([]T, 0, len(at)*w)
	for _, i := range at {
		out = append(out, from[i*w:(i+1)*w]...)
	}
	return out
}

// Hash returns the hexadecimal SHA-256 of everything a fit depends on:
// ids, classes, counts, groups, the given split, and features. It reads every
// row once.
func (ds *Dataset) Hash() (string, error) {
	h := sha256.New()
	text := func(kind string, list []string) {
		fmt.Fprintf(h, "%s %d\n", kind, len(list))
		for _, s := range list {
			fmt.Fprintf(h, "%d:%s\n", len(s), s)
		}
	}
	var buf []byte
	numbers := func(x []float32) {
		buf, _ = binary.Append(buf[:0], binary.LittleEndian, x) // fails only for other types
		h.Write(buf)
	}
	text("items", ds.Items)
	text("classes", ds.Classes)
	if ds.Ordered { // hashes of other data are those of earlier versions
		text("ordered", nil)
	}
	numbers(ds.Counts)
	text("groups", ds.Groups)
	text("given", ds.Given)
	for _, p := range ds.Features {
		fmt.Fprintf(h, "part %q %v %v\n", p.Name, p.Kind, p.Shape)
		text("levels", p.Levels)
	}
	if ds.Rows != nil {
		err := eachRow(ds.Rows, nil, func(_ int, row []float32) error {
			if err := hashTexts(h, ds.Features, row); err != nil {
				return err
			}
			numbers(row)
			return nil
		})
		if err != nil {
			return "", err
		}
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// Rows provides the raw feature values of items, one row of Width values per item.
// ReadRow may be called from several goroutines at once.
type Rows interface {
	Len() int   // N
	Width() int // W
	// ReadRow fills dst, of length W, with row i.
	ReadRow(i int, dst []float32) error
}

// Memory implements [Rows] with values in memory: row i is Values[i·W : (i+1)·W].
type Memory struct {
	N, W   int
	Values []float32 // [N×W]
}

// Len returns N.
func (m *Memory) Len() int { return m.N }

// Width returns W.
func (m *Memory) Width() int { return m.W }

// ReadRow copies row i.
func (m *Memory) ReadRow(i int, dst []float32) error {
	if err := checkRow(m, i, dst); err != nil {
		return err
	}
	copy(dst, m.Values[i*m.W:])
	return nil
}

// checkRow returns an error if the row number is out of range or dst is not of length W.
func checkRow(r Rows, i int, dst []float32) error {
	return array.CheckRow(r.Len(), r.Width(), i, dst)
}

// rowsBy implements [Rows] by a function that reads one of n rows of w values.
type rowsBy struct {
	n, w int
	read func(i int, dst []float32) error
}

func (r rowsBy) Len() int   { return r.n }
func (r rowsBy) Width() int { return r.w }

func (r rowsBy) ReadRow(i int, dst []float32) error {
	if err := array.CheckRow(r.n, r.w, i, dst); err != nil {
		return err
	}
	return r.read(i, dst)
}

// picked returns the rows of src at the given indices, in that order.
func picked(src Rows, at []int) Rows {
	return rowsBy{len(at), src.Width(), func(i int, dst []float32) error { return src.ReadRow(at[i], dst) }}
}

// sideBySide returns rows that are a row of left followed by one of right, either of which may be nil.
func sideBySide(left, right Rows) Rows {
	switch {
	case left == nil:
		return right
	case right == nil:
		return left
	}
	w := left.Width()
	return rowsBy{left.Len(), w + right.Width(), func(i int, dst []float32) error {
		if err := left.ReadRow(i, dst[:w]); err != nil {
			return err
		}
		return right.ReadRow(i, dst[w:])
	}}
}

// wideRow is the number of values from which the next row is read ahead in a goroutine: for shorter
// rows the handover costs as much as it saves.
const wideRow = 1 << 14

// eachRow calls do for the rows at the given indices in order, or for all rows if indices is nil; x is valid until
// do returns.
func eachRow(rows Rows, indices []int, do func(row int, x []float32) error) error {
	n, at := len(indices), func(k int) int { return indices[k] }
	if indices == nil {
		n, at = rows.Len(), func(k int) int { return k }
	}
	width := rows.Width()
	if width < wideRow {
		x := make([]float32, width)
		for k := range n {
			if err := rows.ReadRow(at(k), x); err != nil {
				return err
			}
			if err := do(at(k), x); err != nil {
				return err
			}
		}
		return nil
	}
	read := func(k int, x []float32) <-chan error {
		done := make(chan error, 1)
		if k == n {
			done <- nil
		} else {
			go func() { done <- rows.ReadRow(at(k), x) }()
		}
		return done
	}
	x, ahead := make([]float32, width), make([]float32, width)
	ready := read(0, x)
	for k := range n {
		if err := <-ready; err != nil {
			return err
		}
		ready = read(k+1, ahead)
		if err := do(at(k), x); err != nil {
			<-ready // no reader is left running
			return err
		}
		x, ahead = ahead, x
	}
	return nil
}
