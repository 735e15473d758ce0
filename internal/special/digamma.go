package special

import "math"

// DigammaExcess returns ψ(a+1) − ln a for a > 0, to a few units in the last
// place: 1/(2a) − 1/(12a²) + 1/(120a⁴) − … after raising a by the recurrence
// ψ(a+1) = ψ(a) + 1/a. (DLMF 5.11.2.)
func DigammaExcess(a float64) float64 {
	// ψ(a+1) = ψ(a+n+1) − Σ_{i=1…n} 1/(a+i).
	shift, z := 0.0, a
	for z < 10 { // two terms with one division
		shift -= (2*z + 3) / ((z + 1) * (z + 2))
		z += 2
	}
	if z != a {
		shift += math.Log(z / a)
	}
	t := 1 / (z * z)
	return shift + 1/(2*z) - t*(1./12-t*(1./120-t*(1./252-t*(1./240-t*(1./132-t*(691./32760-t*(1./12)))))))
}
