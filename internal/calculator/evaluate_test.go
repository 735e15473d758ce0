package calculator

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"credence/mixture"
)

// ask returns the results for the lines of input.
func ask(t *testing.T, input string) (results []string, bad int) {
	t.Helper()
	var out bytes.Buffer
	_, bad, err := Evaluate(strings.NewReader(input), &out)
	if err != nil {
		t.Fatal(err)
	}
	results = strings.Split(out.String(), "\n")
	if last := results[len(results)-1]; last != "" {
		t.Fatalf("the output ends in %q, not in a line end", last)
	}
	return results[:len(results)-1], bad
}

// TestJSONKeys checks every key, its position and the shape of its value.
func TestJSONKeys(t *testing.T) {
	number := regexp.MustCompile(`-?\d+(\.\d+)?(e[-+]?\d+)?`)
	for _, c := range []struct{ name, in, want string }{
		{"everything",
			`{"weights":[0.5,0.5],"alpha":[[30,4],[3,25]],"levels":[0.5,0.95],"quantiles":[0.025,0.5],` +
				`"cdf":[0.3],"logpdf":[[0.2,0.8],[1,0]],"votes":[2,0]}`,
			`{"mean":[#,#],"variance":[#,#],"logpdf":[#,"-Infinity"],"classes":[CLASS,CLASS],"top_class":[#,#]}`},
		{"nothing but the mixture",
			`{"weights":[1],"alpha":[[2,3,4]]}`,
			`{"mean":[#,#,#],"variance":[#,#,#],"logpdf":[],"classes":[BARE,BARE,BARE],"top_class":[#,#,#]}`},
		{"a pole",
			`{"weights":[1],"alpha":[[0.5,3]],"logpdf":[[0,1]]}`,
			`{"mean":[#,#],"variance":[#,#],"logpdf":["Infinity"],"classes":[BARE,BARE],"top_class":[#,#]}`},
		{"an error", `{"weights":[1]}`, `{"line":#,"error":"missing key \"alpha\": weights and alpha are required"}`},
	} {
		const (
			interval = `{"level":#,"two_sided":[#,#],"upper":[#,#],"lower":[#,#],"hpd":[[#,#]]}`
			class    = `{"mean":#,"variance":#,"quantiles":[{"q":#,"x":#,"complement":#},{"q":#,"x":#,"complement":#}],` +
				`"cdf":[{"x":#,"cdf":#,"survival":#}],"intervals":[` + interval + `,` + interval + `]}`
			bare = `{"mean":#,"variance":#,"quantiles":[],"cdf":[],"intervals":[]}`
		)
		want := strings.NewReplacer("CLASS", class, "BARE", bare).Replace(c.want)
		lines, _ := ask(t, c.in)
		if len(lines) != 1 {
			t.Fatalf("%s: %d lines of output", c.name, len(lines))
		}
		if got := number.ReplaceAllString(lines[0], "#"); got != want {
			t.Errorf("%s:\n got %s\nwant %s", c.name, got, want)
		}
	}
}

