package main

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"credence/internal/calculator"
	"credence/internal/par"
	"credence/internal/printout"
	"credence/internal/table"
)

// predictWriter writes predictions batch by batch.
type predictWriter interface {
	// write writes the predictions of some items. It returns false if it wants
	// no more.
	write(a *answers) (bool, error)
	close() error
}

func (p *predictor) newWriter(w io.Writer) (predictWriter, error) {
	columns := p.maker.columns()
	if p.options.names == "tidymodels" {
		rename(columns)
	}
	switch p.options.format {
	case "table":
		return &predictTable{p, w}, nil
	case "parquet":
		pw, err := newParquet(w, columns)
		return &parquetRows{p, pw}, err
	case "jsonl":
		return &textRows{p: p, w: bufio.NewWriterSize(w, 1<<16), encode: jsonEncoder(columns, p.options.digits.of("jsonl"))}, nil
	}
	encode := csvEncoder(p.options.digits.of("csv"))
	t := &textRows{p: p, w: bufio.NewWriterSize(w, 1<<16), encode: encode}
	if p.options.csvSafe {
		t.encode = func(dst []byte, row []any) []byte {
			guardFormulas(row)
			return encode(dst, row)
		}
	}
	t.csv, _ = p.maker.(csvMaker)
	_, err := t.w.Write(headerCSV(columns))
	return t, err
}

// newParquet begins a Parquet file with the given columns.
func newParquet(w io.Writer, columns []predictColumn) (*table.ParquetWriter, error) {
	var list []table.ParquetColumn
	for _, c := range columns {
		list = append(list, table.ParquetColumn{Name: c.name, Kind: c.kind})
	}
	return table.NewParquetWriter(w, list)
}

// headerCSV returns the first line of CSV.
func headerCSV(columns []predictColumn) []byte {
	var names []any
	for _, c := range columns {
		names = append(names, c.name)
	}
	return csvEncoder(digits{})(nil, names)
}

// textRows writes rows as text, which is made on all cores.
type textRows struct {
	p      *predictor
	w      *bufio.Writer
	encode func(dst []byte, row []any) []byte
	csv    csvMaker // nil if rows are encoded one by one
	texts  [][]byte // of pieces
}

// textItems is of how many items one goroutine writes the text at a time.
const textItems = 32

func (t *textRows) write(a *answers) (bool, error) {
	n := len(a.items)
	pieces := (n + textItems - 1) / textItems
	for len(t.texts) < pieces {
		t.texts = append(t.texts, nil)
	}
	par.For(pieces, func(i int) {
		text := t.texts[i][:0]
		for j := i * textItems; j < min(n, (i+1)*textItems); j++ {
			text = t.item(text, a, j)
		}
		t.texts[i] = text
	})
	for _, text := range t.texts[:pieces] {
		if _, err := t.w.Write(text); err != nil {
			return false, err
		}
	}
	// Whoever waits for an answer at the other end of a pipe gets it now.
	return true, t.w.Flush()
}

// item appends the text of an item.
func (t *textRows) item(dst []byte, a *answers, j int) []byte {
	if t.csv != nil {
		if a.dropped[j] {
			return dst
		}
		return t.csv.appendCSV(dst, a.items[j], &a.list[j])
	}
	for _, row := range a.rows(t.p.maker, j) {
		dst = t.encode(dst, row)
	}
	return dst
}

func (t *textRows) close() error { return t.w.Flush() }

// guardFormulas puts an apostrophe before texts that a spreadsheet would take for
// formulas, which may come from an id in somebody else's file.
func guardFormulas(row []any) {
	for i, v := range row {
		if s, ok := v.(string); ok && s != "" && strings.ContainsRune("=+-@\t\r", rune(s[0])) {
			row[i] = "'" + s
		}
	}
}

