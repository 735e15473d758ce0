package dataset

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"credence/internal/table"
	"credence/internal/words"
	"credence/record"
)

// decide sets the role and kind of every column.
func (s *scan) decide(f *features) error {
	header := s.t.Header()
	if s.opts.Schema == nil {
		if err := s.checkPaths(); err != nil {
			return err
		}
	}
	if err := s.choosePaths(f); err != nil {
		return err
	}
	var constant []string
	var bad []int // columns of numbers with a few texts
	for i, name := range header {
		c := &s.columns[i]
		info := ColumnInfo{Name: name, role: c.role, Missing: c.missing}
		if c.unread != nil {
			info.Reason = c.unread.Error()
			f.Warnings = append(f.Warnings, fmt.Errorf("column %q is left out: %s", name, info.Reason))
		}
		if c.use && s.opts.Schema == nil {
			if c.notNumbers() {
				bad = append(bad, i)
			} else if err := s.kind(i, c, &info, f); err != nil {
				return err
			}
			if value, ok := c.constant(len(s.ids.names)); ok && info.role == roleFeature {
				constant = append(constant, fmt.Sprintf("%s (%s)", name, value))
			}
		}
		if c.use && s.opts.Schema != nil {
			info.Feature = s.opts.Schema[featureNamed(s.opts.Schema, name)]
		}
		if i != s.image || i == s.item {
			f.Columns = append(f.Columns, info)
		}
	}
	if len(bad) > 0 {
		return s.badCells(bad)
	}
	if len(constant) > 0 {
		f.Warnings = append(f.Warnings, fmt.Errorf("columns of %s with the same value in all rows carry no information: %s", s.t.Name(), words.Few(constant)))
	}
	for _, p := range s.opts.Schema {
		if _, err := featureColumn(s.t, p.Name); err != nil {
			return err
		}
	}
	return nil
}

// constant returns the value that all n rows have in common, and whether there is one.
// Such columns are a sign of a mistake in reading or preparing the data.
func (c *columnScan) constant(n int) (string, bool) {
	switch {
	case n < 2 || c.missing > 0:
		return "", false
	case c.numbers == n:
		return record.FormatNumber(c.lo), c.lo == c.hi
	case c.vector > 0:
		return "a list", !c.varies
	}
	for level := range c.levels {
		return strconv.Quote(level), len(c.levels) == 1
	}
	return "", false
}

// kind determines the kind of a feature, or the reason to leave it out.
func (s *scan) kind(i int, c *columnScan, info *ColumnInfo, f *features) error {
	n := c.numbers + c.texts
	c.joinSpellings()
	leave := func(reason string, settings ...Setting) {
		info.role, info.Reason = roleIgnored, reason
		f.Warnings = append(f.Warnings, advised(fmt.Sprintf("column %q is left out: %s", info.Name, reason), info.Name, settings...))
	}
	info.Feature = Feature{Name: info.Name}
	unnamed := info.Name == "column 1" || strings.HasPrefix(info.Name, "Unnamed: ")
	switch {
	case c.isIDs():
		leave("it contains ids", SetCategorical)
	case c.vector > 0 && c.fixed && c.kind == Text:
		return s.t.ErrorAt(i, "expected text, found lists of numbers")
	case c.vector > 0 && n > 0:
		return s.t.ErrorAt(i, "expected either lists of numbers or single values in a column, found both")
	case c.infinite > 0 && c.infinite == c.texts && !c.fixed:
		return errorIn(s.t, c.bad[0].line, i, "expected a finite number, found %q: correct it, or leave the cell blank if the value is unknown", c.bad[0].text)
	case c.percent > 0 && c.percent < c.numbers && c.texts == 0:
		return &ParseError{File: s.t.Name(), Name: info.Name, Msg: fmt.Sprintf("column %q: %s with a percent sign, which divides by 100, and %s without: use one form", info.Name, words.Plural(c.percent, "value"), words.Thousands(c.numbers-c.percent))}
	case c.commas > 0 && c.points > 0 && c.texts == 0:
		return &ParseError{File: s.t.Name(), Name: info.Name, Msg: fmt.Sprintf("column %q: %q has a decimal comma, and %q commas between thousands: write all numbers with a decimal point", info.Name, c.comma, c.thousands)}
	case c.vector > 0:
		info.Feature.Kind, info.Feature.Shape = Tensor, []int{c.vector}
	case c.missing == len(s.ids.names):
		leave("it has no values")
	case !c.other && !c.fixed:
		leave("it contains file paths", SetImages)
	case c.files:
		leave("it contains the paths of files that are neither images nor volumes")
	case i == 0 && unnamed && c.counting && !c.fixed:
		leave("it contains row numbers")
	case c.kind == Text || !c.fixed && n >= fewLevels && c.prose():
		info.Feature.Kind = Text
	case c.fixed && c.kind == Numeric || !c.fixed && c.texts == 0:
		info.Feature.Kind = Numeric
		if c.commas > 0 {
			info.Feature.Comma = true
			x, _ := record.ParseFormatted(c.comma, true)
			f.Warnings = append(f.Warnings, fmt.Errorf("column %q: %s with a decimal comma, such as %q, read as %s", info.Name, words.Plural(c.commas, "number"), c.comma, record.FormatNumber(x)))
		}
		// Values are stored as float32, which has 2²⁴ steps between powers of two.
		if span := c.hi - c.lo; span > 0 && span < 10*max(math.Abs(c.lo), math.Abs(c.hi))/(1<<24) {
			f.Warnings = append(f.Warnings, fmt.Errorf("column %q varies only beyond the seventh digit, which is lost in float32: subtract a common value, such as %.12g", info.Name, c.lo))
		}
	case c.fixed:
		info.Feature.Kind, info.Feature.Levels = Categorical, sortedLevels(c.levels)
	case n >= fewLevels && len(c.levels)*2 > n && c.dates == c.texts:
		leave("it contains dates: " + datesAdvice)
	case n >= fewLevels && len(c.levels)*2 > n || c.long > 0:
		leave(fmt.Sprintf("it has %s different texts in %s", words.Thousands(len(c.levels)), words.Plural(n, "row")), SetText, SetCategorical)
	default:
		if c.dates == c.texts && c.dates > 0 {
			f.Warnings = append(f.Warnings, fmt.Errorf("column %q contains dates, each of which becomes a separate category: %s", info.Name, datesAdvice))
		}
		info.Feature.Kind, info.Feature.Levels = Categorical, sortedLevels(c.levels)
	}
	return nil
}

