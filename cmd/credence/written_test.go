package main

import (
	"encoding/csv"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// earlier copies the files that an earlier version wrote into a folder of the test's own and returns a function that
// runs credence there. It fails the test if the program does not exit with code 0, and returns what it printed.
func earlier(t *testing.T) (dir string, credence func(args ...string) string) {
	t.Helper()
	dir = t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("testdata/written")); err != nil {
		t.Fatal(err)
	}
	return dir, func(args ...string) string {
		t.Helper()
		cmd := exec.Command("credence", args...)
		cmd.Dir = dir
		// Checkpoints and members go on with the instruction set that they began with.
		cmd.Env = append(os.Environ(), "CREDENCE_KERNEL=generic", "GORACE=atexit_sleep_ms=0")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("credence %s: %v\n%s", strings.Join(args, " "), err, out)
		}
		return string(out)
	}
}

// TestEarlierFiles reads files that version 0.1.0 wrote, which every later version has to read.
func TestEarlierFiles(t *testing.T) {
	for _, name := range []string{"mixture", "classes", "raters", "softmax", "dropout", "mve", "qd", "confidence", "evidential",
		"text", "images", "volumes", "mixed"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, credence := earlier(t)
			model := filepath.Join("models", name+".credence")
			credence("inspect", model)
			credence("predict", model, "cases.csv", "-o", "now.csv")
			samePredictions(t, dir, "now.csv", name+".csv")
			if name == "mixture" || name == "raters" {
				credence("predict", model, "cases.csv", "--votes", "later.csv", "-o", "voted.csv")
				samePredictions(t, dir, "voted.csv", name+"-later.csv")
			}
		})
	}
	t.Run("run", func(t *testing.T) {
		t.Parallel()
		_, credence := earlier(t)
		if out := credence("inspect", "run"); !strings.Contains(out, "benign, malignant") {
			t.Errorf("inspect does not name the classes:\n%s", out)
		}
		if out := credence("evaluate", "run", "items.csv", "--votes", "votes.csv", "--part", "test"); !strings.Contains(out, "items") {
			t.Errorf("evaluate counts no items:\n%s", out)
		}
		credence("report", "run", "items.csv", "--votes", "votes.csv", "-o", "again.html")
		credence("train", "--from", "run", "--votes", "votes.csv", "--votes", "later.csv", "--quiet", "--out", "second")
	})
	t.Run("checkpoint", func(t *testing.T) {
		t.Parallel()
		dir, credence := earlier(t)
		credence("train", "--out", "stopped", "--resume", "--quiet")
		history, err := os.ReadFile(filepath.Join(dir, "stopped", "history.csv"))
		if err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(string(history), "\n"); n < 2*160 {
			t.Errorf("history.csv has %d lines: the epochs before the stop are missing", n)
		}
	})
	t.Run("members", func(t *testing.T) {
		t.Parallel()
		_, credence := earlier(t)
		credence("join", "members", "--quiet")
		credence("predict", "members", "cases.csv", "-o", "now.csv")
	})
	t.Run("shards", func(t *testing.T) {
		t.Parallel()
		dir, credence := earlier(t)
		credence("join", "shards.csv")
		samePredictions(t, dir, "shards.csv", "mixture.csv")
	})
	t.Run("votes", func(t *testing.T) {
		t.Parallel()
		dir, credence := earlier(t)
		credence("predict", "models/mixture.credence", "cases.csv", "--votes", "log.csv", "-o", "voted.csv")
		voted, before := readCSV(t, filepath.Join(dir, "voted.csv")), readCSV(t, filepath.Join(dir, "predictions", "mixture.csv"))
		for i, row := range voted {
			// The third vote was withdrawn.
			want := row[0] == "case-00" || row[0] == "case-01"
			if moved := row[2] != before[i][2]; moved != want && i > 0 {
				t.Errorf("%s: mean %s, without votes %s", row[0], row[2], before[i][2])
			}
		}
	})
}

// samePredictions compares a file of predictions with one of the folder predictions: texts are equal, numbers to the
// rounding in which instruction sets differ.
func samePredictions(t *testing.T, dir, got, want string) {
	t.Helper()
	now, then := readCSV(t, filepath.Join(dir, got)), readCSV(t, filepath.Join(dir, "predictions", want))
	if len(now) != len(then) {
		t.Fatalf("%s has %d rows, expected %d", got, len(now), len(then))
	}
	for i, row := range then {
		for k, cell := range row {
			x, errX := strconv.ParseFloat(now[i][k], 64)
			y, errY := strconv.ParseFloat(cell, 64)
			same := now[i][k] == cell
			if errX == nil && errY == nil {
				same = math.Abs(x-y) <= 2e-5*max(math.Abs(y), 1e-3)
			}
			if !same {
				t.Errorf("row %d, %s: found %s, expected %s", i, then[0][k], now[i][k], cell)
			}
		}
	}
}

func readCSV(t *testing.T, path string) [][]string {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return rows
}