// Every number equals the library's, bit for bit.
func TestJSONValues(t *testing.T) {
	const in = `{"weights":[0.5,0.5],"alpha":[[30,4,1],[3,25,0.1]],"levels":[0.5,0.95],"quantiles":[1e-300,0.5,1],` +
		`"cdf":[-1,0.3,1],"logpdf":[[0.2,0.7,0.1]],"votes":[2,0,0.5]}`
	prior, err := mixture.NewDirichlet([]float64{0.5, 0.5}, [][]float64{{30, 4, 1}, {3, 25, 0.1}})
	if err != nil {
		t.Fatal(err)
	}
	m, err := prior.Update([]float64{2, 0, 0.5})
	if err != nil {
		t.Fatal(err)
	}
	lines, bad := ask(t, in)
	if bad != 0 || len(lines) != 1 {
		t.Fatalf("%d lines, %d bad", len(lines), bad)
	}
	var got struct {
		Mean, Variance, LogPDF []float64
		Classes                []struct {
			Mean, Variance float64
			Quantiles      []struct{ Q, X, Complement float64 }
			CDF            []struct{ X, CDF, Survival float64 }
			Intervals      []struct {
				Level        float64
				TwoSided     []float64 `json:"two_sided"`
				Upper, Lower []float64
				HPD          [][]float64
			}
		}
		TopClass []float64 `json:"top_class"`
	}
	if err := json.Unmarshal([]byte(lines[0]), &got); err != nil {
		t.Fatal(err)
	}
	same := func(what string, got, want []float64) {
		t.Helper()
		if !slices.Equal(got, want) {
			t.Errorf("%s is %v, want %v", what, got, want)
		}
	}
	same("mean", got.Mean, m.Mean(nil))
	same("variance", got.Variance, m.Variance(nil))
	same("top_class", got.TopClass, m.TopClass(nil))
	l, _ := m.LogPDF([]float64{0.2, 0.7, 0.1})
	same("logpdf", got.LogPDF, []float64{l})
	for i, c := range got.Classes {
		f := m.Marginal(i)
		same("class mean and variance", []float64{c.Mean, c.Variance}, []float64{got.Mean[i], got.Variance[i]})
		for j, q := range []float64{1e-300, 0.5, 1} {
			x, y := f.QuantileBoth(q)
			same("quantile", []float64{c.Quantiles[j].Q, c.Quantiles[j].X, c.Quantiles[j].Complement}, []float64{q, x, y})
		}
		for j, x := range []float64{-1, 0.3, 1} {
			same("cdf", []float64{c.CDF[j].X, c.CDF[j].CDF, c.CDF[j].Survival}, []float64{x, f.CDF(x), f.Survival(x)})
		}
		for j, level := range []float64{0.5, 0.95} {
			ends := func(i mixture.Interval) []float64 { return []float64{i.Lo, i.Hi} }
			a := c.Intervals[j]
			same("level", []float64{a.Level}, []float64{level})
			same("two_sided", a.TwoSided, ends(f.Interval(mixture.TwoSided, level)))
			same("upper", a.Upper, ends(f.Interval(mixture.Upper, level)))
			same("lower", a.Lower, ends(f.Interval(mixture.Lower, level)))
			for k, piece := range f.HighestDensity(level) {
				same("hpd", a.HPD[k], ends(piece))
			}
		}
	}
}

func TestJSONNumber(t *testing.T) {
	for _, x := range []float64{0, 1, 0.1, 1.0 / 3, 5e-324, math.MaxFloat64, 1 - 0x1p-53, math.Inf(1), math.Inf(-1)} {
		raw, err := json.Marshal(number(x))
		if err != nil {
			t.Fatal(err)
		}
		var back float64
		switch string(raw) {
		case `"Infinity"`:
			back = math.Inf(1)
		case `"-Infinity"`:
			back = math.Inf(-1)
		default:
			if err := json.Unmarshal(raw, &back); err != nil {
				t.Fatal(err)
			}
		}
		if back != x {
			t.Errorf("%v was written as %s, read back as %v", x, raw, back)
		}
	}
	if raw, err := json.Marshal(number(math.NaN())); err == nil {
		t.Errorf("NaN was written as %s", raw)
	}
}

