package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"credence/run"
)

// must runs a command line that has to succeed.
func must(t *testing.T, line string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	if code := program(strings.Fields(line), nil, &stdout, &stderr); code != exitOK {
		t.Fatalf("%s: exit code %d: %s", line, code, &stderr)
	}
}

// For every form of votes, the file that init writes trains the same model as the
// flags it was made from, even if every commented key is made explicit.
func TestInitTrainsTheSame(t *testing.T) {
	t.Chdir(t.TempDir())
	items, votes := smallData(60)
	files := map[string]string{"items.csv": items, "votes.csv": votes}
	var long, wide, counts, shares, beside strings.Builder
	long.WriteString("case,grade\n")
	wide.WriteString("item,ann,ben,comment\n")
	counts.WriteString("id,no,yes,maybe\n")
	shares.WriteString("item,no,yes,total\n")
	beside.WriteString("key,x,a,b\n")
	for j := range 60 {
		a, b := []string{"no", "yes"}[j%2], []string{"no", "yes"}[j/3%2]
		fmt.Fprintf(&long, "i%03d,%d\ni%03d,%d\n", j, 1+j%3, j, 1+j/2%3)
		if j%5 == 0 {
			b = ""
		}
		fmt.Fprintf(&wide, "i%03d,%s,%s,note %d\n", j, a, b, j)
		fmt.Fprintf(&counts, "i%03d,%d,%d,%d\n", j, j%12, 12-j%12, j%2)
		fmt.Fprintf(&shares, "i%03d,%g,%g,8\n", j, float64(j%9)/8, 1-float64(j%9)/8)
		fmt.Fprintf(&beside, "k%d,%d,%d,%d\n", j, j, j%13, 12-j%13)
	}
	files["long.csv"], files["wide.csv"], files["counts.csv"] = long.String(), wide.String(), counts.String()
	files["shares.csv"], files["beside.csv"] = shares.String(), beside.String()
	for name, text := range files {
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for i, flags := range []string{
		"--data items.csv --votes votes.csv",
		"--data items.csv --votes long.csv --optimizer sgd",
		"--data items.csv --votes wide.csv --ignore comment,y",
		"--data items.csv --votes counts.csv",
		"--data items.csv --votes shares.csv --votes-form fractions --dropout 0",
		"--data beside.csv --vote-columns a,b --item key",
		"--data beside.csv --vote-columns a,b --ignore key",
	} {
		flags += " --epochs 1 --ensemble 1 --widths 8"
		file := fmt.Sprintf("%d.yaml", i)
		must(t, "init "+flags+" -o "+file)
		must(t, fmt.Sprintf("train %s --quiet --out flags%d", flags, i))
		must(t, fmt.Sprintf("train --config %s --quiet --out file%d", file, i))
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		text = regexp.MustCompile(`(?m)^#([a-z])`).ReplaceAll(text, []byte("$1"))
		if err := os.WriteFile("all.yaml", text, 0o644); err != nil {
			t.Fatal(err)
		}
		must(t, fmt.Sprintf("train --config all.yaml --quiet --out all%d", i))
		want, err := os.ReadFile(filepath.Join(fmt.Sprint("flags", i), run.ModelFile))
		if err != nil {
			t.Fatal(err)
		}
		for _, by := range []string{"file", "all"} {
			got, err := os.ReadFile(filepath.Join(fmt.Sprint(by, i), run.ModelFile))
			if err != nil || !bytes.Equal(got, want) {
				t.Errorf("%s: the model trained with %s of init differs (%v)", flags, by, err)
			}
		}
	}
}
