package calculator

import (
	"math"
	"strconv"
	"strings"

	"credence/mixture"
)

// precision is how many digits the numbers of a report have: decimals or, close
// to zero and to one, the digits before a power of ten.
type precision struct{ decimals, digits int }

// precision returns what the narrowest class needs for its intervals to show
// two different ends.
func (r *Report) precision() precision {
	p := precision{4, 2}
	for _, s := range r.states {
		for _, f := range s.class {
			mean, variance := f.Moments()
			sd, distance := math.Sqrt(variance), min(mean, 1-mean)
			switch {
			case !(sd > 0):
			case distance > 1e-4:
				p.decimals = max(p.decimals, min(10, 2+places(sd)))
			case distance > 0:
				p.digits = max(p.digits, min(6, 1+places(sd/distance)))
			}
		}
	}
	return p
}

// places returns the decimal place of the first digit of x: 1 for 0.1 ≤ x < 1.
func places(x float64) int { return int(-math.Floor(math.Log10(x))) }

// number writes x ≥ 0 with decimals, or as a power of ten if they would show
// less than two digits of it.
func (p precision) number(x float64) string {
	if x == 0 || x >= math.Pow(10, float64(1-p.decimals)) {
		return strconv.FormatFloat(x, 'f', p.decimals, 64)
	}
	return p.scientific(x)
}

// probability writes x, given with y = 1 − x so that closeness to one shows as
// closeness to zero does.
func (p precision) probability(x, y float64) string {
	switch {
	case x == 0:
		return "0"
	case y == 0:
		return "1"
	case y < math.Pow(10, float64(-p.decimals))/2:
		return "1-" + p.scientific(y)
	}
	return p.number(x)
}

// interval writes the interval from x0 to x1, each given with its complement.
func (p precision) interval(x0, y0, x1, y1 float64) string {
	return "[" + p.probability(x0, y0) + ", " + p.probability(x1, y1) + "]"
}

// set writes the pieces of the highest-density set of f, at least one string.
// Their distances from one are those of the reflected set from zero.
func (p precision) set(f *mixture.Beta, level float64) []string {
	set, mirror := f.HighestDensity(level), f.Reflect().HighestDensity(level)
	if len(set) == 0 {
		return []string{"-"}
	}
	var pieces []string
	for i, piece := range set {
		y0, y1 := 1-piece.Lo, 1-piece.Hi
		if len(mirror) == len(set) {
			m := mirror[len(set)-1-i]
			y0, y1 = m.Hi, m.Lo
		}
		text := p.interval(piece.Lo, y0, piece.Hi, y1)
		if i < len(set)-1 {
			text += " ∪"
		}
		pieces = append(pieces, text)
	}
	return pieces
}

// scientific writes x with a short exponent: 3.4e-5.
func (p precision) scientific(x float64) string {
	s := strconv.FormatFloat(x, 'e', p.digits-1, 64)
	mantissa, exponent, _ := strings.Cut(s, "e")
	n, _ := strconv.Atoi(exponent)
	return mantissa + "e" + strconv.Itoa(n)
}

// JoinNumbers writes each value with about six digits.
func JoinNumbers(values []float64, separator string) string {
	var b strings.Builder
	for i, v := range values {
		if i > 0 {
			b.WriteString(separator)
		}
		if v >= 1e5 && v < 1e10 { // rather 1000000 than 1e+06
			b.WriteString(strconv.FormatFloat(v, 'f', 0, 64))
		} else {
			b.WriteString(strconv.FormatFloat(v, 'g', 6, 64))
		}
	}
	return b.String()
}
