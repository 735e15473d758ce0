package special

import "math"

// GuessLogit returns a rough logit of the point below which the distribution
// has the mass t, 0 < t < 1, as a start for root finding; logT = ln t. It is
// good to a few percent of the distribution's width where a and b exceed 1 and
// far out in the tail, and to its order of magnitude elsewhere.
func (d *Beta) GuessLogit(t, logT float64) float64 {
	return d.guess(d.A, d.B, t, logT)
}

// GuessUpperLogit returns a rough logit of 1−x, where x is the point above which
// the distribution has the mass t.
func (d *Beta) GuessUpperLogit(t, logT float64) float64 {
	return d.guess(d.B, d.A, t, logT)
}

func (d *Beta) guess(a, b, t, logT float64) float64 {
	if !d.atPeak {
		// The tail is gx^a(1 − (b−1)ax/(a+1) + …), g = 1/(a B(a, b)).
		lx := (logT + math.Log(a) + d.logBeta) / a
		x := math.Exp(min(lx, 0))
		if x*b < 0.3*(a+1) && x < 0.5 {
			return lx + (b-1)*x/(a+1) + x
		}
		if a < 1 || b < 1 {
			ly := (math.Log1p(-t) + math.Log(b) + d.logBeta) / b
			if ly < -0.7 || lx > -0.7 {
				return -min(ly, -0.05)
			}
			return lx
		}
	}
	// Abramowitz and Stegun 26.5.22, with a = ½ drawn aside from its pole.
	ra, rb := 1/max(2*a-1, 0.1), 1/max(2*b-1, 0.1)
	u := normalGuess(t, logT)
	h := 2 / (ra + rb)
	l := (u*u - 3) / 6
	w := u*math.Sqrt(max(h+l, 0))/h - (rb-ra)*(l+5./6-2/(3*h))
	return math.Log(a/b) - 2*w
}

// normalGuess returns the point above which a standard normal variable has the
// mass t, to 5e-4 (Abramowitz and Stegun 26.2.23).
func normalGuess(t, logT float64) float64 {
	sign := 1.0
	if t > 0.5 {
		logT, sign = math.Log1p(-t), -1
	}
	s := math.Sqrt(-2 * logT)
	return sign * (s - (2.515517+s*(0.802853+s*0.010328))/(1+s*(1.432788+s*(0.189269+s*0.001308))))
}
