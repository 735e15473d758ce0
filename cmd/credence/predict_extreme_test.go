package main

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"
)

// TestExtremeRow: a row with values too large for the networks is reported by its
// id like one that cannot be read, and the others are written.
func TestExtremeRow(t *testing.T) {
	t.Chdir(t.TempDir())
	const features = 30 // enough that a sum of products overflows
	row := func(id string, x func(k int) float64) string {
		for k := range features {
			id += fmt.Sprintf(",%g", x(k))
		}
		return id + "\n"
	}
	var items, votes strings.Builder
	header := "item"
	for k := range features {
		header += fmt.Sprintf(",x%d", k)
	}
	items.WriteString(header + "\n")
	votes.WriteString("item,label\n")
	for i := range 40 {
		x := math.Sin(float64(i))
		items.WriteString(row(fmt.Sprint("i", i), func(k int) float64 { return math.Sin(float64((k + 1) * i)) }))
		fmt.Fprintf(&votes, "i%d,%t\ni%d,%t\n", i, x > 0, i, x > 0.5)
	}
	for name, text := range map[string]string{
		"items.csv": items.String(), "votes.csv": votes.String(),
		"new.csv":   header + "\n" + row("a", func(int) float64 { return 0.1 }) + row("b", func(int) float64 { return 3e38 }) + row("c", func(int) float64 { return 0.2 }),
		"later.csv": "item,label\na,true\nb,true\n",
	} {
		if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	must(t, "train --data items.csv --votes votes.csv --epochs 2 --ensemble 2 --widths 4 --trees off --normal-scores off --quiet --out run")
	for _, c := range []struct{ line, want string }{
		{"predict run new.csv --format csv", "\nc,"},
		{"predict run new.csv --format csv --batch 1", "\nc,"},
		{"predict run new.csv --format jsonl --votes later.csv", "\n{\"item\":\"c\""},
		{"predict run new.csv --format table", "\nc "},
		{"next run new.csv --budget 2 --order input --format csv", ",c,"},
	} {
		var stdout, stderr bytes.Buffer
		code := program(strings.Fields(c.line), nil, &stdout, &stderr)
		if code != exitError || !strings.Contains(stderr.String(), `item "b" has no prediction: `) ||
			!strings.Contains(stderr.String(), "1 of 3 items have no prediction") || strings.Contains(stderr.String(), "of the batch") {
			t.Errorf("%s: exit code %d, %s", c.line, code, &stderr)
		}
		if !strings.Contains(stdout.String(), c.want) {
			t.Errorf("%s: the other items are not written:\n%s", c.line, &stdout)
		}
	}
}
