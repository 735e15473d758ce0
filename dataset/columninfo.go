package dataset

import (
	"fmt"
	"strings"

	"credence/internal/words"
)

// role is what a column of a feature file is used for.
type role uint8

const (
	roleFeature   role = iota
	roleItem           // the ids
	roleGroup          // the group that an item belongs to in a split
	roleSplitPart      // the part of a given split
	roleWeight         // how much an item counts in training
	roleVote           // votes, in a file that holds features and votes
	roleIgnored
)

var roleNames = [...]string{"feature", "item", "group", "split", "weight", "vote", "ignored"}

// String returns the role's name.
func (r role) String() string {
	if int(r) < len(roleNames) {
		return roleNames[r]
	}
	return fmt.Sprintf("role(%d)", uint8(r))
}

// ColumnInfo says how a column of a feature file was read.
type ColumnInfo struct {
	Name    string
	role    role
	Part    Part   // of a feature
	Missing int    // cells without a value
	Reason  string // why a column is ignored
}

// String reads like "age: numeric, 3 missing" or "notes: ignored (…)".
func (c ColumnInfo) String() string {
	if c.role != roleFeature {
		if c.Reason != "" {
			return fmt.Sprintf("%s: %v (%s)", c.Name, c.role, c.Reason)
		}
		return fmt.Sprintf("%s: %v", c.Name, c.role)
	}
	s := c.Part.String()
	if c.Missing > 0 {
		s += ", " + words.Thousands(c.Missing) + " missing"
	}
	return s
}

// DescribeColumns sums up in a line or two how the columns were read: "66
// features: 64 numeric, 2 categorical (sex, site); ignored: notes".
func DescribeColumns(columns []ColumnInfo) string {
	var numeric, missing int
	var categorical, texts, tensors, ignored []string
	for _, c := range columns {
		if c.role == roleFeature {
			missing += c.Missing
		}
		switch {
		case c.role == roleIgnored:
			ignored = append(ignored, c.Name)
		case c.role != roleFeature:
		case c.Part.Kind == Numeric:
			numeric++
		case c.Part.Kind == Categorical:
			categorical = append(categorical, c.Name)
		case c.Part.Kind == Text:
			texts = append(texts, c.Name)
		default:
			tensors = append(tensors, c.Name+" "+words.Shape(c.Part.Shape))
		}
	}
	var kinds []string
	if numeric > 0 {
		kinds = append(kinds, words.Thousands(numeric)+" numeric")
	}
	if len(categorical) > 0 {
		kinds = append(kinds, fmt.Sprintf("%s categorical (%s)", words.Thousands(len(categorical)), words.Few(categorical)))
	}
	if len(texts) > 0 {
		kinds = append(kinds, fmt.Sprintf("%s of text (%s)", words.Thousands(len(texts)), words.Few(texts)))
	}
	if len(tensors) > 0 {
		kinds = append(kinds, fmt.Sprintf("%s (%s)", number(len(tensors), "tensor"), words.Few(tensors)))
	}
	s := number(numeric+len(categorical)+len(texts)+len(tensors), "feature")
	if len(kinds) > 0 {
		s += ": " + strings.Join(kinds, ", ")
	}
	if missing > 0 {
		s += "; " + number(missing, "missing value")
	}
	if len(ignored) > 0 {
		s += "; ignored: " + words.Few(ignored)
	}
	return s
}

// Unused reports whether nothing is taken from the column.
func (c ColumnInfo) Unused() bool { return c.role == roleIgnored }
