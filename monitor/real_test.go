package monitor_test

import (
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"credence/dataset"
	"credence/internal/rng"
	"credence/model"
	"credence/monitor"
	"credence/run"
)

// TestRealVotes measures alarms on held-out votes of people without a change. CREDENCE_REAL_VOTES lists runs that were trained with
// --test, separated by spaces, each with its files: RUN,VOTES,DATA… (VOTES empty if they are in DATA). Each run gives five
// streams: random halves of its test items, at most 600, in random order.
func TestRealVotes(t *testing.T) {
	list := os.Getenv("CREDENCE_REAL_VOTES")
	if list == "" {
		t.Skip("CREDENCE_REAL_VOTES lists no runs")
	}
	tolerances := []float64{0, .1, .2, .25, .3, .4, .5}
	alarms, raters, streams := make([]int, len(tolerances)), make([]int, len(tolerances)), 0
	for _, entry := range strings.Fields(list) {
		parts := strings.Split(entry, ",")
		folder := run.FolderOf(parts[0])
		m, err := run.Load(parts[0])
		if err != nil {
			t.Fatal(err)
		}
		o := dataset.LoadOptions{Data: parts[2:]}
		if parts[1] != "" {
			o.Votes = parts[1:2]
		}
		ds, err := folder.ReadData(t.Context(), m, o)
		if err != nil {
			t.Fatal(err)
		}
		test, err := folder.Split(ds, run.TestSplit)
		if err != nil {
			t.Fatal(err)
		}
		votes, err := monitor.Votes(m, test)
		if err != nil {
			t.Fatal(err)
		}
		decoded, err := monitor.Plain(m).Predict(t.Context(), test, model.PredictOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for s := range 5 {
			streams++
			order := rand.New(rng.New(7, "real votes", uint64(s))).Perm(test.Len())[:min(600, test.Len()/2)]
			at := map[string]int{}
			for k, j := range order {
				at[test.Items[j]] = k
			}
			mine := slices.DeleteFunc(slices.Clone(votes), func(v monitor.Vote) bool { _, ok := at[v.Item]; return !ok })
			slices.SortStableFunc(mine, func(a, b monitor.Vote) int { return at[a.Item] - at[b.Item] })
			var found []string
			w, err := monitor.New(m, monitor.Options{})
			if err != nil {
				t.Fatal(err)
			}
			for _, j := range order {
				if err := w.AddItem(test.Items[j], monitor.Item{Dist: decoded[j].Dist}); err != nil {
					t.Fatal(err)
				}
			}
			if err := w.AddVotes(t.Context(), mine); err != nil {
				t.Fatal(err)
			}
			for k, tau := range tolerances {
				r, err := w.WithTolerance(tau)
				if err != nil {
					t.Fatal(err)
				}
				for _, a := range r.Alarms() {
					if a.Kind == "votes" {
						alarms[k]++
						found = append(found, a.Text)
					} else {
						raters[k]++
					}
				}
			}
			t.Logf("%s stream %d: %d votes: %q", parts[0], s, len(mine), found)
		}
	}
	for k, tau := range tolerances {
		t.Logf("tolerance %g: %d of %d streams raised an alarm about votes, %d about raters", tau, alarms[k], streams, raters[k])
	}
}
