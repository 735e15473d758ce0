package table

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// CellKind says what a cell of a table holds.
type CellKind uint8

const (
	TextCell    CellKind = iota
	NumberCell           // Num
	WholeCell            // Whole
	VectorCell           // Vec
	MissingCell          // nothing: a null
)

// Cell is one value of a table. Text tables have text cells alone; those of
// typed formats have the others as well.
type Cell struct {
	Text  string
	Num   float64
	Whole int64
	Vec   []float32
	Kind  CellKind
}

// String returns the cell as text, without blanks around it.
func (c *Cell) String() string {
	switch c.Kind {
	case TextCell:
		return strings.TrimSpace(c.Text)
	case NumberCell:
		if math.IsNaN(c.Num) {
			return ""
		}
		return FormatNumber(c.Num)
	case WholeCell:
		return strconv.FormatInt(c.Whole, 10)
	case VectorCell:
		return fmt.Sprintf("a list of %d numbers", len(c.Vec))
	}
	return ""
}

// Number returns the value of a cell, if it is a number; with commas, it may have a
// decimal comma.
func (c *Cell) Number(commas bool) (float64, bool) {
	switch c.Kind {
	case NumberCell:
		return c.Num, true
	case WholeCell:
		return float64(c.Whole), true
	case TextCell:
		return ParseFormatted(strings.TrimSpace(c.Text), commas)
	}
	return 0, false
}

// The usual spellings of a missing value, besides an empty cell: in votes, and in
// features.
var (
	VoteNA    = []string{"NA", "N/A", "n/a", "#N/A", "<NA>", "NaN", "nan", "NULL", "null"}
	FeatureNA = append(slices.Clone(VoteNA), "None", "none", "-", ".", "?")
)

// Missing reports whether a cell holds nothing, or one of the given spellings of it.
func (c *Cell) Missing(na []string) bool {
	switch c.Kind {
	case MissingCell:
		return true
	case NumberCell:
		return math.IsNaN(c.Num)
	case TextCell:
		s := strings.TrimSpace(c.Text)
		return s == "" || len(s) <= longest(na) && slices.Contains(na, s)
	}
	return false
}

func longest(list []string) int {
	n := 0
	for _, s := range list {
		n = max(n, len(s))
	}
	return n
}

// FormatNumber writes whole numbers without an exponent.
func FormatNumber(x float64) string {
	if x == math.Trunc(x) && math.Abs(x) < 1<<53 {
		return strconv.FormatInt(int64(x), 10)
	}
	return strconv.FormatFloat(x, 'g', -1, 64)
}
