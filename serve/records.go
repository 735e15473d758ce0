package serve

import (
	"encoding/json"
	"math"
	"strconv"
)

// records appends one JSON object for each item, separated by commas.
func (t *told) records(dst []byte) []byte {
	names := t.fieldNames()
	for j := range t.items {
		if j > 0 {
			dst = append(dst, ',')
		}
		dst = t.record(dst, names, j)
	}
	return dst
}

// gridField is a number of each class under its name.
type gridField struct {
	values []float64
	names  []string // [d], quoted, with a colon
}

// fieldNames returns the names of the numbers of each class, such as lower_benign.
func (t *told) fieldNames() []gridField {
	var list []gridField
	for _, g := range []struct {
		name   string
		values []float64
	}{{"mean", t.mean}, {"sd", t.sd}, {"median", t.median}, {"lower", t.lower}, {"upper", t.upper},
		{"lower_bound", t.lowerBound}, {"upper_bound", t.upperBound}, {"p_top", t.top}} {
		if g.values == nil {
			continue
		}
		f := gridField{values: g.values}
		for _, class := range t.of.model.Classes {
			f.names = append(f.names, quote(g.name+"_"+class)+":")
		}
		list = append(list, f)
	}
	return list
}

func quote(s string) string {
	text, _ := json.Marshal(s)
	return string(text)
}

// record appends the object of item j.
func (t *told) record(dst []byte, fields []gridField, j int) []byte {
	dst = append(append(dst, `{"item":`...), quote(t.items[j])...)
	if t.bad[j] != nil {
		dst = append(append(dst, `,"error":`...), quote(t.bad[j].Error())...)
		return append(dst, '}')
	}
	dst = append(append(dst, `,"predicted":`...), quote(t.of.model.Classes[t.predicted[j]])...)
	d := len(t.of.model.Classes)
	for _, f := range fields {
		for i, name := range f.names {
			dst = append(append(dst, ','), name...)
			dst = appendNumber(dst, f.values[j*d+i])
		}
	}
	for _, v := range []struct {
		name   string
		values []float64
	}{{`,"entropy":`, t.entropy}, {`,"information":`, t.information}, {`,"next_gain":`, t.gain}} {
		if v.values != nil {
			dst = appendNumber(append(dst, v.name...), v.values[j])
		}
	}
	if t.atLeast != nil {
		for i, class := range t.of.model.Classes {
			dst = append(append(dst, ','), quote("at_least_"+class)...)
			dst = strconv.AppendBool(append(dst, ':'), t.atLeast[j*d+i])
		}
	}
	if t.abstain != nil {
		dst = strconv.AppendBool(append(dst, `,"abstain":`...), t.abstain[j])
	}
	return append(dst, '}')
}

// appendNumber appends a number; JSON has none for what is not finite.
func appendNumber(dst []byte, x float64) []byte {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return append(dst, "null"...)
	}
	return strconv.AppendFloat(dst, x, 'g', -1, 64)
}
