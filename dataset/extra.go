package dataset

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"credence/internal/table"
	"credence/internal/words"
)

// ReadColumns reads columns of the files that ds was loaded from with the same
// options, features or not, as text: of each name the values of the items, [N], ""
// where one is missing. A column is that of the first file that has it.
func (ds *Dataset) ReadColumns(ctx context.Context, opts LoadOptions, names []string) ([][]string, error) {
	if err := opts.stack(ctx); err != nil {
		return nil, err
	}
	at := placesOf(ds.Items)
	values := make([][]string, len(names))
	var headers []string
	for k, path := range opts.Data {
		t, err := tableOf(ctx, path, &opts.FeatureOptions)
		if err != nil {
			return nil, err
		}
		if t == nil { // an array or a folder of images
			continue
		}
		headers = append(headers, t.Header()...)
		err = ds.readColumns(ctx, t, k == 0, at, &opts, names, values)
		t.Close()
		if err != nil {
			return nil, err
		}
	}
	for i, name := range names {
		if values[i] == nil {
			return nil, &ParseError{File: strings.Join(opts.Data, ", "), Name: name,
				Msg: fmt.Sprintf("no column %q among [%s]", name, words.Few(headers)), Err: ErrNoColumn}
		}
	}
	return values, nil
}

// readColumns reads from one table the columns that it has and none before had.
// Rows belong to the item of their id or, without ids, of their number.
func (ds *Dataset) readColumns(ctx context.Context, t table.Table, first bool, at places, opts *LoadOptions,
	names []string, values [][]string) error {
	fo := &opts.FeatureOptions
	item, err := findItem(t, fo.ItemColumn, fo.ItemOptional || !first, slices.Concat(fo.taken(), opts.VotesOptions.Columns)...)
	if err != nil {
		return err
	}
	type column struct {
		in int
		to []string
	}
	var columns []column
	for i, name := range names {
		in := slices.Index(t.Header(), name)
		if in < 0 || values[i] != nil {
			continue
		}
		if err := readable(t, in); err != nil {
			return err
		}
		values[i] = make([]string, len(ds.Items))
		columns = append(columns, column{in, values[i]})
	}
	if columns == nil {
		return nil
	}
	row, seen := 0, make([]bool, len(ds.Items))
	return table.Records(ctx, t, func(rec []table.Cell) error {
		to, ok := row, row < len(ds.Items)
		row++
		if item >= 0 {
			to, ok = at[rec[item].String()]
		} else if first {
			to, ok = at[strconv.Itoa(to)]
		}
		if !ok || seen[to] { // of an item that comes in several rows the first counts
			return nil
		}
		seen[to] = true
		for _, c := range columns {
			if cell := &rec[c.in]; !fo.missing(cell, table.FeatureNA) {
				c.to[to] = strings.Clone(cell.String())
			}
		}
		return nil
	})
}
