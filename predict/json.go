package predict

import (
	"encoding/json"
	"math"
	"strconv"
)

// AppendJSON appends a row of cells as one object. Numbers that JSON does not have are null.
func (t *Table) AppendJSON(dst []byte, row []Cell) []byte {
	return t.format.appendObject(dst, t.columns, row)
}

// appendJSON appends rows, each an object on a line.
func (f *Form) appendJSON(dst []byte, columns []Column, cells []Cell) []byte {
	for ; len(cells) > 0; cells = cells[len(columns):] {
		dst = append(f.appendObject(dst, columns, cells), '\n')
	}
	return dst
}

func (f *Form) appendObject(dst []byte, columns []Column, row []Cell) []byte {
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

// appendNumber appends a number; JSON has none for what is not finite.
func (f *Form) appendNumber(dst []byte, x float64) []byte {
	switch {
	case math.IsNaN(x) || math.IsInf(x, 0):
		return append(dst, "null"...)
	case f.Digits > 0:
		return f.Digits.Append(dst, x)
	}
	return appendFloat(dst, x)
}

// appendNumbers appends a list, null if one of its numbers is not finite.
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

// appendFloat appends a finite number as encoding/json writes it: exponents only where the number would
// be long without, and of as few digits as possible.
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
