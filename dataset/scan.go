package dataset

import (
	"hash/fnv"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"credence/internal/table"
	"credence/internal/text"
	"credence/internal/words"
	"credence/record"
)

// scan is the first pass over a table of features: it collects ids, groups and
// statistics of the columns.
type scan struct {
	t                                 table.Table
	opts                              *reading
	commas                            bool // numbers may have a decimal comma
	item, group, split, weight, image int  // columns, or −1
	columns                           []columnScan
	ids                               *idSet
	groups, given                     []string
	weights                           []float64
	paths                             []string     // of images
	skip                              map[int]bool // records that repeat an item
	records                           int
	first                             int // line of the first record
}

// columnScan collects statistics of one column.
type columnScan struct {
	use       bool // a feature, unless its values rule it out
	role      role
	fixed     bool // the kind is given
	kind      Kind
	missing   int
	numbers   int
	lo, hi    float64 // of the numbers
	texts     int
	infinite  int            // of the texts, spellings of infinity
	levels    map[string]int // nil once there are too many and all are numbers
	counting  bool           // every value so far is the number of its row
	vector    int            // length of lists
	list      []float32      // the first of them
	varies    bool           // some list differs from the first
	percent   int            // of the numbers, those with a percent sign
	commas    int            // of the numbers, those with a decimal comma in a table that has points
	comma     string         // the first of them
	dates     int            // of the texts
	points    int            // of the numbers, those with commas between thousands
	thousands string         // the first of them
	bad       []badCell      // the first texts
	sentences int            // of the texts
	long      int            // of the texts, those longer than longText
	unread    error          // why it is not read
	paths     []string       // while every value is the path of an image or volume
	other     bool           // some value is not
	ids       bool           // the name says that it contains ids
	files     bool           // the values are paths of files that exist
	phrases   int            // of the texts, those of several words that are not a name
}

const (
	// maxLevels limits the number of levels of a categorical column.
	maxLevels = 100_000
	// manyLevels is the number of levels above which those of a numeric column are no longer counted.
	manyLevels = 1000
	// fewLevels is the largest number of values of a column of numbers and texts
	// that is read as categorical without an option.
	fewLevels = 20
	// maxWeight limits the weight of an item.
	maxWeight = 1e9
	// longText is the number of bytes above which a cell is too long to be a
	// category.
	longText = 4096
)

func newScan(t table.Table, opts *reading) (*scan, error) {
	s := &scan{t: t, opts: opts, commas: t.Traits().Commas, group: -1, split: -1, weight: -1, image: -1, columns: make([]columnScan, len(t.Header())),
		skip: map[int]bool{}, ids: newIDSet(t)}
	var err error
	if s.item, err = findItem(t, opts.ItemColumn, opts.ItemOptional, slices.Concat(opts.taken(), opts.votes)...); err != nil {
		return nil, err
	}
	if s.item < 0 && opts.several && len(opts.Schema) == 0 && opts.Schema != nil && len(t.Header()) == 1 {
		s.item = 0 // the model needs nothing of it but ids
	}
	for i, name := range t.Header() {
		c := &s.columns[i]
		c.counting = true
		c.role = roleIgnored
		switch {
		case i == s.item:
			c.role = roleItem
			if name == opts.ImageColumn { // paths may serve as ids
				s.image = i
			}
		case name == opts.ImageColumn:
			s.image = i
			c.role = roleFeature
		case name == opts.GroupColumn:
			s.group, c.role = i, roleGroup
		case name == opts.SplitColumn:
			s.split, c.role = i, roleSplit
		case name == opts.WeightColumn:
			s.weight, c.role = i, roleWeight
		case slices.Contains(opts.votes, name):
			c.role = roleVote
		case slices.Contains(opts.Ignore, name):
		case opts.Features != nil && !slices.Contains(opts.Features, name):
		case opts.Schema != nil && featureNamed(opts.Schema, name) < 0:
		case opts.notData(t, i):
			c.role = roleVote
		default:
			c.use, c.role = true, roleFeature
			if c.unread = t.Unread(i); c.unread != nil {
				c.use, c.role = false, roleIgnored
			}
		}
		if roles := t.Traits().Roles; roles != nil && roles[i] == table.TextRole {
			c.kind = Text
		}
		c.ids = table.NamesIDs(name)
		for kind, names := range [][]string{Numeric: opts.Numeric, Categorical: opts.Categorical, Text: opts.Text} {
			if slices.Contains(names, name) {
				c.fixed, c.kind = true, Kind(kind)
			}
		}
		c.levels = map[string]int{}
	}
	return s, nil
}

