package main

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

// trainMembers trains a run in one process and again in the given number of processes, one per member,
// joins these, and fails if any file of the two runs differs. It leaves the joined run in the folder out:
//
//	members 2 --data items.csv --votes votes.csv
func trainMembers(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: members number flags...")
	}
	n, err := strconv.Atoi(args[0])
	ts.Check(err)
	out, one := ts.MkAbs("out"), ts.MkAbs("one")
	ts.Check(os.RemoveAll(out))
	ts.Check(os.RemoveAll(one))
	command := append([]string{"train", "--out", "out", "--quiet"}, args[1:]...)
	ts.Check(ts.Exec("credence", append(command, "--ensemble", args[0])...))
	ts.Check(os.Rename(out, one)) // the name is in the files
	for i := range n {
		ts.Check(ts.Exec("credence", append(command, "--member", fmt.Sprintf("%d/%d", n-1-i, n))...))
	}
	ts.Check(ts.Exec("credence", "join", "out", "--quiet"))
	want, got := files(ts, one), files(ts, out)
	for name, text := range want {
		if !bytes.Equal(text, got[name]) {
			ts.Fatalf("%s differs after joining %s", name, strings.Join(args, " "))
		}
	}
	if len(want) < 5 || len(want) != len(got) {
		ts.Fatalf("one process leaves %d files, the joined members %d", len(want), len(got))
	}
}

// files reads the files of a folder, without folders in it.
func files(ts *testscript.TestScript, dir string) map[string][]byte {
	entries, err := os.ReadDir(dir)
	ts.Check(err)
	texts := map[string][]byte{}
	for _, e := range entries {
		if !e.IsDir() {
			texts[e.Name()], err = os.ReadFile(filepath.Join(dir, e.Name()))
			ts.Check(err)
		}
	}
	return texts
}

// makeRated writes rated.csv with the given number of items, and rated-votes.csv with the votes of
// four raters out of six on each. The raters have different biases:
//
//	makerated 150
func makeRated(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: makerated items")
	}
	n, err := strconv.Atoi(args[0])
	ts.Check(err)
	r := rand.New(rand.NewPCG(1, 2))
	items, votes := "item,a,b\n", "item,rater,label\n"
	for i := range n {
		a := r.NormFloat64()
		items += fmt.Sprintf("i%d,%.4f,%.4f\n", i, a, r.NormFloat64())
		for _, rater := range r.Perm(6)[:4] {
			label := "no"
			if r.Float64() < 1/(1+math.Exp(-a-float64(rater-2))) {
				label = "yes"
			}
			votes += fmt.Sprintf("i%d,r%d,%s\n", i, rater, label)
		}
	}
	ts.Check(os.WriteFile(ts.MkAbs("rated.csv"), []byte(items), 0o644))
	ts.Check(os.WriteFile(ts.MkAbs("rated-votes.csv"), []byte(votes), 0o644))
}
