// Functions of float64, two numbers in a vector.
#include "neon.h"

INLINE v2 two(double x) { return vdupq_n_f64(x); }
INLINE v2 madd2(v2 c, v2 a, v2 b) { return vfmaq_f64(c, a, b); }
INLINE v2 msub2(v2 c, v2 a, v2 b) { return vfmsq_f64(c, a, b); }

// Constants are in arrays that are read from front to back. clang does not know what is in them: otherwise it would keep them all in
// registers, of which there are too few.
typedef const double *constants;

// CONSTANTS is an array to read.
#define CONSTANTS(...)                                   \
	({                                               \
		static const double c[] = {__VA_ARGS__}; \
		constants at = c;                        \
		asm volatile("" : "+r"(at));             \
		at;                                      \
	})

// take returns the next constant.
INLINE v2 take(constants *c) {
	v2 v = two(**c);
	*c += 1;
	asm("" : "+r"(*c));
	return v;
}

// polynomial is c₀·xⁿ⁻¹ + … + cₙ₋₁ of the next n constants, by multiply-adds.
INLINE v2 polynomial(v2 x, const int n, constants *c) {
	v2 p = take(c);
	FOR(i, n - 1) p = madd2(take(c), p, x);
	return p;
}

#define LN2_HIGH 0x1.62e42fefap-1
#define LN2_LOW 0x1.cf79abc9e3b39p-40
#define HALF_LOG_2PI 0.91893853320467274178

// power is eˣ by n terms of Taylor's series; c has the least x first, and the coefficients last. The power of two is added to the
// exponent, n + 1.5·2⁵² having n in its last bits.
INLINE v2 power(v2 x, const int n, constants c) {
	x = vmaxq_f64(x, take(&c));
	v2 magic = take(&c), shifted = madd2(magic, x, take(&c)), whole = shifted - magic;
	x = msub2(x, whole, take(&c));
	x = msub2(x, whole, take(&c));
	v2 q = polynomial(x, n, &c);
	return vreinterpretq_f64_u64(vreinterpretq_u64_f64(q) + vshlq_n_u64(vreinterpretq_u64_f64(shifted), 52));
}

#define LOG2E 1.44269504088896340735992468100189214
#define TAYLOR11 1. / 3628800, 1. / 362880, 1. / 40320, 1. / 5040, 1. / 720, 1. / 120, 1. / 24, 1. / 6, 1. / 2, 1, 1
#define TAYLOR14 1. / 6227020800, 1. / 479001600, 1. / 39916800, TAYLOR11

// exponential has a relative error of 3e-13, exactExponential of 3e-16; below -300 and -700 they no longer change.
INLINE v2 exponential(v2 x) { return power(x, 11, CONSTANTS(-300, 0x3p51, LOG2E, LN2_HIGH, LN2_LOW, TAYLOR11)); }
INLINE v2 exactExponential(v2 x) { return power(x, 14, CONSTANTS(-700, 0x3p51, LOG2E, LN2_HIGH, LN2_LOW, TAYLOR14)); }

// ARTANH10 are the coefficients of 2 artanh s, divided by s, in s².
#define ARTANH10 2. / 19, 2. / 17, 2. / 15, 2. / 13, 2. / 11, 2. / 9, 2. / 7, 2. / 5, 2. / 3, 2.

// logarithm is ln x of positive normal x. With x = 2ᵉ m, m from √½ to √2, and s = (m−1)/(m+1), it is e ln 2 + 2 artanh s. The bits of the
// first constant are those of √½, less 1024 in the exponent so that none is negative; the second has 1024 there.
INLINE v2 logarithm(v2 x) {
	constants c = CONSTANTS(-0x1.6a09e667f3bcdp1023, 2, 1024, ARTANH10, LN2_LOW, LN2_HIGH);
	uint64x2_t bits = vreinterpretq_u64_f64(x), e = vshrq_n_u64(bits - vreinterpretq_u64_f64(take(&c)), 52);
	v2 m = vreinterpretq_f64_u64(bits - vshlq_n_u64(e, 52) + vreinterpretq_u64_f64(take(&c)));
	v2 whole = vcvtq_f64_u64(e) - take(&c), s = (m - two(1)) / (m + two(1)), q = s * polynomial(s * s, 10, &c);
	q = madd2(q, whole, take(&c));
	return madd2(q, whole, take(&c));
}

// logarithm1p is ln(1+e) for e from 0 to 1: with s = e/(2+e) ≤ 1/3 it is 2 artanh s.
INLINE v2 logarithm1p(v2 e) {
	constants c = CONSTANTS(2. / 29, 2. / 27, 2. / 25, 2. / 23, 2. / 21, ARTANH10);
	v2 s = e / (e + two(2));
	return s * polynomial(s * s, 15, &c);
}

// rising is x(x+1)…(x+9).
INLINE v2 rising(v2 x) {
	v2 p = x;
	FOR(i, 9) p *= x += two(1);
	return p;
}

// point is what a logit says: x, y = 1−x and their logarithms.
typedef struct {
	v2 x, y, logX, logY;
} point;

// pointAt computes it with e = exp(−|z|): one of x and y is 1/(1+e), the other e/(1+e).
INLINE point pointAt(v2 z, const int exact) {
	v2 zero = two(0), one = two(1), below = vminq_f64(z, zero), above = vminq_f64(-z, zero);
	v2 e = exact ? exactExponential(below + above) : exponential(below + above), l = logarithm1p(e), large = one / (one + e), small = e / (one + e);
	uint64x2_t negative = vcltzq_f64(z);
	return (point){vbslq_f64(negative, small, large), vbslq_f64(negative, large, small), below - l, above - l};
}