// joinSpellings merges the spellings of each boolean into one level, in a column of only booleans.
func (c *columnScan) joinSpellings() {
	names := slices.Collect(maps.Keys(c.levels))
	for i, to := range oneSpelling(names) {
		if n := c.levels[names[i]]; to != names[i] {
			delete(c.levels, names[i])
			c.levels[to] += n
		}
	}
}

// datesAdvice recommends an alternative to dates.
const datesAdvice = "a number, such as days since the first visit, is more informative"

// sortedLevels orders levels by value if all are numbers, else alphabetically.
func sortedLevels(levels map[string]int) []string {
	names := slices.Sorted(maps.Keys(levels))
	if _, numeric := numbersOf(names, record.ParseNumber, false); numeric {
		slices.SortStableFunc(names, func(a, b string) int {
			x, _ := record.ParseNumber(a, false)
			y, _ := record.ParseNumber(b, false)
			return cmp.Compare(x, y)
		})
	}
	return names
}

// addPath records the values of a column as long as all of them are paths of
// images or volumes.
func (s *scan) addPath(c *columnScan, x *table.Cell) error {
	if c.other {
		return nil
	}
	missing := s.opts.missing(x, table.FeatureNA)
	if !missing && (x.Kind == table.VectorCell || !isPicture(x.String())) {
		c.other, c.paths = true, nil
		return nil
	}
	if missing && c.paths == nil { // most columns that begin with a missing value are not paths
		return nil
	}
	more := len(s.ids.names) - len(c.paths) // several if the column begins with missing values
	c.paths = append(c.paths, make([]string, more)...)
	if missing {
		return s.t.Keep(16 * more)
	}
	path := strings.Clone(x.String())
	c.paths[len(c.paths)-1] = path
	return s.t.Keep(16*more + len(path))
}

// choosePaths selects a column of paths as the images if the options name none:
// one that is listed in Features, or the only column, which may be the id
// column.
func (s *scan) choosePaths(f *features) error {
	if s.image >= 0 || s.opts.Schema != nil {
		return nil
	}
	header := s.t.Header()
	used, found := 0, -1
	for i := range s.columns {
		c := &s.columns[i]
		if !c.use {
			continue
		}
		used++
		if c.other || c.fixed || c.missing == len(s.ids.names) {
			continue
		}
		if found >= 0 && slices.Contains(s.opts.Features, header[i]) {
			return advise(&ParseError{File: s.t.Name(), Msg: fmt.Sprintf("columns %q and %q both contain paths of images or volumes: expected one such column", header[found], header[i])}, "", SetImages)
		}
		found = i
	}
	if found < 0 && s.item >= 0 && !s.columns[s.item].other {
		if used == 0 || slices.Contains(s.opts.Features, header[s.item]) {
			found = s.item
		} else {
			name := header[s.item]
			f.Warnings = append(f.Warnings, advised(fmt.Sprintf("column %q contains file paths, which are used only as ids", name), name, SetImages))
		}
	}
	if found < 0 || found != s.item && used > 1 && !slices.Contains(s.opts.Features, header[found]) {
		return nil
	}
	c := &s.columns[found]
	s.image, s.paths, s.opts.ImageColumn = found, c.paths, header[found]
	c.use = false
	return nil
}

// picture reports whether a feature in a table can only be a column of paths.
func (p *Feature) picture() bool {
	return p.Kind == Tensor && (len(p.Shape) == 3 || p.Volume != nil || p.Embedding != nil)
}

// schemaImage returns the column of a table with the paths of a model's images
// or volumes, or "".
func schemaImage(schema []Feature, t table.Table) string {
	for _, p := range schema {
		if p.picture() && slices.Contains(t.Header(), p.Name) {
			return p.Name
		}
	}
	return ""
}
