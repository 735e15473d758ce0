package config

import (
	"encoding/csv"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// Field is an option bound to settings. It implements pflag.Value.
type Field struct {
	*Option
	settings *Settings
}

// Set sets the value from a flag. A flag that is repeated appends to a list.
func (f *Field) Set(text string) error { return f.set(text, origin{source: fromFlag, name: f.Name}) }

func (f *Field) set(text string, from origin) error {
	texts := []string{text}
	if f.list && f.typ == textType {
		texts = []string{}
		if text != "" {
			r := csv.NewReader(strings.NewReader(text))
			r.TrimLeadingSpace = true // "r1, r2" are r1 and r2
			var err error
			if texts, err = r.Read(); err != nil {
				return fmt.Errorf("%q: expected texts separated by commas", text)
			}
		}
	}
	return f.settings.put(f.Option, texts, from)
}

// String returns the value as text.
func (f *Field) String() string {
	if f.Option == nil { // pflag calls String on a zero value
		return ""
	}
	return strings.Join(f.texts(f.settings), ",")
}

// Type names the value in the usage of a flag that has no placeholder.
func (f *Field) Type() string {
	switch {
	case f.typ == boolType:
		return "bool"
	case f.list:
		return "numbers"
	}
	return "value"
}

// custom is a field that is not a single variable of a plain type.
type custom interface {
	set(texts []string) error // errType where the option describes what is expected
	texts() []string          // nil if unset
}

// errType reports a value of the wrong type.
var errType = errors.New("value of the wrong type")

// kind returns the type of a field, and whether it is a list.
func kind(field any) (valueType, bool) {
	switch field.(type) {
	case *byteSize:
		return sizeType, false
	case percentiles:
		return fractionType, true
	case custom:
		return textType, false
	}
	t := reflect.TypeOf(field).Elem()
	list := t.Kind() == reflect.Slice
	if list {
		t = t.Elem()
	}
	switch t.Kind() {
	case reflect.Bool:
		return boolType, list
	case reflect.Int:
		return wholeType, list
	case reflect.Uint64:
		return naturalType, list
	case reflect.Float64:
		if list {
			return fractionType, list
		}
		return numberType, list
	}
	return textType, list
}

// put sets the field of s, or appends to it if it is a list and more is true.
// Errors begin with the invalid text.
func (o *Option) put(s *Settings, texts []string, more bool) error {
	field := o.at(s)
	if c, ok := field.(custom); ok {
		err := c.set(texts)
		if err == errType {
			err = fmt.Errorf("expected %s", o.expected())
		}
		if err != nil {
			return fmt.Errorf("%q: %w", strings.Join(texts, ","), err)
		}
		return nil
	}
	v := reflect.ValueOf(field).Elem()
	if v.Kind() != reflect.Slice {
		return o.putOne(v, texts[0])
	}
	if o.typ != textType {
		texts = split(texts)
	}
	// A new slice, since settings may share their backing arrays.
	list := reflect.MakeSlice(v.Type(), 0, len(texts))
	if more {
		list = reflect.AppendSlice(list, v)
	}
	for _, text := range texts {
		element := reflect.New(v.Type().Elem()).Elem()
		if err := o.putOne(element, text); err != nil {
			return err
		}
		list = reflect.Append(list, element)
	}
	v.Set(list)
	return nil
}

// split splits texts at commas.
func split(texts []string) (parts []string) {
	for _, t := range texts {
		parts = append(parts, strings.Split(t, ",")...)
	}
	return parts
}

// parse returns the value of a text by the option's type: a bool, int64, uint64, float64 or string.
func (o *Option) parse(text string) (any, error) {
	switch o.typ {
	case boolType:
		return strconv.ParseBool(text)
	case wholeType:
		return strconv.ParseInt(strings.TrimSpace(text), 0, 64)
	case naturalType:
		return strconv.ParseUint(text, 0, 64)
	case numberType:
		if strings.HasSuffix(text, "%") {
			return ParseNumber(text)
		}
		x, err := strconv.ParseFloat(text, 64)
		if math.IsInf(x, 0) || math.IsNaN(x) {
			err = strconv.ErrRange
		}
		return x, err
	case fractionType:
		return ParseNumber(text)
	}
	return text, nil
}

// putOne sets a variable of a plain type.
func (o *Option) putOne(v reflect.Value, text string) error {
	value, err := o.parse(text)
	if v.Kind() == reflect.Uint8 { // an enum: the index of the choice
		value = max(0, slices.Index(o.Choices, text))
	}
	x := 0.0 // the value to compare with the range
	switch n := value.(type) {
	case int64:
		x = float64(n)
	case float64:
		x = n
	}
	// Without a default, an empty text means unset.
	chosen := o.Choices == nil || slices.Contains(o.Choices, text) || text == "" && o.fallback == nil
	if err != nil || !chosen || o.valid.contains != nil && !o.valid.contains(x) {
		v.SetZero()
		return fmt.Errorf("%q: expected %s", text, o.expected())
	}
	if o.none && x == 0 {
		value = -1
	}
	v.Set(reflect.ValueOf(value).Convert(v.Type()))
	return nil
}

// texts returns the value in s in the form that put accepts.
func (o *Option) texts(s *Settings) []string {
	field := o.at(s)
	if c, ok := field.(custom); ok {
		if texts := c.texts(); texts != nil {
			return texts
		}
		return []string{""}
	}
	v := reflect.ValueOf(field).Elem()
	if v.Kind() != reflect.Slice {
		return []string{o.text(v)}
	}
	list := []string{}
	for i := range v.Len() {
		list = append(list, o.text(v.Index(i)))
	}
	return list
}

// text returns a plain value as text; -1 stands for none.
func (o *Option) text(v reflect.Value) string {
	switch {
	case v.Kind() == reflect.Uint8:
		return o.Choices[v.Uint()]
	case o.none && (v.CanInt() && v.Int() < 0 || v.CanFloat() && v.Float() < 0):
		return "0"
	}
	return fmt.Sprint(v)
}

// zero reports whether the option is unset in s.
func (o *Option) zero(s *Settings) bool {
	field := o.at(s)
	if c, ok := field.(custom); ok {
		return c.texts() == nil
	}
	v := reflect.ValueOf(field).Elem()
	return v.Kind() != reflect.Uint8 && v.IsZero()
}
