package text

import ("testing";"os";"bufio";"encoding/json";"fmt";"time";"math/rand/v2")

func loadExp(name string, splits ...string) (docs []string, n [][2]float64) {
	for _, s := range splits {
		f, err := os.Open("/tmp/text-exp/"+name+"_"+s+".jsonl"); if err != nil { panic(err) }
		sc := bufio.NewScanner(f); sc.Buffer(nil, 1<<24)
		for sc.Scan() { var r struct{Text string; N [2]float64}; json.Unmarshal(sc.Bytes(), &r); docs = append(docs, r.Text); n = append(n, r.N) }
	}
	return
}
func TestExp(t *testing.T) {
	for _, name := range []string{"HS-Brexit","MD-Agreement"} {
		docs, n := loadExp(name, "train","dev")
		d := Data{Documents: len(docs), Document: func(i int) string { return docs[i] }, Classes: 2}
		perm := rand.New(rand.NewPCG(1,2)).Perm(len(docs))
		for i := range docs { m := n[i][0]+n[i][1]; d.Labels = append(d.Labels, n[i][0]/m, n[i][1]/m); d.Weights = append(d.Weights, 2*m/(m+1)); d.Folds = append(d.Folds, perm[i]%5) }
		t0 := time.Now()
		m, h, err := Fit(t.Context(), d, 1<<20)
		if err != nil { t.Fatal(err) }
		fmt.Println(name, len(docs), "terms", len(m.buckets), "held", h.Loss, "base", h.Base, "lambda", h.Lambda, time.Since(t0))
	}
}
