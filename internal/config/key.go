// Package config is the configuration file: what keys it may have, how it is
// read and written, and where each value comes from.
//
// A [Schema] lists the keys. [Schema.Read] reads a YAML file strictly: a key
// that is unknown, given twice or of the wrong type is an [Error] with its
// place and, where there is one, the nearest key and its default. [WriteYAML]
// and [WriteJSON] write values, with the [Origin] of each if asked to; what
// WriteYAML writes, Read reads back the same. [Schema.JSON] publishes the keys
// as a JSON Schema, for editors.
//
// The package knows nothing of what the keys mean: the command line derives
// them from its flags.
package config

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Type is what the value of a key is, or each element of a list.
type Type uint8

// The types of values.
const (
	Text     Type = iota
	Bool          // true or false
	Whole         // an integer
	Natural       // an integer that is not negative
	Number        // a finite number
	Fraction      // a finite number, also as text like 1/3
	Size          // a number of bytes, also as text like 2GB
)

// Key is one key of a configuration.
type Key struct {
	Name    string
	Type    Type
	List    bool     // several values; one may stand alone
	Choices []string // the only values, if not nil; empty text is as good as left out where there is no default
	Default []string // what holds if the key is left out; nil: nothing, or what suits the data
	About   string   // one line for people
}

// check tells whether text is a value of the key.
func (k *Key) check(text string) error {
	var err error
	switch k.Type {
	case Bool:
		_, err = strconv.ParseBool(text)
	case Whole:
		_, err = strconv.ParseInt(text, 0, 64)
	case Natural:
		_, err = strconv.ParseUint(text, 0, 64)
	case Number:
		var x float64
		if x, err = strconv.ParseFloat(text, 64); math.IsInf(x, 0) || math.IsNaN(x) {
			err = strconv.ErrRange
		}
	}
	if err != nil {
		return fmt.Errorf("%q is not %s", text, k.Type)
	}
	if k.Choices != nil && (text != "" || k.Default != nil) && !slices.Contains(k.Choices, text) {
		return fmt.Errorf("%q is not one of [%s]", text, strings.Join(k.Choices, " "))
	}
	return nil
}

// String says what is expected, with an article.
func (t Type) String() string {
	switch t {
	case Bool:
		return "true or false"
	case Whole:
		return "a whole number"
	case Natural:
		return "a whole number from 0"
	case Number:
		return "a number"
	case Fraction:
		return "a number or a fraction such as 1/3"
	case Size:
		return "a size such as 500MB or 2GB"
	}
	return "a text"
}

// left says what holds if the key is left out.
func (k *Key) left() string {
	if k.Default == nil {
		return "left out, it is chosen from the data"
	}
	return "default " + strings.Join(k.Default, ",")
}

// Schema is all keys, in the order in which they are shown.
type Schema []Key

// Lookup returns the key of a name, or nil.
func (s Schema) Lookup(name string) *Key {
	for i := range s {
		if s[i].Name == name {
			return &s[i]
		}
	}
	return nil
}

// nearest returns the key whose name takes the fewest changes, if few.
func (s Schema) nearest(name string) *Key {
	var names []string
	for _, k := range s {
		names = append(names, k.Name)
	}
	return s.Lookup(Nearest(strings.ReplaceAll(name, "_", "-"), names))
}

// Nearest returns the name that takes the fewest changes, if few, or "".
func Nearest(name string, names []string) string {
	if len(name) > 100 {
		return ""
	}
	best, least := "", max(2, len(name)/3)+1
	for _, n := range names {
		if d := distance(name, n); d < least {
			best, least = n, d
		}
	}
	return best
}

// distance is how many letters have to be put in, taken out or replaced, or
// swapped with the next.
func distance(a, b string) int {
	rows := [3][]int{make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)}
	for j := range rows[0] {
		rows[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		row, above, twoAbove := rows[i%3], rows[(i+2)%3], rows[(i+1)%3]
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := above[j-1]
			if a[i-1] != b[j-1] {
				cost++
			}
			row[j] = min(cost, row[j-1]+1, above[j]+1)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], twoAbove[j-2]+1)
			}
		}
	}
	return rows[len(a)%3][len(b)]
}
