package rank

import (
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	for _, c := range []struct {
		text string
		env  string // NAME=value, separated by blanks
		want string // the rank, or a part of the error
	}{
		{"0/1", "", "0/1"},
		{"2/5", "", "2/5"},
		{"2/5", "RANK=1 WORLD_SIZE=7", "2/5"},
		{"5/5", "", `"5/5": expected an index from 0 to 4`},
		{"-1/5", "", `"-1/5": expected INDEX/COUNT`},
		{"+1/5", "", "expected INDEX/COUNT"},
		{"1/", "", "expected INDEX/COUNT"},
		{"/5", "", "expected INDEX/COUNT"},
		{"", "", "expected INDEX/COUNT"},
		{"3", "", "expected INDEX/COUNT"},
		{"1/2/3", "", "expected INDEX/COUNT"},
		{"0/0", "", "expected 1 to 1000000 processes"},
		{"0/2000000", "", "expected 1 to 1000000 processes"},
		{"0/99999999999999999999", "", "expected INDEX/COUNT"},
		{"auto", "", "none of SLURM_ARRAY_TASK_ID, JOB_COMPLETION_INDEX, OMPI_COMM_WORLD_RANK, RANK is set"},
		{"auto", "SLURM_ARRAY_TASK_ID=3 SLURM_ARRAY_TASK_COUNT=5 SLURM_ARRAY_TASK_MIN=0", "3/5"},
		{"auto", "SLURM_ARRAY_TASK_ID=1 SLURM_ARRAY_TASK_COUNT=5 SLURM_ARRAY_TASK_MIN=1", "the Slurm array starts at 1: expected 0, as in --array=0-4"},
		{"auto/5", "SLURM_ARRAY_TASK_ID=3 SLURM_ARRAY_TASK_COUNT=1 SLURM_ARRAY_TASK_MIN=3", "3/5"}, // one task again
		{"auto", "SLURM_ARRAY_TASK_ID=7 SLURM_ARRAY_TASK_COUNT=5 SLURM_ARRAY_TASK_MIN=0", "SLURM_ARRAY_TASK_ID is 7 of 5: expected an index from 0 to 4"},
		{"auto", "JOB_COMPLETION_INDEX=2", "no variable gives the number of processes"},
		{"auto/3", "JOB_COMPLETION_INDEX=2", "2/3"},
		{"auto", "RANK=1 WORLD_SIZE=2", "1/2"},
		{"auto", "RANK=1", "WORLD_SIZE is not set"},
		{"auto", "RANK=x WORLD_SIZE=2", `RANK: expected a whole number from 0, found "x"`},
		{"auto", "RANK=0 WORLD_SIZE=x", `WORLD_SIZE: expected a whole number from 1, found "x"`},
		{"auto/", "RANK=0 WORLD_SIZE=2", "expected INDEX/COUNT"},
		{"auto", "OMPI_COMM_WORLD_RANK=1 OMPI_COMM_WORLD_SIZE=4", "1/4"},
		{"auto", "OMPI_COMM_WORLD_RANK=1 OMPI_COMM_WORLD_SIZE=4 RANK=1 WORLD_SIZE=4", "1/4"},
		{"auto", "OMPI_COMM_WORLD_RANK=1 OMPI_COMM_WORLD_SIZE=4 RANK=2 WORLD_SIZE=4", "OMPI_COMM_WORLD_RANK gives 1/4, but RANK gives 2/4"},
	} {
		env := map[string]string{}
		for _, pair := range strings.Fields(c.env) {
			name, value, _ := strings.Cut(pair, "=")
			env[name] = value
		}
		r, err := Parse(c.text, func(name string) string { return env[name] })
		got := r.String()
		if err != nil {
			got = err.Error()
		}
		if got != c.want && (err == nil || !strings.Contains(got, c.want)) {
			t.Errorf("%q with %q: %s; want %s", c.text, c.env, got, c.want)
		}
	}
}
