package predict

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"strings"
)

// appendMeans appends the rows of a table that has only means.
func (t *Table) appendMeans(dst []byte, p *Prediction) []byte {
	from := len(dst)
	dst = appendField(dst, t.format.guard(p.Item))
	field := slices.Clip(dst[from:])
	for i, x := range p.Mean {
		if i > 0 {
			dst = append(dst, field...)
		}
		dst = append(t.format.Digits.Append(append(dst, t.classes[i]...), x), '\n')
	}
	return dst
}

// guard prefixes a text that a spreadsheet would take for a formula with an apostrophe, if CSVSafe is set. Such a
// text may come from an id in an untrusted file.
func (f *Form) guard(s string) string {
	if f.CSVSafe && s != "" && strings.IndexByte("=+-@\t\r", s[0]) >= 0 {
		return "'" + s
	}
	return s
}

// headerCSV returns the header line of a CSV file.
func headerCSV(columns []Column) []byte {
	var line []byte
	for i, c := range columns {
		if i > 0 {
			line = append(line, ',')
		}
		line = appendField(line, c.Name)
	}
	return append(line, '\n')
}

// appendCSV appends rows as CSV. Lists are parameters for further computation and keep all digits. Numbers that are the same in each row of an
// item are formatted once.
func (f *Form) appendCSV(dst []byte, columns []Column, values []Value) []byte {
	var known [16]struct{ bits, from, to int } // of the first columns in the row before
	for row := 0; len(values) > 0; values, row = values[len(columns):], row+1 {
		for i := range columns {
			if i > 0 {
				dst = append(dst, ',')
			}
			v := &values[i]
			switch {
			case v.null:
			case columns[i].list:
				dst = appendList(dst, v.list)
			case columns[i].Kind == Text:
				dst = appendField(dst, f.guard(v.Text))
			case columns[i].Kind == Number && i < len(known):
				k, bits := &known[i], int(math.Float64bits(v.Number))
				if row > 0 && k.bits == bits && k.to > k.from {
					dst = append(dst, dst[k.from:k.to]...)
					continue
				}
				k.bits, k.from = bits, len(dst)
				dst = f.Digits.Append(dst, v.Number)
				k.to = len(dst)
			case columns[i].Kind == Number:
				dst = f.Digits.Append(dst, v.Number)
			case columns[i].Kind == Whole:
				dst = strconv.AppendInt(dst, int64(v.Number), 10)
			default:
				dst = strconv.AppendBool(dst, v.Number != 0)
			}
		}
		dst = append(dst, '\n')
	}
	return dst
}

// appendField appends a field, in quotes where encoding/csv would put them.
func appendField(dst []byte, s string) []byte {
	if s != "" && s[0] != ' ' && s != `\.` && !strings.ContainsAny(s, "\",\r\n\t") {
		return append(dst, s...)
	}
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	w.Write([]string{s})
	w.Flush()
	return append(dst, bytes.TrimSuffix(b.Bytes(), []byte("\n"))...)
}

// appendList appends numbers with spaces between them.
func appendList(dst []byte, values []float64) []byte {
	for i, v := range values {
		if i > 0 {
			dst = append(dst, ' ')
		}
		dst = strconv.AppendFloat(dst, v, 'g', -1, 64)
	}
	return dst
}

// AppendJSON appends a row of values as one object. Numbers that JSON cannot represent are null.
func (t *Table) AppendJSON(dst []byte, row []Value) []byte {
	return t.format.appendObject(dst, t.columns, row)
}

// appendJSON appends rows, each an object on a line.
func (f *Form) appendJSON(dst []byte, columns []Column, values []Value) []byte {
	for ; len(values) > 0; values = values[len(columns):] {
		dst = append(f.appendObject(dst, columns, values), '\n')
	}
	return dst
}

func (f *Form) appendObject(dst []byte, columns []Column, row []Value) []byte {
	sep := byte('{')
	for i := range columns {
		c, v := &columns[i], &row[i]
		dst = appendString(append(dst, sep), c.Name)
		dst = append(dst, ':')
		sep = ','
		switch {
		case v.null:
			dst = append(dst, "null"...)
		case c.list:
			dst = appendNumbers(dst, v.list)
		case c.Kind == Text:
			dst = appendString(dst, v.Text)
		case c.Kind == Number:
			dst = f.appendNumber(dst, v.Number)
		case c.Kind == Whole:
			dst = strconv.AppendInt(dst, int64(v.Number), 10)
		default:
			dst = strconv.AppendBool(dst, v.Number != 0)
		}
	}
	return append(dst, '}')
}

// appendNumber appends a number, or null if it is not finite.
func (f *Form) appendNumber(dst []byte, x float64) []byte {
	switch {
	case math.IsNaN(x) || math.IsInf(x, 0):
		return append(dst, "null"...)
	case f.Digits > 0:
		return f.Digits.Append(dst, x)
	}
	return appendFloat(dst, x)
}

// appendNumbers appends a list, or null if one of its numbers is not finite.
func appendNumbers(dst []byte, list []float64) []byte {
	from := len(dst)
	sep := byte('[')
	for _, x := range list {
		if math.IsNaN(x) || math.IsInf(x, 0) {
			return append(dst[:from], "null"...)
		}
		dst = appendFloat(append(dst, sep), x)
		sep = ','
	}
	return append(dst, ']')
}

// appendFloat appends a finite number in the format of encoding/json: with an exponent only for very small or
// large numbers, and with the fewest digits of the exponent.
func appendFloat(dst []byte, x float64) []byte {
	if size := math.Abs(x); size == 0 || size >= 1e-6 && size < 1e21 {
		return strconv.AppendFloat(dst, x, 'f', -1, 64)
	}
	dst = strconv.AppendFloat(dst, x, 'e', -1, 64)
	if n := len(dst); dst[n-4] == 'e' && dst[n-3] == '-' && dst[n-2] == '0' {
		dst = append(dst[:n-2], dst[n-1])
	}
	return dst
}

// appendString appends a text in quotes.
func appendString(dst []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '"' || c == '\\' || c == '<' || c == '>' || c == '&' {
			text, _ := json.Marshal(s)
			return append(dst, text...)
		}
	}
	return append(append(append(dst, '"'), s...), '"')
}
