#include "neon64.h"

// betaSumsNEON computes BetaSums for n terms of three numbers each.
KERNEL betaSumsNEON(double *dst, const double *z, const double *terms, int64_t n) {
	for (int64_t at = 0; at < 8; at += 2) {
		point p = pointAt(vld1q_f64(z + at), 0);
		v2 xy = p.x * p.y, turn = p.y - p.x, sum[4];
		FOR(d, 4) sum[d] = two(0);
		const double *term = terms;
		for (int64_t k = 0; k < n; k++, term += 3) {
			v2 a = two(term[0]), b = two(term[1]), f = exponential(madd2(madd2(two(term[2]), a, p.logX), b, p.logY));
			v2 lambda = msub2(a * p.y, b, p.x), curve = (a + b) * xy, square = lambda * lambda;
			sum[0] += f;
			sum[1] = madd2(sum[1], f, lambda);
			sum[2] = madd2(sum[2], f, square - curve);
			sum[3] = madd2(sum[3], f, msub2(lambda * msub2(square, two(3), curve), curve, turn));
		}
		FOR(d, 4) vst1q_f64(dst + 8 * d + at, sum[d]);
	}
}

// expLinearNEON computes dst[i] = exp(offset + slope*x[i] + y[i]) for i < n.
KERNEL expLinearNEON(double *dst, const double *x, const double *y, int64_t n, double slope, double offset) {
	int64_t i = 0;
	for (; i + 2 <= n; i += 2)
		vst1q_f64(dst + i, exponential(madd2(vld1q_f64(y + i) + two(offset), two(slope), vld1q_f64(x + i))));
	if (i < n)
		vst1q_lane_f64(dst + i, exponential(madd2(two(y[i]) + two(offset), two(slope), two(x[i]))), 0);
}

// gammaLogarithm is ln Γ(x): Stirling's formula at z = x, or at x + 10 for x < 10 less the logarithm of the product between.
INLINE v2 gammaLogarithm(v2 x) {
	uint64x2_t small = vcltq_f64(x, two(10));
	v2 one = two(1), p = vbslq_f64(small, rising(x), one), z = vbslq_f64(small, x + two(10), x), r = one / z;
	constants c = CONSTANTS(-691. / 360360, 1. / 1188, -1. / 1680, 1. / 1260, -1. / 360, 1. / 12, HALF_LOG_2PI);
	v2 q = r * polynomial(r * r, 6, &c);
	q += take(&c) - z;
	return madd2(q, z - two(0.5), logarithm(z)) - logarithm(p);
}

// logGammaNEON computes LogGamma for n numbers.
KERNEL logGammaNEON(double *gamma, double *log, const double *x, int64_t n) {
	int64_t i = 0;
	for (; i + 2 <= n; i += 2) {
		v2 v = vld1q_f64(x + i);
		vst1q_f64(log + i, logarithm(v));
		vst1q_f64(gamma + i, gammaLogarithm(v));
	}
	if (i < n) {
		v2 v = two(x[i]);
		vst1q_lane_f64(log + i, logarithm(v), 0);
		vst1q_lane_f64(gamma + i, gammaLogarithm(v), 0);
	}
}
