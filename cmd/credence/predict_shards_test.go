package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"credence/internal/atomicfile"
)

// failing runs a command line that must fail, and returns its messages.
func failing(t *testing.T, line string, code int) string {
	t.Helper()
	var stderr bytes.Buffer
	if got := program(strings.Fields(line), strings.NewReader(""), &stderr, &stderr); got != code {
		t.Fatalf("%s: exit code %d, want %d\n%s", line, got, code, &stderr)
	}
	return stderr.String()
}

// partsModel trains a small model, and writes n items.
func partsModel(t *testing.T, classes, n int) {
	t.Helper()
	t.Chdir(t.TempDir())
	blobs(t, "items.csv", "votes.csv", classes, 60)
	must(t, "train --data items.csv --votes votes.csv --epochs 2 --ensemble 2 --widths 4 --quiet --out run")
	blobs(t, "new.csv", "", classes, n)
}

// sameFiles checks that files have the same bytes.
func sameFiles(t *testing.T, one, other string) {
	t.Helper()
	a, err := os.ReadFile(one)
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(other)
	if err != nil || !bytes.Equal(a, b) {
		t.Errorf("%s and %s differ (%v)", one, other, err)
	}
}

// TestPredictShards: in every format, shards join to the bytes of a single process, even if some of them are
// repeated; so does a prediction with --resume.
func TestPredictShards(t *testing.T) {
	partsModel(t, 3, 600)
	text, err := os.ReadFile("new.csv")
	if err != nil {
		t.Fatal(err)
	}
	// An item without a prediction, and one whose id has to be quoted.
	text = bytes.Replace(text, []byte("\ni7,"), []byte("\ni7,x"), 1)
	text = bytes.Replace(text, []byte("\ni590,"), []byte("\n\"i\n590\","), 1)
	if err := os.WriteFile("new.csv", text, 0o666); err != nil {
		t.Fatal(err)
	}
	const bad = "1 of 600 items have no prediction"
	for _, c := range []struct{ form, flags string }{
		{"csv", ""}, {"csv", "--wide --level 0.5,0.9 --batch 100"}, {"jsonl", "--full"}, {"parquet", "--votes votes.csv --only mean"}, {"parquet", "--wide"},
	} {
		single := failing(t, fmt.Sprintf("predict run new.csv -o one.%s --overwrite %s", c.form, c.flags), exitError)
		resumed := failing(t, fmt.Sprintf("predict run new.csv -o all.%s --resume --overwrite %s", c.form, c.flags), exitError)
		if single != resumed || !strings.Contains(single, bad) {
			t.Errorf("in parts:\n%s\nat once:\n%s", resumed, single)
		}
		sameFiles(t, "one."+c.form, "all."+c.form)
		for _, shard := range []string{"2/3", "0/3", "0/3", "1/3"} {
			code := exitOK
			if shard == "0/3" {
				code = exitError // this shard has the item without a prediction
			}
			failing(t, fmt.Sprintf("predict run new.csv -o joined.%s --shard %s --overwrite %s", c.form, shard, c.flags), code)
		}
		if said := failing(t, "join --overwrite joined."+c.form, exitError); !strings.Contains(said, `item "i7" has no prediction`) || !strings.Contains(said, bad) {
			t.Errorf("joining says %s", said)
		}
		sameFiles(t, "one."+c.form, "joined."+c.form)
		if _, err := os.Stat("joined." + c.form + ".parts"); err == nil {
			t.Error("the parts are still there")
		}
		must(t, "join joined."+c.form)
	}
}

