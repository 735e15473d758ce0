package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"

	"credence/internal/table"

	"github.com/rogpeppe/go-internal/testscript"
)

// makeBooleans writes items with a number x and a boolean ok, and votes that are booleans, in the spelling or the type of
// each format: title.csv, lower.csv, upper.csv, bits.csv, typed.jsonl, typed.parquet and typed.arrow; votes-title.csv,
// votes-upper.csv, votes.jsonl and votes.parquet. New items, in unknown.csv and so on, have the text maybe.
//
//	makebooleans 200
func makeBooleans(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: makebooleans items")
	}
	n, err := strconv.Atoi(args[0])
	ts.Check(err)
	var items, votes [][]any
	for i := range n {
		ok := i%3 == 0
		items = append(items, []any{fmt.Sprint("i", i), float64(i%17) / 4, ok})
		for r := range 3 {
			yes := (i%17+r*5)%17 > 8
			if ok {
				yes = (i+r)%5 > 0
			}
			votes = append(votes, []any{fmt.Sprint("i", i), fmt.Sprint("r", r), yes})
		}
	}
	title := func(b bool) string { return map[bool]string{true: "True", false: "False"}[b] }
	upper := func(b bool) string { return strings.ToUpper(strconv.FormatBool(b)) }
	bits := func(b bool) string { return map[bool]string{true: "1", false: "0"}[b] }
	for name, spell := range map[string]func(bool) string{"title.csv": title, "lower.csv": strconv.FormatBool, "upper.csv": upper, "bits.csv": bits} {
		writeRows(ts, name, []string{"item", "x", "ok"}, items, spell)
		writeRows(ts, "votes-"+name, []string{"item", "rater", "label"}, votes, spell)
	}
	for _, form := range []string{"jsonl", "parquet", "arrow"} {
		writeRows(ts, "typed."+form, []string{"item", "x", "ok"}, items, nil)
		writeRows(ts, "unknown."+form, []string{"item", "x", "ok"}, [][]any{{"a", 1.5, "maybe"}}, nil)
		writeRows(ts, "votes."+form, []string{"item", "rater", "label"}, votes, nil)
	}
	writeRows(ts, "unknown.csv", []string{"item", "x", "ok"}, [][]any{{"a", 1.5, "maybe"}}, nil)
}

// writeRows writes a table of texts, numbers and booleans in the format of its file name; spell formats booleans as text.
func writeRows(ts *testscript.TestScript, name string, header []string, rows [][]any, spell func(bool) string) {
	out, err := os.Create(ts.MkAbs(name))
	ts.Check(err)
	columns := make([]table.ParquetColumn, len(header))
	for i, h := range header {
		kind := table.ParquetText
		switch rows[0][i].(type) {
		case float64:
			kind = table.ParquetNumber
		case bool:
			kind = table.ParquetBool
		}
		columns[i] = table.ParquetColumn{Name: h, Kind: kind}
	}
	switch {
	case strings.HasSuffix(name, ".parquet"):
		w, err := table.NewParquetWriter(out, columns)
		ts.Check(err)
		for _, row := range rows {
			ts.Check(w.Write(row...))
		}
		ts.Check(w.Close())
	case strings.HasSuffix(name, ".arrow"):
		w, err := table.NewArrowWriter(out, columns)
		ts.Check(err)
		for _, row := range rows {
			for i, v := range row {
				switch x := v.(type) {
				case string:
					w.Text(i, x)
				case float64:
					w.Number(i, x)
				case bool:
					w.Bool(i, x)
				}
			}
		}
		ts.Check(w.Flush())
		ts.Check(w.Close())
	default:
		if strings.HasSuffix(name, ".csv") {
			fmt.Fprintln(out, strings.Join(header, ","))
		}
		for _, row := range rows {
			cells := make([]string, len(row))
			for i, v := range row {
				b, isBool := v.(bool)
				switch {
				case strings.HasSuffix(name, ".jsonl"):
					cells[i] = fmt.Sprintf("%q: %#v", header[i], v)
				case isBool:
					cells[i] = spell(b)
				default:
					cells[i] = fmt.Sprint(v)
				}
			}
			if line := strings.Join(cells, ","); strings.HasSuffix(name, ".jsonl") {
				fmt.Fprintln(out, "{"+line+"}")
			} else {
				fmt.Fprintln(out, line)
			}
		}
	}
	ts.Check(out.Close())
}
