package predict

import (
	"bytes"
	"encoding/csv"
	"slices"
	"strconv"
	"strings"
)

// appendMeans appends the rows of a table that has nothing but means.
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

// guard puts an apostrophe before a text that a spreadsheet would take for a formula, which may come
// from an id in somebody else's file, if that is asked for.
func (f *Form) guard(s string) string {
	if f.CSVSafe && s != "" && strings.IndexByte("=+-@\t\r", s[0]) >= 0 {
		return "'" + s
	}
	return s
}

// headerCSV returns the first line of CSV.
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

// appendCSV appends rows of CSV. Lists, which are parameters to compute with, keep all digits.
func (f *Form) appendCSV(dst []byte, columns []Column, cells []Cell) []byte {
	for ; len(cells) > 0; cells = cells[len(columns):] {
		for i := range columns {
			if i > 0 {
				dst = append(dst, ',')
			}
			v := &cells[i]
			switch {
			case v.null:
			case columns[i].list:
				dst = appendList(dst, v.list)
			case columns[i].Kind == Text:
				dst = appendField(dst, f.guard(v.Text))
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
