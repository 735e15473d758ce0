package calibrate

import (
	"fmt"
	"math"

	"credence/internal/special"
)

// Groups lets the scale depend on the group of an item, a level of a categorical feature such as the site. With R_g the
// ratio of each group for the distributions that are reported, se_g its standard error over items, and R̄ the ratio of all
// items, the scale of a group is R̃_g, as far as the likelihood of the votes lets ratios be trusted,
//
//	R̃_g = R̄ + A/(A + se_g²) (R_g − R̄) + ½√(A se_g²/(A + se_g²)),
//
// with A the variance between groups after DerSimonian and Laird (1986). The last term is half a standard error of what
// shrinkage leaves unknown. Groups differ only if Cochran's Q exceeds the 95% quantile of χ² with G−1 degrees of freedom;
// groups with a standard error above 0.3 or fewer than 30 items have the scale of all items, as unknown levels have.
type Groups struct {
	Feature string       `json:"feature"`
	Levels  []GroupRatio `json:"levels"`
	Q       float64      `json:"q"`                 // Cochran's Q of the groups with enough items
	P       float64      `json:"p"`                 // its p-value
	Between float64      `json:"between,omitempty"` // A, 0 if groups do not differ beyond chance
}

// GroupRatio is the ratio of a group.
type GroupRatio struct {
	Level  string  `json:"level"`
	Items  int     `json:"items"` // with two votes or more
	Ratio  float64 `json:"ratio"`
	SE     float64 `json:"se"`
	TooFew bool    `json:"too_few,omitempty"` // votes do not determine the ratio
	// Factor multiplies the scale of all items.
	Factor float64 `json:"factor"`

	shrunk float64 // R̃_g
}

const (
	minGroupItems = 30
	maxGroupSE    = 0.3
	// groupLevel is the level of the test whether groups differ.
	groupLevel = 0.05
	// MaxGroups is the largest number of groups.
	MaxGroups = 1000
)

// Differ reports whether groups differ beyond chance.
func (g *Groups) Differ() bool { return g.Between > 0 }

// TooFew returns the levels whose votes do not determine a ratio.
func (g *Groups) TooFew() []string {
	var list []string
	for _, x := range g.Levels {
		if x.TooFew {
			list = append(list, x.Level)
		}
	}
	return list
}

// Names returns the levels.
func (g *Groups) Names() []string {
	list := make([]string, len(g.Levels))
	for k, x := range g.Levels {
		list[k] = x.Level
	}
	return list
}

// factor returns the factor for an item of a level, 1 if the level is unknown.
func (g *Groups) factor(level int) float64 {
	if level < 0 || level >= len(g.Levels) {
		return 1
	}
	return g.Levels[level].Factor
}

// check returns an error if groups read from a file are invalid.
func (g *Groups) check() error {
	if g.Feature == "" || len(g.Levels) > MaxGroups {
		return fmt.Errorf("calibration: groups: expected a feature with at most %d levels, found %q with %d", MaxGroups, g.Feature, len(g.Levels))
	}
	for _, x := range g.Levels {
		if !(x.Factor > 0 && x.Factor <= maxScale) {
			return fmt.Errorf("calibration: group %q: expected a factor above 0 and at most %v, found %v", x.Level, maxScale, x.Factor)
		}
	}
	return nil
}

// GroupBy makes the scale depend on the level of a categorical feature, where groups differ. It is called before items
// are added.
func (h *HeldOut) GroupBy(feature string, levels []string) { h.feature, h.levels = feature, levels }

// groups returns the ratios of groups found from the items of all folds but one, −1 meaning all, for an ensemble with
// the calibration c of all items; nil if groups were not asked for.
func (h *HeldOut) groups(fold int, c *Calibration) *Groups {
	if h.feature == "" {
		return nil
	}
	g := &Groups{Feature: h.feature, P: 1}
	of := make([][]pairError, len(h.levels))
	shown, claimed := 0.0, 0.0
	for j, e := range h.errors {
		if h.folds[j] == fold {
			continue
		}
		shown, claimed = shown+e.shown, claimed+e.claimed
		if level := h.level[j]; level >= 0 {
			of[level] = append(of[level], e)
		}
	}
	for k, list := range of {
		g.Levels = append(g.Levels, h.newGroupRatio(h.levels[k], list, c.Within, shown/claimed))
	}
	g.shrink(c.Ratio)
	for k := range g.Levels {
		if x := &g.Levels[k]; g.Differ() && !x.TooFew {
			x.Factor = max(h.trusted(x.shrunk), leastScale) / c.Scale
		}
	}
	return g
}

// newGroupRatio returns the ratio of a group of an ensemble, R′ = (R + 1)q − 1, with the standard error of a ratio of
// sums by linearization; residuals are those from the ratio of all items, so that the error does not depend on R_g.
func (h *HeldOut) newGroupRatio(level string, list []pairError, q, all float64) GroupRatio {
	x := GroupRatio{Level: level, Items: len(list), TooFew: true, Factor: 1}
	shown, claimed, square := 0.0, 0.0, 0.0
	for _, e := range list {
		shown, claimed = shown+e.shown, claimed+e.claimed
		r := e.shown - all*e.claimed
		square += r * r
	}
	if !(claimed > 0) {
		return x
	}
	x.Ratio, x.SE = (h.withDiagonal(shown/claimed)+1)*q-1, q*math.Sqrt(square)/claimed
	x.TooFew = len(list) < minGroupItems || !(x.SE > 0 && x.SE <= maxGroupSE)
	return x
}

// shrink sets Q, A and the shrunk ratios, for the given ratio of all items.
func (g *Groups) shrink(all float64) {
	var used []*GroupRatio
	var y, v []float64
	for k := range g.Levels {
		if x := &g.Levels[k]; !x.TooFew {
			used, y, v = append(used, x), append(y, x.Ratio), append(v, x.SE*x.SE)
		}
	}
	if len(used) < 2 {
		return
	}
	e := special.DerSimonianLaird(y, v)
	if g.Q, g.P = e.Q, e.P; g.P >= groupLevel {
		return
	}
	g.Between = e.Tau2
	for k, x := range used {
		share := g.Between / (g.Between + v[k])
		x.shrunk = all + share*(y[k]-all) + math.Sqrt(share*v[k])/2
	}
}
