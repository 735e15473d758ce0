package simulation

import (
	"encoding/csv"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"strconv"

	"credence/internal/rng"
)

// noduleHeader are the columns of the spreadsheet of nodules.
var noduleHeader = []string{"Nodule", "Patient", "Site", "Sex", "Age", "Smoker", "Diameter", "Margin", "Density",
	"Reader A", "Reader B", "Reader C", "Pathology"}

// WriteNodules writes a spreadsheet of invented lung nodules for the worked example of docs/clinical.md: one to three
// nodules per patient at three sites, a few measurements, the opinions of up to three readers, and pathology. With x
// the linear predictor of the features, u of the patient and v of the nodule,
//
//	z = x + 0.4u + 0.6v,  P(reader says malignant) = σ(1.3z + bias),  P(malignant) = σ(1.5z − 0.3),
//
// so that readers see part of what pathology finds. Some ages and a tenth of the opinions are missing.
func WriteNodules(w io.Writer, patients int, seed uint64) error {
	r := rand.New(rng.New(seed, "simulation.nodules"))
	out := csv.NewWriter(w)
	out.Write(noduleHeader)
	pick := func(p float64, yes, no string) string {
		if r.Float64() < p {
			return yes
		}
		return no
	}
	logistic := func(z float64) float64 { return 1 / (1 + math.Exp(-z)) }
	bias := []float64{-0.5, 0, 0.6}
	nodule := 0
	for i := range patients {
		site := []string{"Arlow", "Bexhill", "Corby"}[min(2, int(3.6*r.Float64()))]
		sex := pick(0.45, "F", "M")
		age := math.Round(min(88, max(35, 63+10*r.NormFloat64())))
		smoker := pick(0.55, "yes", "no")
		u := r.NormFloat64()
		for range 1 + int(2.2*r.Float64()*r.Float64()) + int(1.2*r.Float64()) {
			nodule++
			diameter := math.Round(10*min(40, max(3, 9*math.Exp(0.5*r.NormFloat64())))) / 10
			spiculated := r.Float64() < 0.15+0.02*diameter
			margin := "smooth"
			if spiculated {
				margin = "spiculated"
			} else if r.Float64() < 0.3 {
				margin = "lobulated"
			}
			density := []string{"solid", "part-solid", "ground-glass"}[min(2, int(3*r.Float64()*r.Float64()))]
			x := -2 + 2.4*math.Log(diameter/9) + 0.05*(age-63)
			for _, e := range []struct {
				yes    bool
				effect float64
			}{{spiculated, 1.6}, {smoker == "yes", 0.7}, {density == "part-solid", 0.8}} {
				if e.yes {
					x += e.effect
				}
			}
			z := x + 0.4*u + 0.6*r.NormFloat64()
			row := []string{fmt.Sprintf("N%04d", nodule), fmt.Sprintf("P%03d", i+1), site, sex, strconv.Itoa(int(age)), smoker,
				strconv.FormatFloat(diameter, 'f', 1, 64), margin, density}
			if r.Float64() < 0.03 {
				row[4] = ""
			}
			for _, b := range bias {
				vote := pick(logistic(1.3*z+b), "malignant", "benign")
				row = append(row, pick(0.1, "", vote))
			}
			out.Write(append(row, pick(logistic(1.5*z-0.3), "malignant", "benign")))
		}
	}
	out.Flush()
	return out.Error()
}
