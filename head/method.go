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
}

// Settings returns those of a method.
func Settings(m Method) []Setting {
	var list []Setting
	for i, t := 0, reflect.TypeOf(m); i < t.NumField(); i++ {
		if name := settingName(t.Field(i)); name != "" {
			tag := t.Field(i).Tag
			list = append(list, Setting{name, tag.Get("default"), tag.Get("help")})
		}
	}
	return list
}

// settingName is the JSON name of a field, empty if it is no setting.
func settingName(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	if name == "-" || f.Tag.Get("setting") == "-" {
		return ""
	}
	return name
}

// Set returns m with the setting of that name given a value, as a user writes it.
func Set(m Method, name, value string) (Method, error) {
	v, f, err := field(m, name)
	if err != nil {
		return nil, err
	}
	switch f.Kind() {
	case reflect.String:
		f.SetString(value)
	case reflect.Int:
		n, err := strconv.Atoi(value)
		if err != nil || n == 0 {
			return nil, fmt.Errorf("setting %s is %q, want a whole number that is not 0", name, value)
		}
		f.SetInt(int64(n))
	case reflect.Float64:
		x, err := strconv.ParseFloat(value, 64)
		if err != nil || !(x > 0) || math.IsInf(x, 0) {
			return nil, fmt.Errorf("setting %s is %q, want a number above 0", name, value)
		}
		f.SetFloat(x)
	}
	return v.Interface().(Method), nil
}

// Get returns the value of the setting of that name as Set takes it, empty if there is no such
// setting.
func Get(m Method, name string) string {
	_, f, err := field(m, name)
	if err != nil {
		return ""
	}
	if f.Kind() == reflect.Float64 {
		return strconv.FormatFloat(f.Float(), 'g', -1, 64)
	}
	return fmt.Sprint(f.Interface())
}

// field returns a copy of m that can be changed, and in it the setting of that name.
func field(m Method, name string) (v, f reflect.Value, err error) {
	v = reflect.New(reflect.TypeOf(m)).Elem()
	v.Set(reflect.ValueOf(m))
	var own []string
	for i := range v.NumField() {
		s := settingName(v.Type().Field(i))
		if s == name && s != "" {
			return v, v.Field(i), nil
		}
		if s != "" {
			own = append(own, s)
		}
	}
	if len(own) == 0 {
		return v, f, fmt.Errorf("method %s has no settings, found %q", m.Name(), name)
	}
	return v, f, fmt.Errorf("method %s has no setting %q, its settings are [%s]",
		m.Name(), name, strings.Join(own, " "))
}

// Complete returns m with defaults where settings are zero.
func Complete(m Method) Method {
	for _, s := range Settings(m) {
		_, f, err := field(m, s.Name)
		if err != nil || !f.IsZero() || s.Default == "" {
			continue
		}
		if m, err = Set(m, s.Name, s.Default); err != nil {
			panic(fmt.Sprintf("method %s: default of %s: %v", m.Name(), s.Name, err))
		}
	}
	return m
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
	v := reflect.New(reflect.TypeOf(m))
	v.Elem().Set(reflect.ValueOf(m))
	if err := json.Unmarshal(text, v.Interface()); err != nil {
		return nil, fmt.Errorf("method %s: %w", m.Name(), err)
	}
	return v.Elem().Interface().(Method), nil
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
		_, f, err := field(m, s.Name)
		switch {
		case err != nil:
			return err
		case f.Kind() == reflect.Float64 && !(f.Float() > 0 && !math.IsInf(f.Float(), 0)):
			return bad(s.Name, f.Float(), "more than 0")
		case f.Kind() == reflect.Int && f.Int() < 1 && !slices.Contains(negative, s.Name):
			return bad(s.Name, f.Int(), "at least 1")
		}
	}
	return nil
}
