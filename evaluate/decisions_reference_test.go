package evaluate

import (
	"encoding/json"
	"math"
	"os"
	"slices"
	"testing"

	"credence/head"
)

// decisionReference are the numbers of pROC, rms::val.prob and scikit-learn; reference.R and reference.py next to it made them.
type decisionReference struct {
	Sets []struct {
		Name                                           string
		P, Y                                           []float64
		AUC, Delong, Slope, Intercept, Eavg, E90, Emax float64
		JointIntercept                                 float64   `json:"joint_intercept"`
		SmoothX                                        []float64 `json:"smooth_x"`
		SmoothY                                        []float64 `json:"smooth_y"`
		Thresholds, Sensitivity, Specificity           []float64
		PPV, NPV                                       []*float64
		TP, FP, FN, TN                                 []float64
		NetBenefit                                     []float64 `json:"net_benefit"`
		SklearnAUC                                     float64   `json:"sklearn_auc"`
		SklearnAP                                      float64   `json:"sklearn_average_precision"`
	}
	Paired struct {
		P, Q, Y []float64
		Z       float64
		PValue  float64 `json:"p_value"`
		AUC     []float64
	}
	Kappa struct {
		First, Second []int
		Quadratic     float64
	}
}

func readReference(t *testing.T) (r decisionReference) {
	text, err := os.ReadFile("testdata/decisions/reference.json")
	if err == nil {
		err = json.Unmarshal(text, &r)
	}
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// binaryMeans returns the predictions of two classes that give the second the probabilities p.
func binaryMeans(p []float64) []head.Decoded {
	list := make([]head.Decoded, len(p))
	for j, x := range p {
		list[j] = head.Decoded{Mean: []float64{1 - x, x}}
	}
	return list
}

func close10(t *testing.T, what string, got Number, want float64) {
	t.Helper()
	if !(math.Abs(float64(got)-want) <= 1e-10*max(1, math.Abs(want))) {
		t.Errorf("%s: %.15g, want %.15g", what, got, want)
	}
}

// Against gold labels, scores are those of R's pROC 1.18.0 and rms 6.5.0 and of scikit-learn 1.9.1, to 1e-10: AUC and
// DeLong's error, scores and net benefit at thresholds, calibration intercept and slope, the curve of lowess and
// the distances from it, average precision.
func TestDecisionsReference(t *testing.T) {
	ref := readReference(t)
	if len(ref.Sets) != 10 {
		t.Fatalf("%d sets", len(ref.Sets))
	}
	for _, s := range ref.Sets {
		t.Run(s.Name, func(t *testing.T) {
			gold := make([]int, len(s.Y))
			for j, y := range s.Y {
				gold[j] = int(y)
			}
			r, err := Evaluate(Input{Predictions: binaryMeans(s.P), Votes: Votes{2, make([]float64, 2*len(s.P))}, Classes: []string{"well", "ill"}, Gold: gold},
				Options{Bootstrap: Bootstrap{Replicates: 20}, Decisions: DecisionOptions{Positive: "ill", Reference: ReferenceGold, Thresholds: s.Thresholds}})
			if err != nil {
				t.Fatal(err)
			}
			d := r.Decisions
			close10(t, "AUC", d.AUC.Value, s.AUC)
			close10(t, "AUC of scikit-learn", d.AUC.Value, s.SklearnAUC)
			close10(t, "DeLong", d.AUC.SE, s.Delong)
			close10(t, "average precision", d.AveragePrecision.Value, s.SklearnAP)
			close10(t, "slope", d.Slope.Value, s.Slope)
			close10(t, "joint intercept", d.JointIntercept.Value, s.JointIntercept)
			close10(t, "intercept", d.Intercept.Value, s.Intercept)
			close10(t, "Eavg", d.Smooth.ICIPlain, s.Eavg)
			close10(t, "E90", d.Smooth.E90, s.E90)
			close10(t, "Emax", d.Smooth.EMax, s.Emax)
			for _, p := range d.Smooth.Curve {
				i := slices.Index(s.SmoothX, float64(p.X))
				if i < 0 {
					t.Fatalf("no point %v in R's curve", p.X)
				}
				close10(t, "curve", p.Y, s.SmoothY[i])
			}
			for i, x := range d.Thresholds {
				for _, n := range []struct {
					got  Number
					want float64
				}{{x.TP, s.TP[i]}, {x.FP, s.FP[i]}, {x.FN, s.FN[i]}, {x.TN, s.TN[i]}, {x.Sensitivity.Value, s.Sensitivity[i]},
					{x.Specificity.Value, s.Specificity[i]}, {x.NetBenefit.Value, s.NetBenefit[i]}} {
					close10(t, "at threshold", n.got, n.want)
				}
				for _, n := range []struct {
					got  Number
					want *float64
				}{{x.PPV.Value, s.PPV[i]}, {x.NPV.Value, s.NPV[i]}} {
					if n.want != nil {
						close10(t, "predictive value", n.got, *n.want)
					} else if n.got.Known() {
						t.Errorf("predictive value %v of no items", n.got)
					}
				}
			}
		})
	}
}

// The difference of two AUCs on the same items has the error of DeLong's paired test (pROC's roc.test).
func TestPairedReference(t *testing.T) {
	ref := readReference(t).Paired
	gold, means := make([]int, len(ref.Y)), make([][]float64, len(ref.Y))
	for j, y := range ref.Y {
		gold[j], means[j] = int(y), []float64{1 - ref.Q[j], ref.Q[j]}
	}
	r, err := Evaluate(Input{Predictions: binaryMeans(ref.P), Votes: Votes{2, make([]float64, 2*len(ref.P))}, Gold: gold, Rivals: []Rival{{Name: "other", Means: means}}},
		Options{Bootstrap: Bootstrap{Replicates: 2}, Decisions: DecisionOptions{Positive: "1", Reference: ReferenceGold, Margin: 0.05}})
	if err != nil {
		t.Fatal(err)
	}
	d := r.Decisions.Comparisons[0].Differences[0]
	close10(t, "first AUC", d.Model, ref.AUC[0])
	close10(t, "second AUC", d.Rival, ref.AUC[1])
	close10(t, "z", d.Value/d.SE, ref.Z)
	close10(t, "p-value", d.PValue, ref.PValue)
	if !d.Noninferior() || !(d.NoninferiorP < d.PValue/2) {
		t.Errorf("noninferiority: %+v", d)
	}
}

// Quadratic kappa is that of scikit-learn for one vote per item.
func TestKappaReference(t *testing.T) {
	ref := readReference(t).Kappa
	const d = 10
	in := Input{Ordered: true, Votes: Votes{d, make([]float64, d*len(ref.First))}}
	for j, x := range ref.First {
		mean := make([]float64, d)
		mean[x] = 1
		in.Predictions = append(in.Predictions, head.Decoded{Mean: mean})
		in.Votes.Item(j)[ref.Second[j]] = 1
	}
	r, err := Evaluate(in, Options{Bootstrap: Bootstrap{Replicates: 20}})
	if err != nil {
		t.Fatal(err)
	}
	close10(t, "kappa", r.Ordered.Kappa.Value, ref.Quadratic)
}