// TestPredictShardsMany: row groups of Parquet begin where those of a single process do, and a file
// without items is joined too.
func TestPredictShardsMany(t *testing.T) {
	partsModel(t, 3, 23000) // more rows than a row group has
	toParquet(t, "new.csv", "new.parquet")
	for _, input := range []string{"new.csv", "new.parquet", "none.csv"} {
		if err := os.WriteFile("none.csv", []byte("item,x,y,noise\n"), 0o666); err != nil {
			t.Fatal(err)
		}
		for _, form := range []string{"csv", "parquet"} {
			must(t, "predict run "+input+" --only mean --overwrite -o one."+form)
			for i := range 2 {
				t.Setenv("SLURM_ARRAY_TASK_ID", fmt.Sprint(i))
				t.Setenv("SLURM_ARRAY_TASK_COUNT", "2")
				must(t, "predict run "+input+" --only mean --shard auto --overwrite -o joined."+form)
			}
			must(t, "join --overwrite joined."+form)
			sameFiles(t, "one."+form, "joined."+form)
		}
	}
}

// TestPredictPartsRefused: errors name the parts that are missing, duplicate, damaged, older or from other work.
func TestPredictPartsRefused(t *testing.T) {
	partsModel(t, 2, 66)
	shard := func(i int, flags string) string {
		return fmt.Sprintf("predict run new.csv -o out.csv --shard %d/3 %s", i, flags)
	}
	all := func() {
		t.Helper()
		os.RemoveAll("out.csv.parts")
		for i := range 3 {
			must(t, shard(i, ""))
		}
	}
	path := func(name string) string { return filepath.Join("out.csv.parts", name) }
	change := func(name string, f func(text []byte) []byte) {
		t.Helper()
		text, err := os.ReadFile(path(name))
		if err == nil {
			err = os.WriteFile(path(name), f(text), 0o666)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for name, c := range map[string]struct {
		spoil func()
		want  string
	}{
		"missing shard": {func() { os.Remove(path("shard-1-of-3.json")) }, "shard-1-of-3.json: missing: shard 1/3 has not ended"},
		"missing part":  {func() { os.Remove(path("part-000002.json")) }, "part-000002.json: missing: run credence predict with --shard 2/3 again"},
		"missing data":  {func() { os.Remove(path("part-000001.csv")) }, "part-000001.csv: missing"},
		"copy": {func() {
			text, _ := os.ReadFile(path("part-000001.json"))
			os.WriteFile(path("part-000002.json"), text, 0o666)
		}, "part-000002.json: expected the manifest of part-000002, found a copy of part-000001"},
		"short":   {func() { change("part-000001.csv", func(text []byte) []byte { return text[:len(text)-1] }) }, "part-000001.csv: "},
		"damaged": {func() { change("part-000001.csv", func(text []byte) []byte { text[len(text)-2] ^= 1; return text }) }, "part-000001.csv: its SHA-256 is not that of part-000001.json"},
		"no JSON": {func() { change("part-000001.json", func([]byte) []byte { return []byte("{") }) }, "part-000001.json: expected a manifest"},
	} {
		all()
		c.spoil()
		if said := failing(t, "join out.csv", exitError); !strings.Contains(said, c.want) {
			t.Errorf("%s: %s, want %s", name, said, c.want)
		}
		if _, err := os.Stat("out.csv"); err == nil {
			t.Errorf("%s: joined all the same", name)
		}
	}

	// Parts of another model, other items or other flags are an error, and never mixed.
	all()
	must(t, "train --data items.csv --votes votes.csv --epochs 3 --ensemble 2 --widths 4 --quiet --out other")
	for line, want := range map[string]string{
		"predict other new.csv -o out.csv --shard 0/3":    ".json: it was made with another model (SHA-256 ",
		"predict run items.csv -o out.csv --shard 0/3":    ".json: it was made from another items.csv (SHA-256 ",
		"predict run new.csv -o out.csv --shard 0/2":      ".json: it was made by one of 3 shards, not 2",
		"predict run new.csv -o out.csv --resume":         ".json: it was made by one of 3 shards, not 1",
		shard(0, "--level 0.9"):                           ".json: it was made with --level 0.95, not 0.9",
		"predict other new.csv -o out.csv --shard 1/3 ":   "remove out.csv.parts, or choose another -o",
		"predict run new.csv new.csv -o out.csv --resume": "",
	} {
		if said := failing(t, line, exitError); !strings.Contains(said, want) {
			t.Errorf("%s: %s, want %s", line, said, want)
		}
	}
	// An older part, put back.
	if err := os.Rename("out.csv.parts", "old"); err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		must(t, strings.Replace(shard(i, ""), "predict run", "predict other", 1))
	}
	for _, name := range []string{"part-000001.json", "part-000001.csv"} {
		if err := os.Rename(filepath.Join("old", name), path(name)); err != nil {
			t.Fatal(err)
		}
	}
	if said := failing(t, "join out.csv", exitError); !strings.Contains(said, "part-000001.json: it was made with another model") || !strings.Contains(said, "which is newer") {
		t.Error(said)
	}

	all()
	lock, err := atomicfile.TakeLock(path("shard-1-of-3.lock"))
	if err != nil {
		t.Fatal(err)
	}
	if said := failing(t, shard(1, ""), exitError); !strings.Contains(said, "shard 1/3 of out.csv is being predicted already") {
		t.Error(said)
	}
	lock.Release()
}

func TestPredictPartsUsage(t *testing.T) {
	partsModel(t, 2, 10)
	for line, want := range map[string]string{
		"predict run - -o out.csv --resume":                    "--resume reads the items more than once, and standard input cannot be",
		"predict run - -o out.csv --shard 0/2":                 "--shard reads the items more than once",
		"predict run new.csv --shard 0/2":                      "give a file, such as -o predictions.csv",
		"predict run new.csv -o out.csv --shard 2/2":           "expected an index from 0 to 1",
		"predict run new.csv -o out.csv --shard auto":          "none of SLURM_ARRAY_TASK_ID",
		"predict run new.csv -o o.csv --format table --resume": "--resume: expected the format csv, jsonl or parquet, found table",
	} {
		for _, name := range []string{"SLURM_ARRAY_TASK_ID", "JOB_COMPLETION_INDEX", "OMPI_COMM_WORLD_RANK", "RANK"} {
			t.Setenv(name, "")
		}
		if said := failing(t, line, exitUsage); !strings.Contains(said, want) {
			t.Errorf("%s: %s, want %s", line, said, want)
		}
	}
	failing(t, "join nothing", exitError)
}

// TestPredictKilled: a process that is killed loses only the current part; the same command continues, and the
// result is that of a process that was not killed.
func TestPredictKilled(t *testing.T) {
	if testing.Short() {
		t.Skip("starts processes")
	}
	partsModel(t, 2, 40000) // two parts
	must(t, "predict run new.csv -o one.csv")
	const line = "predict run new.csv -o out.csv --resume"
	cmd := exec.Command("credence", strings.Fields(line)...)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	kept := filepath.Join("out.csv.parts", "part-000000.json")
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		if _, err := os.Stat(kept); err == nil {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("no part after a minute")
		}
	}
	cmd.Process.Kill()
	cmd.Wait()
	if _, err := os.Stat("out.csv"); err == nil {
		t.Fatal("the process had ended before it was killed: more items are needed")
	}
	if said := failing(t, "join out.csv", exitError); !strings.Contains(said, "shard-0-of-1.json: missing") {
		t.Error(said)
	}
	// A finished part is not predicted again: a changed text of the same length is in the joined result.
	data := filepath.Join("out.csv.parts", "part-000000.csv")
	text, err := os.ReadFile(data)
	if err != nil {
		t.Fatal(err)
	}
	text[len(text)-2] ^= 1
	if err := os.WriteFile(data, text, 0o666); err != nil {
		t.Fatal(err)
	}
	if said := failing(t, line, exitError); !strings.Contains(said, "part-000000.csv: its SHA-256 is not that of part-000000.json") {
		t.Error(said)
	}
	text[len(text)-2] ^= 1
	if err := os.WriteFile(data, text, 0o666); err != nil {
		t.Fatal(err)
	}
	must(t, line)
	sameFiles(t, "one.csv", "out.csv")
}
