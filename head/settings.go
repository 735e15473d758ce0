package head

import (
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"

	"credence/internal/words"
)

// Setting describes a setting of a method.
type Setting struct {
	Name, Default, Help string

	value reflect.Value
}

// Settings returns the settings of a method.
func Settings(m Method) []Setting {
	_, list := settings(m)
	return list
}

// settings returns an addressable copy of m, and its settings, whose values are the fields of the copy.
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

// WithSetting returns m with the named setting changed to a value in text form.
func WithSetting(m Method, name, value string) (Method, error) {
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

// set parses the value and assigns it.
func (s *Setting) set(value string) error {
	switch s.value.Kind() {
	case reflect.String:
		s.value.SetString(value)
	case reflect.Int:
		n, err := strconv.Atoi(value)
		if err != nil || n == 0 {
			return fmt.Errorf("setting %s: expected a whole number other than 0, found %q", s.Name, value)
		}
		s.value.SetInt(int64(n))
	case reflect.Float64:
		x, err := strconv.ParseFloat(value, 64)
		if err != nil || !(x > 0) || math.IsInf(x, 0) {
			return fmt.Errorf("setting %s: expected a number above 0, found %q", s.Name, value)
		}
		s.value.SetFloat(x)
	}
	return nil
}

// SettingValue returns the value of the named setting in the form that WithSetting parses, or "" if the method has no
// such setting.
func SettingValue(m Method, name string) string {
	for _, s := range Settings(m) {
		if s.Name == name {
			return fmt.Sprint(s.value.Interface())
		}
	}
	return ""
}

// Complete returns m with zero settings replaced by their defaults.
func Complete(m Method) Method {
	v, list := settings(m)
	for _, s := range list {
		if s.value.IsZero() && s.Default != "" {
			if err := s.set(s.Default); err != nil {
				panic(fmt.Sprintf("method %s: default of %s: %v", m.Name(), s.Name, err))
			}
		}
	}
	return v.Interface().(Method)
}
