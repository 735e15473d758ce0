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
func (r role) String() string { return roleNames[r] }

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
	var features, missing int
	var names [len(kindNames)][]string // of each kind
	var ignored []string
	for _, c := range columns {
		switch c.role {
		case roleIgnored:
			ignored = append(ignored, c.Name)
		case roleFeature:
			features++
			missing += c.Missing
			name := c.Name
			if c.Part.Kind == Tensor {
				name += " " + words.Shape(c.Part.Shape)
			}
			names[c.Part.Kind] = append(names[c.Part.Kind], name)
		}
	}
	var kinds []string
	for _, kind := range []Kind{Numeric, Categorical, Text, Tensor} {
		switch n, some := len(names[kind]), " ("+words.Few(names[kind])+")"; {
		case n == 0:
		case kind == Numeric:
			kinds = append(kinds, words.Thousands(n)+" numeric")
		case kind == Categorical:
			kinds = append(kinds, words.Thousands(n)+" categorical"+some)
		case kind == Text:
			kinds = append(kinds, words.Thousands(n)+" of text"+some)
		default:
			kinds = append(kinds, number(n, "tensor")+some)
		}
	}
	s := number(features, "feature")
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
