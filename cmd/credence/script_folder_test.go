package main

import (
	"encoding/csv"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"credence/internal/table"

	"github.com/rogpeppe/go-internal/testscript"
)

// makeFolder cuts a CSV file into Parquet files of some rows each, as Spark would; columns of
// numbers become such:
//
//	makefolder items.csv items 25
func makeFolder(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: makefolder file folder rows")
	}
	file, err := os.Open(ts.MkAbs(args[0]))
	ts.Check(err)
	defer file.Close()
	rows, err := csv.NewReader(file).ReadAll()
	ts.Check(err)
	each, err := strconv.Atoi(args[2])
	ts.Check(err)
	dir := ts.MkAbs(args[1])
	ts.Check(os.MkdirAll(dir, 0o755))
	header, rows := rows[0], rows[1:]
	columns := make([]table.ParquetColumn, len(header))
	for i, name := range header {
		columns[i] = table.ParquetColumn{Name: name, Kind: table.ParquetNumber}
		for _, row := range rows {
			if _, err := strconv.ParseFloat(row[i], 64); err != nil && row[i] != "" {
				columns[i].Kind = table.ParquetText
			}
		}
	}
	for k := 0; k*each < len(rows); k++ {
		name := filepath.Join(dir, fmt.Sprintf("part-%05d.snappy.parquet", k))
		out, err := os.Create(name)
		ts.Check(err)
		w, err := table.NewParquetWriter(out, columns)
		ts.Check(err)
		for _, row := range rows[k*each : min((k+1)*each, len(rows))] {
			values := make([]any, len(row))
			for i, text := range row {
				switch x, err := strconv.ParseFloat(text, 64); {
				case text == "":
				case columns[i].Kind == table.ParquetNumber && err == nil:
					values[i] = x
				default:
					values[i] = text
				}
			}
			ts.Check(w.Write(values...))
		}
		ts.Check(w.Close())
		ts.Check(out.Close())
	}
	ts.Check(os.WriteFile(filepath.Join(dir, "_SUCCESS"), nil, 0o644))
}
