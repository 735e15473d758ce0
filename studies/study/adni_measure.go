package study

import (
	"cmp"
	"context"
	"math"
	"slices"

	"credence/dataset"
	"credence/evaluate"
	"credence/head"
	"credence/internal/cohort"
	"credence/model"
)

// freshResult is the quality of predictions for fresh scans, whose truth is
// known.
type freshResult struct {
	Scans    int             `json:"scans"`
	Coverage []levelCoverage `json:"coverage"`
	Groups   []groupWidths   `json:"groups"`
	Accuracy float64         `json:"accuracy"` // the predicted class has most votes
	Majority float64         `json:"majority"` // always the more frequent class
	Oracle   float64         `json:"oracle"`   // with the severity that the image shows known
	Error    float64         `json:"error"`    // mean |mean − truth|
	Points   []adniScan      `json:"points"`
	// Between is the mean over scans of V/m, V the variance of the instruments'
	// own probabilities: the share of the variance of p̄ that their votes hide.
	Between float64 `json:"between"`
	Spread  float64 `json:"spread"` // mean predicted variance
	Actual  float64 `json:"actual"` // mean squared error of the mean: what it should be
	// Ratio is the median width of MIX over that of unanimous NC+MCI, PlainRatio what it would be if
	// widths were √(μ(1−μ)), μ the predicted mean.
	Ratio      float64 `json:"ratio"`
	PlainRatio float64 `json:"plain_ratio"`
	// Beyond is by how much MIX intervals are wider than unanimous ones of the same mean, on average;
	// OracleBeyond the same of the oracle, whose width follows from its mean.
	Beyond       float64 `json:"beyond"`
	OracleBeyond float64 `json:"oracle_beyond"`
}

// levelCoverage is the share of intervals of a level that contain the truth.
type levelCoverage struct {
	Level    float64 `json:"level"`
	Reported float64 `json:"reported"`
	Raw      float64 `json:"raw"`    // as the networks predict it
	Oracle   float64 `json:"oracle"` // with the severity that the image shows known
	Width    float64 `json:"width"`  // mean, as reported
	SE       float64 `json:"se"`     // of Reported, over scans
}

// groupWidths are the widths of 95% intervals of the scans in a group, by agreement of votes.
type groupWidths struct {
	Group  string  `json:"group"`
	Scans  int     `json:"scans"`
	Median float64 `json:"median"`
	Oracle float64 `json:"oracle"` // median
	// Low is the share with P(AD) < 0.1 and width < 0.15, Wide that with width
	// > 0.15: the paper's statements.
	Low  float64 `json:"low"`
	Wide float64 `json:"wide"`
}

// freshOf measures predictions for fresh scans.
func freshOf(m *model.Model, s *scans) (*freshResult, error) {
	got, err := m.Predict(context.Background(), s.fresh, model.PredictOptions{})
	if err != nil {
		return nil, err
	}
	calibration := m.Calibration
	m.Calibration = nil
	raw, err := m.Predict(context.Background(), s.fresh, model.PredictOptions{})
	m.Calibration = calibration
	if err != nil {
		return nil, err
	}
	n := s.study.Len()
	truth, shown := s.truth[n:], s.shown[n:]
	o := newOracle(s)
	r := &freshResult{Scans: len(got), Accuracy: majorityAccuracy(got, s.fresh)}
	r.Majority, r.Oracle = o.accuracies(s.fresh, shown)
	ideal := map[string][]float64{}
	var means, widths, plain, ideals []float64
	for _, level := range adniLevels {
		c := levelCoverage{Level: level}
		for i := range got {
			x := truth[i]
			if inside, _ := evaluate.NewCovered(raw[i].Reported(), 1, x, 1-x).At(level); inside {
				c.Raw++
			}
			inside, in := evaluate.NewCovered(got[i].Reported(), 1, x, 1-x).At(level)
			if inside {
				c.Reported++
			}
			lo, hi := o.interval(shown[i], level)
			if lo <= x && x <= hi {
				c.Oracle++
			}
			c.Width += in.Length()
		}
		k := float64(len(got))
		c.Raw, c.Reported, c.Oracle, c.Width = c.Raw/k, c.Reported/k, c.Oracle/k, c.Width/k
		c.SE = math.Sqrt(c.Reported * (1 - c.Reported) / k)
		r.Coverage = append(r.Coverage, c)
	}
	for i := range got {
		scan := scanOf(&got[i], s.fresh.Items[i], s.fresh.CountsOf(i), truth[i])
		r.Points = append(r.Points, scan)
		lo, hi := o.interval(shown[i], 0.95)
		ideal[scan.Group] = append(ideal[scan.Group], hi-lo)
		means, widths, ideals = append(means, scan.Mean), append(widths, scan.width()), append(ideals, hi-lo)
		plain = append(plain, math.Sqrt(scan.Mean*(1-scan.Mean)))
		r.Error += math.Abs(scan.Mean-truth[i]) / float64(len(got))
		r.Between += s.between[n+i] / float64(len(got))
		r.Spread += got[i].Variance[1] / float64(len(got))
		r.Actual += (scan.Mean - truth[i]) * (scan.Mean - truth[i]) / float64(len(got))
	}
	for _, g := range groups {
		r.Groups = append(r.Groups, groupOfScans(g, r.Points, ideal[g]))
	}
	mixed := make([]bool, len(r.Points))
	byGroup, plainBy := map[string][]float64{}, map[string][]float64{}
	for i, s := range r.Points {
		mixed[i] = s.Group == groups[2]
		byGroup[s.Group], plainBy[s.Group] = append(byGroup[s.Group], widths[i]), append(plainBy[s.Group], plain[i])
	}
	r.Ratio = medianRatio(byGroup[groups[2]], byGroup[groups[0]])
	r.PlainRatio = medianRatio(plainBy[groups[2]], plainBy[groups[0]])
	r.Beyond, r.OracleBeyond = beyond(means, widths, mixed), beyond(shown, ideals, mixed)
	return r, nil
}

