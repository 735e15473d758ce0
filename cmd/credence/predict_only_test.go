package main

import (
	"bytes"
	"encoding/csv"
	"os"
	"strings"
	"testing"

	"credence/model"
)

// TestPredictOnlyMean: --only mean writes the same means as the full output, to six digits, and the same bytes
// for every batch size and number of cores.
func TestPredictOnlyMean(t *testing.T) {
	t.Chdir(t.TempDir())
	blobs(t, "items.csv", "votes.csv", 3, 60)
	must(t, "train --data items.csv --votes votes.csv --epochs 3 --ensemble 2 --widths 8 --quiet --out run")
	must(t, "predict run items.csv -o all.csv")
	must(t, "predict run items.csv --only mean -o only.csv")
	read := func(name string) [][]string {
		t.Helper()
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		rows, err := csv.NewReader(bytes.NewReader(text)).ReadAll()
		if err != nil {
			t.Fatal(err)
		}
		return rows
	}
	all, only := read("all.csv"), read("only.csv")
	if len(only) != 1+3*60 || strings.Join(only[0], ",") != "item,class,mean" || len(all) != len(only) {
		t.Fatalf("%d rows of %v, all columns have %d rows", len(only), only[0], len(all))
	}
	for i, row := range only {
		if strings.Join(row, ",") != strings.Join(all[i][:3], ",") {
			t.Errorf("row %d: %v, among all columns %v", i, row, all[i][:3])
		}
	}
	want, _ := os.ReadFile("only.csv")
	for _, flags := range []string{"--batch 1", "--batch 7 --threads 1", "--votes votes.csv --batch 5"} {
		must(t, "predict run items.csv --only mean -o again.csv --overwrite "+flags)
		got, _ := os.ReadFile("again.csv")
		if same := bytes.Equal(got, want); same == strings.Contains(flags, "--votes") {
			t.Errorf("%s: the same bytes: %v", flags, same)
		}
	}
	must(t, "predict run items.csv --only mean --wide -o wide.csv")
	if header := strings.Join(read("wide.csv")[0], ","); header != "item,predicted,mean_c0,mean_c1,mean_c2" {
		t.Errorf("--wide: %s", header)
	}
	for line, message := range map[string]string{
		"predict run items.csv --only sd":                `--only "sd": expected mean`,
		"predict run items.csv --only mean --level 0.9":  "--only mean and --level exclude each other",
		"predict run items.csv --only mean --min-top .9": "--only mean and --min-top exclude each other",
	} {
		var stderr bytes.Buffer
		if code := program(strings.Fields(line), nil, &stderr, &stderr); code != exitUsage || !strings.Contains(stderr.String(), message) {
			t.Errorf("%s: exit code %d, %s", line, code, &stderr)
		}
	}
}

// TestBatchOfManyClasses: with many classes a batch has fewer items, so that a signal takes effect soon.
func TestBatchOfManyClasses(t *testing.T) {
	for d, want := range map[int]int{2: 5000, 16: 5000, 17: 963, 600: 27, 20_000: 1} {
		p := &predictor{options: &predictOptions{batch: 5000}, model: &model.Model{Classes: make([]string, d)}}
		if got := p.batch(); got != want {
			t.Errorf("%d classes: %d items, want %d", d, got, want)
		}
	}
}