// add adds a record to the statistics.
func (s *scan) add(rec []table.Cell) error {
	at := s.records
	if s.records++; s.records == 1 {
		s.first = s.t.Line()
	}
	switch earlier, err := s.ids.next(s.t, rec, s.item); {
	case err != nil:
		return err
	case earlier >= 0 && s.opts.repeated:
		s.skip[at] = true
		return nil
	case earlier >= 0:
		return duplicateItem(s.t, s.t.Line(), s.item, s.opts.ItemColumn, rec[s.item].String(), earlier)
	}
	if err := s.keep(rec); err != nil {
		return err
	}
	if s.group >= 0 {
		g := strings.Clone(rec[s.group].String())
		if g == "" {
			return s.t.ErrorAt(s.group, "expected a group, found an empty cell")
		}
		s.groups = append(s.groups, g)
	}
	if s.split >= 0 {
		s.given = append(s.given, strings.Clone(rec[s.split].String()))
	}
	if s.weight >= 0 {
		w, ok := rec[s.weight].Number(s.commas)
		if !ok || !(w >= 0 && w < maxWeight) {
			return s.t.ErrorAt(s.weight, "expected a weight from 0 to 1e9, found %q", rec[s.weight].String())
		}
		s.weights = append(s.weights, w)
	}
	if s.image >= 0 && rec[s.image].Kind == table.VectorCell {
		return s.t.ErrorAt(s.image, "expected the path of an image, found a list of numbers: vectors are read from NPY and NPZ files")
	}
	if s.image >= 0 {
		s.paths = append(s.paths, strings.Clone(rec[s.image].String()))
	}
	if s.opts.Schema != nil {
		return nil
	}
	if s.item >= 0 {
		if err := s.addPath(&s.columns[s.item], &rec[s.item]); err != nil {
			return err
		}
	}
	for i := range s.columns {
		if c := &s.columns[i]; c.use {
			err := s.addPath(c, &rec[i])
			if err == nil {
				err = s.addCell(i, c, &rec[i])
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// keep accounts for the memory used by a record, except for its features: ids, groups and
// paths.
func (s *scan) keep(rec []table.Cell) error {
	const text, entry = 16, 16 // bytes per text in addition to its length, and per hash table entry
	size := text + len(s.ids.names[len(s.ids.names)-1])
	if s.item >= 0 {
		size += entry
	}
	for _, col := range []int{s.group, s.split, s.image} {
		if col >= 0 {
			size += text + len(rec[col].Text)
		}
	}
	return s.t.Keep(size)
}

// duplicateItem returns the error for an item that is also on an earlier line. given is the id column named in the
// options, or "".
func duplicateItem(t table.Table, line, item int, given, id string, earlier int) error {
	name := t.Header()[item]
	if given == "" && !slices.Contains(itemNames[:3], table.Plain(name)) {
		e := errorIn(t, line, item, "item %q is there already, on %s; does column %q contain the ids of the items?", id, table.Place(t, earlier), name)
		return advise(e, "", SetItem, SetGroup, SetCategorical, SetIgnore)
	}
	return errorIn(t, line, item, "item %q is there already, on %s", id, table.Place(t, earlier))
}

// addCell adds one cell of a feature to the statistics.
func (s *scan) addCell(i int, c *columnScan, x *table.Cell) error {
	if s.opts.missing(x, table.FeatureNA) {
		c.missing++
		c.counting = false
		return nil
	}
	if x.Kind == table.VectorCell && !(c.ids && !c.fixed) {
		if c.vector != 0 && c.vector != len(x.Vec) || len(x.Vec) == 0 {
			return s.t.ErrorAt(i, "expected a list as long as the first, of %s, found %d", words.Plural(c.vector, "number"), len(x.Vec))
		}
		if c.vector == 0 {
			c.vector, c.list = len(x.Vec), slices.Clone(x.Vec)
		}
		c.varies = c.varies || !slices.Equal(x.Vec, c.list)
		return nil
	}
	if c.kind == Text {
		c.texts++
		c.counting, c.other, c.levels = false, true, nil
		return nil
	}
	v, ok := x.Number(s.commas)
	if !ok && x.Kind == table.TextCell && !s.commas {
		if v, ok = record.ParseFormatted(x.String(), true); ok {
			if c.commas++; c.commas == 1 {
				c.comma = strings.Clone(x.String())
			}
		}
	} else if ok && x.Kind == table.TextCell && !s.commas && (strings.Count(x.Text, ",") > 1 || strings.Contains(x.Text, ",") && strings.Contains(x.Text, ".")) {
		if c.points++; c.points == 1 {
			c.thousands = strings.Clone(x.String())
		}
	}
	if ok {
		if c.numbers == 0 {
			c.lo, c.hi = v, v
		}
		c.numbers++
		c.lo, c.hi = min(c.lo, v), max(c.hi, v)
		if x.Kind == table.TextCell && strings.HasSuffix(x.String(), "%") {
			c.percent++
		}
		row := float64(len(s.ids.names))
		c.counting = c.counting && (v == row || v == row-1)
	} else if err := s.addWord(i, c, x); err != nil {
		return err
	}
	if c.fixed && c.kind == Numeric && !ok {
		return nil
	}
	if c.levels == nil {
		return nil
	}
	if c.fixed && c.kind == Numeric {
		c.levels = nil
		return nil
	}
	level := c.level(s.opts.spelling(x.String()))
	n := c.levels[level]
	if n == 0 {
		level = strings.Clone(level)
		if err := s.t.Keep(96 + len(level)); err != nil {
			return err
		}
	}
	c.levels[level] = n + 1
	if len(c.levels) > manyLevels && c.prose() {
		c.kind, c.levels = Text, nil
		return nil
	}
	if len(c.levels) > manyLevels && (c.texts == 0 || c.ids) && !c.fixed {
		c.levels = nil
	}
	if len(c.levels) > maxLevels {
		e := s.t.ErrorAt(i, "more than %s different texts in one column", words.Thousands(maxLevels))
		return advise(e, e.Name, SetIgnore)
	}
	return nil
}

// addWord adds a cell that is not a number to the statistics.
func (s *scan) addWord(i int, c *columnScan, x *table.Cell) error {
	c.counting = false
	if len(c.bad) < maxBad {
		c.bad = append(c.bad, badCell{s.t.Line(), strings.Clone(x.String())})
	}
	c.texts++
	if !c.fixed && text.Sentence(x.String()) {
		c.sentences++
	} else if !c.fixed && text.Phrase(x.String()) {
		c.phrases++
	}
	if table.IsDate(x.String()) {
		c.dates++
	}
	if v, err := strconv.ParseFloat(x.String(), 64); err == nil && math.IsInf(v, 0) {
		c.infinite++
	}
	return nil
}

// level returns the key of a cell in levels: its text or, if that is long, a hash; the
// column is then not categorical.
func (c *columnScan) level(cell string) string {
	if c.fixed || len(cell) <= longText {
		return cell
	}
	c.long++
	h := fnv.New128a()
	io.WriteString(h, cell)
	return string(h.Sum(nil))
}

// prose reports whether a column contains sentences, or many phrases, most of them different: not a
// few repeated responses, nor names or codes.
func (c *columnScan) prose() bool {
	n := c.numbers + c.texts
	many := c.sentences*2 >= c.texts || (c.sentences+c.phrases)*2 >= c.texts && len(c.levels) > 2*fewLevels
	return c.texts*10 >= n*9 && many && len(c.levels)*2 > n
}

// isIDs reports whether a column that is named like ids has many different values with few rows each: a number that
// only names something is not a measurement, and a category needs rows to learn from.
func (c *columnScan) isIDs() bool {
	n := c.numbers + c.texts
	return c.ids && !c.fixed && (c.levels == nil || len(c.levels) > fewLevels && (c.texts == 0 || len(c.levels)*10 > n))
}
