package head

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"credence/internal/words"
)

// Method is a name with settings, from which heads are made. Its settings are the exported fields
// of a struct: numbers or strings with a JSON name, and the tags default and help. A field left zero
// means its default; one with the tag setting:"-" is recorded, but nothing that a user sets.
type Method interface {
	// Name is how files and the command line call the method.
	Name() string
	// New returns a head, or an error that says which setting is out of range.
	New(t Task) (Head, error)
}

// Methods are those of this package, the default first.
var Methods = []Method{Mixture{}, Softmax{}, Dropout{}, MVE{}, QD{}, Confidence{}, Evidential{}}

// Names returns the names of Methods.
func Names() []string { return words.Each(Methods, Method.Name) }

// Named returns the method of that name with its default settings, among those given and Methods.
func Named(name string, own ...Method) (Method, error) {
	known := slices.Concat(own, Methods)
	for _, m := range known {
		if m.Name() == name {
			return Complete(m), nil
		}
	}
	return nil, fmt.Errorf("method %q is not one of %q", name, words.Each(known, Method.Name))
}

// Setting describes a setting of a method.
type Setting struct {
	Name, Default, Help string

	value reflect.Value
}

// Settings returns those of a method.
func Settings(m Method) []Setting {
	_, list := settings(m)
	return list
}

// settings returns a copy of m that can be changed, and its settings, whose values are the fields of the copy.
func settings(m Method) (v reflect.Value, list []Setting) {
	v = reflect.New(reflect.TypeOf(m)).Elem()
	v.Set(reflect.ValueOf(m))
	for i := range v.NumField() {
		tag := v.Type().Field(i).Tag
		name, _, _ := strings.Cut(tag.Get("json"), ",")
		if name != "" && name != "-" && tag.Get("setting") != "-" {
			list = append(list, Setting{name, tag.Get("default"), tag.Get("help"), v.Field(i)})
		}
	}
	return v, list
}

// Set returns m with the setting of that name given a value, as a user writes it.
func Set(m Method, name, value string) (Method, error) {
	v, list := settings(m)
	if len(list) == 0 {
		return nil, fmt.Errorf("method %s has no settings, found %q", m.Name(), name)
	}
	for _, s := range list {
		if s.Name == name {
			err := s.set(value)
			return v.Interface().(Method), err
		}
	}
	names := words.Each(list, func(s Setting) string { return s.Name })
	return nil, fmt.Errorf("method %s has no setting %q, its settings are [%s]", m.Name(), name, strings.Join(names, " "))
}

// set changes the value.
func (s *Setting) set(value string) error {
	switch s.value.Kind() {
	case reflect.String:
		s.value.SetString(value)
	case reflect.Int:
		n, err := strconv.Atoi(value)
		if err != nil || n == 0 {
			return fmt.Errorf("setting %s is %q, want a whole number that is not 0", s.Name, value)
		}
		s.value.SetInt(int64(n))
	case reflect.Float64:
		x, err := strconv.ParseFloat(value, 64)
		if err != nil || !(x > 0) || math.IsInf(x, 0) {
			return fmt.Errorf("setting %s is %q, want a number above 0", s.Name, value)
		}
		s.value.SetFloat(x)
	}
	return nil
}

// Get returns the value of the setting of that name as Set takes it, empty if there is no such
// setting.
func Get(m Method, name string) string {
	for _, s := range Settings(m) {
		switch {
		case s.Name != name:
		case s.value.Kind() == reflect.Float64:
			return strconv.FormatFloat(s.value.Float(), 'g', -1, 64)
		default:
			return fmt.Sprint(s.value.Interface())
		}
	}
	return ""
}

// Complete returns m with defaults where settings are zero.
func Complete(m Method) Method {
	v, list := settings(m)
	for _, s := range list {
		if !s.value.IsZero() || s.Default == "" {
			continue
		}
		if err := s.set(s.Default); err != nil {
			panic(fmt.Sprintf("method %s: default of %s: %v", m.Name(), s.Name, err))
		}
	}
	return v.Interface().(Method)
}

// Encode returns a method as JSON: an object with its name as "kind", and its settings.
func Encode(m Method) (json.RawMessage, error) {
	settings, err := json.Marshal(m)
	if err != nil {
		return nil, fmt.Errorf("method %s: %w", m.Name(), err)
	}
	kind, err := json.Marshal(m.Name())
	if err != nil {
		return nil, err
	}
	if string(settings) == "{}" {
		return fmt.Appendf(nil, `{"kind":%s}`, kind), nil
	}
	return fmt.Appendf(nil, `{"kind":%s,%s`, kind, settings[1:]), nil
}

// Parse reads what [Encode] wrote, of the methods given and Methods.
func Parse(text []byte, own ...Method) (Method, error) {
	var kind struct{ Kind string }
	if err := json.Unmarshal(text, &kind); err != nil {
		return nil, fmt.Errorf("method: %w", err)
	}
	m, err := Named(kind.Kind, own...)
	if err != nil {
		return nil, err
	}
	v, _ := settings(m)
	if err := json.Unmarshal(text, v.Addr().Interface()); err != nil {
		return nil, fmt.Errorf("method %s: %w", m.Name(), err)
	}
	return v.Interface().(Method), nil
}

// checked returns an error unless classes are enough and every number is finite and not negative,
// where a method does not allow -1 by negative.
func checked(m Method, t Task, negative ...string) error {
	bad := func(name string, found any, want string) error {
		return fmt.Errorf("method %s: %s %v, want %s", m.Name(), name, found, want)
	}
	if t.Classes < 2 {
		return bad("classes", t.Classes, "at least 2")
	}
	for _, s := range Settings(m) {
		switch f := s.value; {
		case f.Kind() == reflect.Float64 && !(f.Float() > 0 && !math.IsInf(f.Float(), 0)):
			return bad(s.Name, f.Float(), "more than 0")
		case f.Kind() == reflect.Int && f.Int() < 1 && !slices.Contains(negative, s.Name):
			return bad(s.Name, f.Int(), "at least 1")
		}
	}
	return nil
}