// TestJSONErrors evaluates one bad line each, between two good ones.
func TestJSONErrors(t *testing.T) {
	const good = `{"weights":[1],"alpha":[[2,3]]}`
	for _, c := range []struct{ line, want string }{
		{`{"weights":[1],"alpha":[[2,3]]`, `malformed JSON at byte 30: unexpected end of JSON input`},
		{`{"weights":[NaN],"alpha":[[2,3]]}`, `malformed JSON at byte 13: invalid character 'N' looking for beginning of value`},
		{good + good, `malformed JSON at byte 32: invalid character '{' after top-level value`},
		{`[1,2]`, `expected an object with the keys weights and alpha, found an array`},
		{` 7`, `expected an object with the keys weights and alpha, found a number`},
		{`{"weights":[1],"alpha":[[2,3]],"level":[0.5]}`, `unknown key "level": expected weights, alpha, levels, quantiles, cdf, logpdf or votes`},
		{`{"Weights":[1],"alpha":[[2,3]]}`, `unknown key "Weights": expected weights, alpha, levels, quantiles, cdf, logpdf or votes`},
		{`{"weights":[1],"alpha":[[2,3]],"weights":[1]}`, `duplicate key "weights"`},
		{`{"alpha":[[2,3]]}`, `missing key "weights": weights and alpha are required`},
		{`{"weights":null,"alpha":[[2,3]]}`, `invalid mixture: expected at least one weight, found none`},
		{`{"weights":[1],"alpha":[2,3]}`, `alpha: expected an array of arrays of numbers, found a value of type number`},
		{`{"weights":1,"alpha":[[2,3]]}`, `weights: expected an array of numbers, found a value of type number`},
		{`{"weights":["1"],"alpha":[[2,3]]}`, `weights: expected a number, found a string`},
		{`{"weights":[1],"alpha":[[2,null]]}`, `alpha: expected a number, found null`},
		{`{"weights":[1],"alpha":[[[2],3]]}`, `alpha: expected a number, found an array`},
		{`{"weights":[1],"alpha":[[2,1e999]]}`, `alpha: 1e999 is beyond the range of float64`},
		{`{"weights":[0.5,0.6],"alpha":[[2,3],[1,1]]}`, `invalid mixture: expected weights that sum to 1 (within 1e-09), found 1.1`},
		{`{"weights":[1],"alpha":[[2,3],[1,1]]}`, `invalid mixture: expected as many rows of alpha as weights (1), found 2`},
		{`{"weights":[1],"alpha":[[2,0]]}`, `invalid mixture: alpha of component 0, class 1: expected a number from 1e-100 to 1e+15, found 0`},
		{`{"weights":[1],"alpha":[[2,3]],"levels":[0.5,1]}`, `levels[1] 1: expected a level between 0 and 1`},
		{`{"weights":[1],"alpha":[[2,3]],"quantiles":[1.5]}`, `quantiles[0] 1.5: expected a probability between 0 and 1`},
		{`{"weights":[1],"alpha":[[2,3]],"votes":[1]}`, `votes: expected as many vote counts as classes (2), found 1`},
		{`{"weights":[1],"alpha":[[2,3]],"votes":[]}`, `votes: expected as many vote counts as classes (2), found 0`},
		{`{"weights":[1],"alpha":[[2,3]],"votes":[1,-1]}`, `votes: votes for class 1: expected a number from 0 to 1e+12, found -1`},
		{`{"weights":[1],"alpha":[[2,3]],"logpdf":[[0.5,0.5],[0.5]]}`, `logpdf[1]: point: expected as many coordinates as classes (2), found 1`},
		{`{"weights":[1],"alpha":[[2,3]],"logpdf":[[0.5,0.6]]}`, `logpdf[0]: point: expected coordinates that sum to 1 (within 1e-09), found 1.1`},
	} {
		lines, bad := ask(t, good+"\n"+c.line+"\n"+good)
		if bad != 1 || len(lines) != 3 {
			t.Errorf("%s: %d lines, %d bad", c.line, len(lines), bad)
			continue
		}
		var e lineError
		if err := json.Unmarshal([]byte(lines[1]), &e); err != nil {
			t.Errorf("%s: %v", c.line, err)
		}
		if e.Line != 2 || e.Error != c.want {
			t.Errorf("%s: line %d, error\n  %s\nwant line 2, error\n  %s", c.line, e.Line, e.Error, c.want)
		}
		if lines[0] != lines[2] || strings.Contains(lines[0], "error") {
			t.Errorf("%s: its neighbors were answered by %s and %s", c.line, lines[0], lines[2])
		}
	}
}

