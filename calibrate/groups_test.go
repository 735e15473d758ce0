package calibrate

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"credence/internal/rng"
)

// groupSample returns held-out items of groups of the given sizes. Predictions are Beta(4μ, 4(1−μ)) with μ uniform on
// [0.2, 0.8]; truth has the same mean and ratios[g] times the variance.
func groupSample(t *testing.T, sizes []int, ratios []float64, seed uint64) *HeldOut {
	t.Helper()
	h := NewHeldOut(2, 4)
	levels := []string{"a", "b", "c", "d"}[:len(sizes)]
	h.GroupBy("site", levels)
	for g, n := range sizes {
		for j := range n {
			r := rand.New(rng.New(seed, "groups."+levels[g], uint64(j)))
			mu := 0.2 + 0.6*r.Float64()
			total := 5/ratios[g] - 1
			p := beta(mu*total, (1-mu)*total).Sample(nil, r)[0]
			votes := make([]float32, 2)
			for range 4 {
				if r.Float64() < p {
					votes[0]++
				} else {
					votes[1]++
				}
			}
			h.Add(beta(4*mu, 4*(1-mu)), votes, Item{Level: g}, j%4)
		}
	}
	return h
}

// TestGroups: the variance of items of a group gets close to the truth where groups differ; a group with few items and an
// unknown one have the scale of all.
func TestGroups(t *testing.T) {
	ratios := []float64{0.6, 1, 1.8}
	c, err := groupSample(t, []int{800, 800, 800, 12}, append(ratios, 1), 1).Calibration(nil)
	if err != nil {
		t.Fatal(err)
	}
	g := c.Groups
	if g == nil || !g.Differ() || g.P > 1e-4 || !reflect.DeepEqual(g.TooFew(), []string{"d"}) || g.Levels[3].Factor != 1 {
		t.Fatalf("groups: %+v", g)
	}
	variance := func(c *Calibration, level int) float64 {
		d, err := c.Calibrated(beta(2, 2), Item{Level: level})
		if err != nil {
			t.Fatal(err)
		}
		return d.Variance(nil)[0] / beta(2, 2).Variance(nil)[0]
	}
	for k, want := range ratios {
		if got := variance(&c, k); math.Abs(got/want-1) > 0.25 {
			t.Errorf("group %d: variance times %.2f, expected about %.2f", k, got, want)
		}
	}
	for _, level := range []int{-1, 3, 99} {
		if got := variance(&c, level); math.Abs(got-c.Scale) > 0.02 {
			t.Errorf("level %d: variance times %.3f, expected that of all items, %.3f", level, got, c.Scale)
		}
	}
	text, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	var again Calibration
	if err := json.Unmarshal(text, &again); err != nil || again.Check() != nil || variance(&again, 0) != variance(&c, 0) || !reflect.DeepEqual(again.Groups.TooFew(), g.TooFew()) {
		t.Errorf("%v, %v, %s", err, again.Check(), text)
	}
	for _, bad := range []Groups{{}, {Feature: "site", Levels: []GroupRatio{{Level: "a"}}}, {Feature: "site", Levels: []GroupRatio{{Factor: math.NaN()}}}} {
		again.Groups = &bad
		if err := again.Check(); err == nil || !strings.HasPrefix(err.Error(), "calibration: group") {
			t.Errorf("%+v: %v", bad, err)
		}
	}
}

// TestGroupsAlike: without a difference, at most one in ten samples is scaled by group.
func TestGroupsAlike(t *testing.T) {
	differ := 0
	for seed := range uint64(30) {
		c, err := groupSample(t, []int{300, 300, 300}, []float64{1, 1, 1}, 100+seed).Calibration(nil)
		if err != nil {
			t.Fatal(err)
		}
		if c.Groups.Differ() {
			differ++
		}
	}
	if differ > 3 {
		t.Errorf("%d of 30 samples differ", differ)
	}
}

// TestGroupsShrink compares ratios with the formula, worked out by hand: ratios 0.8 and 1.6 with standard errors 0.2 have
// mean 1.2, Q = 8, A = (8 − 1)/(50 − 1250/50) = 0.28 and shares A/(A + 0.04) = 0.875.
func TestGroupsShrink(t *testing.T) {
	g := Groups{Levels: []GroupRatio{{Ratio: 0.8, SE: 0.2, Factor: 1}, {Ratio: 1.6, SE: 0.2, Factor: 1}, {Ratio: 9, SE: 2, TooFew: true, Factor: 1}}}
	g.shrink(1.25)
	half := math.Sqrt(0.875*0.04) / 2
	want := []float64{1.25 - 0.875*0.45 + half, 1.25 + 0.875*0.35 + half, 0}
	if math.Abs(g.Q-8) > 1e-12 || math.Abs(g.Between-0.28) > 1e-12 {
		t.Errorf("Q %v, A %v", g.Q, g.Between)
	}
	for k, w := range want {
		if math.Abs(g.Levels[k].shrunk-w) > 1e-12 {
			t.Errorf("group %d: ratio %v, expected %v", k, g.Levels[k].shrunk, w)
		}
	}
}
