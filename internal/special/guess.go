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
	logA, logB := math.Log(a), math.Log(b)
	if d.atPeak {
		return middleGuess(a, b, logA-logB, t, logT)
	}
	power := (logT + logA + d.logBeta) / a
	return Guess(a, b, logA, logB, d.logBeta, t, logT, power, math.Exp(min(power, 0)))
}

// Guess is [Beta.GuessLogit] for whom logarithms are at hand: those of a, b, B(a, b) and t. The tail is
// gxᵃ(1 − (b−1)ax/(a+1) + …), g = 1/(a B(a, b)); power is the ln x at which gxᵃ is t, and x that x, or anything larger than one if
// it is.
func Guess(a, b, logA, logB, logBeta, t, logT, power, x float64) float64 {
	if x*b < 0.3*(a+1) && x < 0.5 {
		return power + (b-1)*x/(a+1) + x
	}
	if a < 1 || b < 1 {
		y := (math.Log1p(-t) + logB + logBeta) / b
		if y < -0.7 || power > -0.7 {
			return -min(y, -0.05)
		}
		return power
	}
	return middleGuess(a, b, logA-logB, t, logT)
}

// middleGuess is the guess for a law that is nearly normal on the logit scale; mode is ln(a/b).
func middleGuess(a, b, mode, t, logT float64) float64 {
	// Abramowitz and Stegun 26.5.22, with a = ½ drawn aside from its pole.
	ra, rb := 1/max(2*a-1, 0.1), 1/max(2*b-1, 0.1)
	u := normalGuess(t, logT)
	h := 2 / (ra + rb)
	l := (u*u - 3) / 6
	w := u*math.Sqrt(max(h+l, 0))/h - (rb-ra)*(l+5./6-2/(3*h))
	return mode - 2*w
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