// TestJSONGolden compares results with values that were computed independently
// with 50 digits.
func TestJSONGolden(t *testing.T) {
	raw, err := os.ReadFile("../../mixture/testdata/mixture.json")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Cases []struct {
			Name    string
			Weights []float64
			Alpha   [][]float64
			Classes []struct {
				Mean, Var float64
				Quantiles [][3]float64 // q, x, 1−x
				Tails     [][3]float64 `json:"cdf_and_survival"` // x, F(x), 1−F(x)
			}
			LogPDF []json.RawMessage // [[p₁, …, p_d], log-density]
		}
	}
	if err := json.Unmarshal(raw, &file); err != nil {
		t.Fatal(err)
	}
	if len(file.Cases) == 0 {
		t.Fatal("no golden cases")
	}
	within := func(tolerance float64, what string, got, want float64) {
		t.Helper()
		if !(math.Abs(got-want) <= tolerance) {
			t.Errorf("%s = %v, want %v", what, got, want)
		}
	}
	near := func(what string, got, want float64) {
		t.Helper()
		within(1e-10*math.Abs(want), what, got, want)
	}
	for _, c := range file.Cases {
		// Every class has its own points, and the query evaluates all points for all classes.
		query := map[string]any{"weights": c.Weights, "alpha": c.Alpha}
		var quantiles, cdf []float64
		for _, class := range c.Classes {
			for _, r := range class.Quantiles {
				quantiles = append(quantiles, r[0])
			}
			for _, r := range class.Tails {
				cdf = append(cdf, r[0])
			}
		}
		var points [][]float64
		var densities []float64
		for _, row := range c.LogPDF {
			var p []float64
			var l float64
			if err := json.Unmarshal(row, &[]any{&p, &l}); err != nil {
				t.Fatal(err)
			}
			points, densities = append(points, p), append(densities, l)
		}
		query["quantiles"], query["cdf"], query["logpdf"] = quantiles, cdf, points
		line, err := json.Marshal(query)
		if err != nil {
			t.Fatal(err)
		}
		lines, bad := ask(t, string(line)+"\n")
		var got result
		if bad != 0 || len(lines) != 1 {
			t.Fatalf("%s: %d lines, %d bad", c.Name, len(lines), bad)
		}
		if err := json.Unmarshal([]byte(lines[0]), &got); err != nil {
			t.Fatalf("%s: %v", c.Name, err)
		}
		for i, want := range densities {
			// The absolute error of a logarithm is the relative error of the density.
			within(max(1e-10*math.Abs(want), 1e-14),
				fmt.Sprintf("%s: logpdf(%v)", c.Name, points[i]), float64(got.LogPDF[i]), want)
		}
		q, x := 0, 0
		for i, class := range c.Classes {
			name := fmt.Sprintf("%s, class %d: ", c.Name, i)
			near(name+"mean", float64(got.Mean[i]), class.Mean)
			near(name+"variance", float64(got.Variance[i]), class.Var)
			for _, r := range class.Quantiles {
				a := got.Classes[i].Quantiles[q]
				q++
				near(fmt.Sprintf("%squantile(%v)", name, r[0]), float64(a.X), r[1])
				near(fmt.Sprintf("%scomplement of quantile(%v)", name, r[0]), float64(a.Complement), r[2])
			}
			for _, r := range class.Tails {
				a := got.Classes[i].CDF[x]
				x++
				near(fmt.Sprintf("%scdf(%v)", name, r[0]), float64(a.CDF), r[1])
				near(fmt.Sprintf("%ssurvival(%v)", name, r[0]), float64(a.Survival), r[2])
			}
		}
	}
}

func FuzzAnswerLine(f *testing.F) {
	f.Add([]byte(`{"weights":[0.5,0.5],"alpha":[[30,4],[3,25]],"levels":[0.95],"quantiles":[0.025],"cdf":[0.3],"logpdf":[[0.2,0.8]],"votes":[2,0]}`))
	f.Add([]byte(`{"weights":[1],"alpha":[[1e-3,1e7,2]],"levels":[1e-9],"votes":[0,0.5,1e3]}`))
	f.Add([]byte(`{"weights":[0.25,0.75],"alpha":[[1,1],[0.5,0.5]],"logpdf":[[0,1],[1,0]],"levels":[0.5]}`))
	f.Add([]byte(`{"weights":[0.5,0.5],"alpha":[[1e15,1e-100,1e15],[1e10,1e10,1e-3]],"levels":[0.5],"quantiles":[1e-300]}`))
	f.Add([]byte(`{"weights":[1],"alpha":[[1e17,1e17,1e17]],"votes":[1e300,0,0]}`))
	f.Add([]byte(`{"weights":[1,null],"Alpha":"x"}`))
	f.Add([]byte("\xff{\"\xff\":1}"))
	f.Fuzz(func(t *testing.T, line []byte) {
		if len(line) > 1000 {
			t.Skip("a long line only takes longer")
		}
		l := inputLine{number: 3, text: line}
		l.solve()
		if !json.Valid(l.result) || !utf8.Valid(l.result) || bytes.ContainsAny(l.result, "\n\r") {
			t.Fatalf("the answer is not one line of JSON: %q", l.result)
		}
		var got map[string]json.RawMessage
		if err := json.Unmarshal(l.result, &got); err != nil {
			t.Fatal(err)
		}
		if keys := len(got); l.err == nil && keys != 5 || l.err != nil && keys != 2 {
			t.Fatalf("an answer of %d keys: %s", keys, l.result)
		}
	})
}