// neighbors is the number of scans on each side, by mean, that give the expected width at a mean.
const neighbors = 25

// beyond returns by how much the widths of mixed scans exceed those of the others after removing the
// effect of the mean: the width less the average among the scans that are nearest by mean.
func beyond(means, widths []float64, mixed []bool) float64 {
	order := make([]int, len(means))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(means[i], means[j]) })
	var sum, n [2]float64
	for at, i := range order {
		near := order[max(0, at-neighbors):min(len(order), at+neighbors+1)]
		usual := 0.0
		for _, j := range near {
			usual += widths[j] / float64(len(near))
		}
		k := 0
		if mixed[i] {
			k = 1
		}
		sum[k] += widths[i] - usual
		n[k]++
	}
	if n[0] == 0 || n[1] == 0 {
		return 0
	}
	return sum[1]/n[1] - sum[0]/n[0]
}

// groupOfScans summarizes the scans of one group; ideal are the oracle's widths.
func groupOfScans(group string, scans []adniScan, ideal []float64) groupWidths {
	g := groupWidths{Group: group}
	var widths []float64
	for _, s := range scans {
		if s.Group != group {
			continue
		}
		widths = append(widths, s.width())
		if s.Mean < 0.1 && s.width() < 0.15 {
			g.Low++
		}
		if s.width() > 0.15 {
			g.Wide++
		}
	}
	if g.Scans = len(widths); g.Scans > 0 {
		g.Low, g.Wide = g.Low/float64(g.Scans), g.Wide/float64(g.Scans)
		g.Median = median(widths)
		if ideal != nil {
			g.Oracle = median(ideal)
		}
	}
	return g
}

// median returns the middle of some numbers.
func median(x []float64) float64 {
	x = slices.Sorted(slices.Values(x))
	if len(x)%2 == 1 {
		return x[len(x)/2]
	}
	return (x[len(x)/2-1] + x[len(x)/2]) / 2
}

// medianRatio is the median of some widths over that of others, 0 if there is none.
func medianRatio(x, y []float64) float64 {
	if len(x) == 0 || len(y) == 0 || median(y) == 0 {
		return 0
	}
	return median(x) / median(y)
}

// majorityAccuracy is the share of items whose predicted class has most votes;
// a tie counts one half.
func majorityAccuracy(got []head.Decoded, ds *dataset.Dataset) float64 {
	votes := evaluate.NewVotes(ds)
	right, n := 0.0, 0.0
	for i := range got {
		if votes.Total(i) > 0 {
			right += evaluate.MajorityCredit(called(got[i].Mean[1] > 0.5), votes.Item(i))
			n++
		}
	}
	if n == 0 {
		return 0
	}
	return right / n
}

// called returns the class index of a scan that is classified as AD, or not.
func called(ad bool) int {
	if ad {
		return 1
	}
	return 0
}

// oracle knows what an image shows, s + τε, and the distribution of the cohort: it is
// the best that a network could do.
type oracle struct {
	mean, variance float64 // of the severities
	truth          func(s float64) float64
	cut            float64 // above it, the oracle predicts AD
}

// newOracle chooses the cut by the scans of the study.
func newOracle(s *scans) *oracle {
	o := &oracle{}
	n := s.study.Len()
	shown := s.shown[:n]
	for _, x := range shown {
		o.mean += x / float64(n)
	}
	for _, x := range shown {
		o.variance += (x - o.mean) * (x - o.mean) / float64(n)
	}
	o.variance -= cohort.ImageError * cohort.ImageError
	o.truth = s.probability
	best, votes := -1.0, evaluate.NewVotes(s.study)
	for _, cut := range slices.Sorted(slices.Values(shown)) {
		right := 0.0
		for i, x := range shown {
			right += evaluate.MajorityCredit(called(x > cut), votes.Item(i))
		}
		if right > best {
			best, o.cut = right, cut
		}
	}
	return o
}

// interval returns the interval of the probability of AD given what the image shows: the
// severity given the image is Gaussian, and the probability grows with the severity.
func (o *oracle) interval(shown, level float64) (lo, hi float64) {
	noise := cohort.ImageError * cohort.ImageError
	weight := o.variance / (o.variance + noise)
	mean := o.mean + weight*(shown-o.mean)
	sd := math.Sqrt(weight * noise)
	z := math.Sqrt2 * math.Erfinv(level)
	return o.truth(mean - z*sd), o.truth(mean + z*sd)
}

// accuracies returns the accuracy of predicting the more frequent class for all scans,
// and that of the oracle.
func (o *oracle) accuracies(ds *dataset.Dataset, shown []float64) (majority, oracle float64) {
	votes := evaluate.NewVotes(ds)
	never, n := 0.0, 0.0
	for i, x := range shown {
		if votes.Total(i) > 0 {
			never += evaluate.MajorityCredit(0, votes.Item(i))
			oracle += evaluate.MajorityCredit(called(x > o.cut), votes.Item(i))
			n++
		}
	}
	return max(never, n-never) / n, oracle / n
}