// csvEncoder returns a function that appends a row of CSV. Lists, which are parameters
// to compute with, keep all digits.
func csvEncoder(d digits) func(dst []byte, row []any) []byte {
	return func(dst []byte, row []any) []byte {
		for i, v := range row {
			if i > 0 {
				dst = append(dst, ',')
			}
			switch v := v.(type) {
			case string:
				dst = appendField(dst, v)
			case float64:
				dst = d.append(dst, v)
			case int64:
				dst = strconv.AppendInt(dst, v, 10)
			case bool:
				dst = strconv.AppendBool(dst, v)
			case []float64:
				dst = append(dst, writeList(v)...)
			}
		}
		return append(dst, '\n')
	}
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

// jsonEncoder returns a function that appends a row as an object on a line.
func jsonEncoder(columns []predictColumn, d digits) func(dst []byte, row []any) []byte {
	var names [][]byte
	for _, c := range columns {
		text, _ := json.Marshal(c.name)
		names = append(names, append(text, ':'))
	}
	return func(dst []byte, row []any) []byte {
		sep := byte('{')
		for i, v := range row {
			dst = append(append(dst, sep), names[i]...)
			sep = ','
			if x, ok := v.(float64); ok && d.n > 0 && !math.IsNaN(x) && !math.IsInf(x, 0) {
				v = json.Number(d.text(x))
			}
			text, err := json.Marshal(v)
			if err != nil { // an infinite or undefined number
				text = []byte("null")
			}
			dst = append(dst, text...)
		}
		return append(dst, '}', '\n')
	}
}

// parquetRows writes rows to a Parquet file.
type parquetRows struct {
	p *predictor
	w *table.ParquetWriter
}

func (t *parquetRows) write(a *answers) (bool, error) {
	rows := make([][][]any, len(a.items))
	par.For(len(a.items), func(j int) { rows[j] = a.rows(t.p.maker, j) })
	for _, of := range rows {
		for _, row := range of {
			for i, v := range row {
				if list, ok := v.([]float64); ok {
					row[i] = writeList(list)
				}
			}
			if err := t.w.Write(row...); err != nil {
				return false, err
			}
		}
	}
	return true, nil
}

func (t *parquetRows) close() error { return t.w.Close() }

// tableItems is how many items the table on a terminal shows.
const tableItems = 20

// predictTable shows the first items on a terminal.
type predictTable struct {
	p *predictor
	w io.Writer
}

func (t *predictTable) write(a *answers) (bool, error) {
	var b bytes.Buffer
	t.p.maker.table(&b, a)
	if len(a.items) > tableItems {
		b.WriteString("… and more: -o predictions.csv writes all of them, with every class\n")
	}
	_, err := t.w.Write(b.Bytes())
	return false, err
}

func (t *predictTable) close() error { return nil }

// table implements [rowMaker]: each item with the density of its predicted class.
func (r *lawRows) table(b *bytes.Buffer, answered *answers) {
	o, m := r.o, r.m
	level := o.levels.values[0]
	shown := printout.NewTable(0, 1, 3, 4)
	shown.Add("item", "class", "mean", printout.Percent(level)+" interval", "density from 0 to 1", "P(top)")
	for j, id := range answered.items[:min(len(answered.items), tableItems)] {
		if answered.dropped[j] {
			shown.Add(printout.Ellipsis(id, 24), "-")
			continue
		}
		answer := &answered.list[j]
		i := answer.Top()
		told := answer.Reported().To(o.precision())
		f := told.Law.Marginal(i)
		class := told.Summarize([]float64{level}, true)[i]
		in := class.Intervals[0].TwoSided
		mark := ""
		if in.AtLeast {
			mark = " *"
		}
		if o.abstain(in.Length(), class.Top) {
			mark += " abstain"
		}
		shown.Add(printout.Ellipsis(id, 24), printout.Ellipsis(m.Classes[i], 20), fmt.Sprintf("%.3f", answer.Mean[i]),
			fmt.Sprintf("[%.3f, %.3f]%s", in.Lo, in.Hi, mark),
			calculator.Sparkline(f, 24), printout.Share(class.Top))
	}
	shown.Print(b)
	if bytes.Contains(b.Bytes(), []byte("] *")) {
		b.WriteString("* holds at least that much: there is nothing smaller that the votes could tell\n")
	}
}
