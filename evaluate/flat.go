package evaluate

import (
	"bytes"
	"encoding/json"
	"reflect"
)

// MarshalJSON writes estimates flat: see [Estimate].
func (r Result) MarshalJSON() ([]byte, error) {
	b := &bytes.Buffer{}
	e := json.NewEncoder(b)
	e.SetEscapeHTML(false) // that is up to the encoder of what the result is part of
	err := e.Encode(flat(&r))
	return b.Bytes(), err
}

// UnmarshalJSON reads what MarshalJSON writes.
func (r *Result) UnmarshalJSON(b []byte) error { return json.Unmarshal(b, flat(r)) }

// flat returns the struct that p points to as one without estimates, for
// encoding/json: it shares the memory of *p, in which the numbers of an estimate
// stand one after the other.
func flat(p any) any {
	v := reflect.ValueOf(p)
	return reflect.NewAt(flatType(v.Type().Elem()), v.UnsafePointer()).Interface()
}

// flatType returns t with a Number in place of each number of an estimate, also in
// the structs that t refers to.
func flatType(t reflect.Type) reflect.Type {
	switch t.Kind() {
	case reflect.Slice:
		return reflect.SliceOf(flatType(t.Elem()))
	case reflect.Pointer:
		return reflect.PointerTo(flatType(t.Elem()))
	case reflect.Struct:
		var fields []reflect.StructField
		for i := range t.NumField() {
			fields = append(fields, flatFields(t.Field(i))...)
		}
		return reflect.StructOf(fields)
	}
	return t
}

// flatFields returns what takes the place of a field: the fields of an embedded
// struct; the numbers of an estimate, the value under the name and the key of the
// field, the others with their own added; or the field itself.
func flatFields(f reflect.StructField) []reflect.StructField {
	estimate := f.Type == reflect.TypeFor[Estimate]() || f.Type == reflect.TypeFor[IntervalEstimate]()
	f.Type = flatType(f.Type)
	if !f.Anonymous && !estimate {
		return []reflect.StructField{f}
	}
	fields := make([]reflect.StructField, f.Type.NumField())
	for i := range fields {
		fields[i] = f.Type.Field(i)
		if f.Anonymous {
			continue
		}
		key := f.Tag.Get("json")
		if i > 0 {
			key += "_" + fields[i].Tag.Get("json")
		}
		fields[i].Name, fields[i].Tag = f.Name+fields[i].Name, reflect.StructTag(`json:"`+key+`"`)
	}
	return fields
}
