// Package rank determines the rank of a process among several: for example, the third of five that train one
// network each, or that predict one shard of the items each. The rank is given on the command line or taken from
// the environment, as set by Slurm arrays, indexed Kubernetes jobs, Open MPI, and launchers that set RANK and
// WORLD_SIZE.
package rank

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"credence/internal/words"
)

// Rank is the index of one process among Count, from 0.
type Rank struct{ Index, Count int }

// String returns the rank as [Parse] reads it.
func (r Rank) String() string { return fmt.Sprintf("%d/%d", r.Index, r.Count) }

// ErrRank is returned for a rank that cannot be parsed.
var ErrRank = errors.New("expected INDEX/COUNT, such as 0/5 for the first of five, auto/5 or auto")

// most is the maximum number of processes.
const most = 1_000_000

// variables are the environment variables that a launcher sets: the index, and the number of processes if there is one.
type variables struct{ index, count string }

var sources = []variables{
	{"SLURM_ARRAY_TASK_ID", "SLURM_ARRAY_TASK_COUNT"},
	{"JOB_COMPLETION_INDEX", ""},
	{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
	{"RANK", "WORLD_SIZE"},
}

// Parse reads a rank: "2/5" is the third of five; "auto/5" takes the index from the environment, and
// "auto" the number of processes as well.
func Parse(text string, getenv func(string) string) (Rank, error) {
	index, count, both := strings.Cut(text, "/")
	if index == "auto" {
		return fromEnvironment(count, both, getenv)
	}
	i, errIndex := number(index)
	n, errCount := number(count)
	if !both || errIndex != nil || errCount != nil {
		return Rank{}, fmt.Errorf("%q: %w", text, ErrRank)
	}
	return check(i, n, strconv.Quote(text))
}

// fromEnvironment returns the rank with the index, and the number of processes unless given, from the environment.
func fromEnvironment(count string, given bool, getenv func(string) string) (Rank, error) {
	var found Rank
	from := "" // the variable that the rank was found in
	for _, s := range sources {
		text := getenv(s.index)
		if text == "" {
			continue
		}
		i, err := number(text)
		if err != nil {
			return Rank{}, fmt.Errorf("%s: expected a whole number from 0, found %q", s.index, text)
		}
		n, size := 0, getenv(s.count)
		switch {
		case given:
			if n, err = number(count); err != nil {
				return Rank{}, fmt.Errorf("%q: %w", "auto/"+count, ErrRank)
			}
		case s.count == "":
			return Rank{}, fmt.Errorf("%s is %d, but no variable gives the number of processes: specify it, such as auto/5", s.index, i)
		case size == "":
			return Rank{}, fmt.Errorf("%s is %d, but %s is not set: specify the number of processes, such as auto/5", s.index, i, s.count)
		default:
			if n, err = number(size); err != nil {
				return Rank{}, fmt.Errorf("%s: expected a whole number from 1, found %q", s.count, size)
			}
			if least := getenv("SLURM_ARRAY_TASK_MIN"); s.count == "SLURM_ARRAY_TASK_COUNT" && least != "" && least != "0" {
				return Rank{}, fmt.Errorf("the Slurm array starts at %s: expected 0, as in --array=0-%d; otherwise specify the number of processes, such as auto/5", least, n-1)
			}
		}
		r, err := check(i, n, fmt.Sprintf("%s is %d of %d", s.index, i, n))
		switch {
		case err != nil:
			return Rank{}, err
		case from != "" && r != found:
			return Rank{}, fmt.Errorf("%s gives %v, but %s gives %v: specify the rank", from, found, s.index, r)
		}
		found, from = r, s.index
	}
	if from == "" {
		names := words.Each(sources, func(s variables) string { return s.index })
		return Rank{}, fmt.Errorf("none of %s is set: specify the rank, such as 0/5", strings.Join(names, ", "))
	}
	return found, nil
}

// number parses a whole number of plain digits.
func number(text string) (int, error) {
	if strings.Trim(text, "0123456789") != "" {
		return 0, ErrRank
	}
	return strconv.Atoi(text)
}

// check returns an error unless 0 ≤ i < n ≤ most.
func check(i, n int, what string) (Rank, error) {
	switch {
	case n < 1 || n > most:
		return Rank{}, fmt.Errorf("%s: expected 1 to %d processes", what, most)
	case i >= n:
		return Rank{}, fmt.Errorf("%s: expected an index from 0 to %d", what, n-1)
	}
	return Rank{i, n}, nil
}
