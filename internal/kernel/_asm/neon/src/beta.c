#include "neon64.h"

// betaSumsNEON computes BetaSums for n terms of three numbers each.
KERNEL betaSumsNEON(double *dst, const double *z, const double *terms, int64_t n) {
	for (int64_t at = 0; at < 8; at += 2) {
		point p = pointAt(vld1q_f64(z + at), 0);
		v2 q = p.x * p.y, turn = p.y - p.x, s[6], t[4], u[2];
		FOR(d, 6) s[d] = two(0);
		FOR(d, 4) t[d] = two(0);
		FOR(d, 2) u[d] = two(0);
		// Sums of the density times powers of lambda, and times A + B and its square.
		const double *term = terms;
		for (int64_t k = 0; k < n; k++, term += 3) {
			v2 a = two(term[0]), b = two(term[1]), f = exponential(madd2(madd2(two(term[2]), a, p.logX), b, p.logY));
			v2 lambda = msub2(a * p.y, b, p.x), both = a + b, g = f * both;
			t[0] += g;
			u[0] = madd2(u[0], g, both);
			g *= lambda;
			t[1] += g;
			u[1] = madd2(u[1], g, both);
			s[0] += f;
			f *= lambda;
			s[1] += f;
			f *= lambda;
			s[2] += f;
			t[2] = madd2(t[2], f, both);
			f *= lambda;
			s[3] += f;
			t[3] = madd2(t[3], f, both);
			f *= lambda;
			s[4] += f;
			s[5] = madd2(s[5], f, lambda);
		}
		v2 qt = q * turn, qtt = qt * turn, qq = q * q, qqt = qq * turn, f[6];
		f[0] = s[0];
		f[1] = s[1];
		f[2] = msub2(s[2], q, t[0]);
		f[3] = msub2(msub2(s[3], two(3) * q, t[1]), qt, t[0]);
		f[4] = msub2(msub2(s[4], two(6) * q, t[2]), two(4) * qt, t[1]);
		f[4] = madd2(madd2(f[4], two(3) * qq, u[0]), two(2) * qq - qtt, t[0]);
		f[5] = msub2(msub2(s[5], two(10) * q, t[3]), two(10) * qt, t[2]);
		f[5] = madd2(madd2(f[5], two(15) * qq, u[1]), msub2(two(10) * qq, two(5), qtt), t[1]);
		f[5] = madd2(madd2(f[5], two(10) * qqt, u[0]), msub2(two(8) * qqt, qtt, turn), t[0]);
		FOR(d, 6) vst1q_f64(dst + 8 * d + at, f[d]);
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

// exp64NEON replaces n numbers by their exponentials.
KERNEL exp64NEON(double *x, int64_t n) {
	int64_t i = 0;
	for (; i + 2 <= n; i += 2)
		vst1q_f64(x + i, exactExponential(vld1q_f64(x + i)));
	if (i < n)
		vst1q_lane_f64(x + i, exactExponential(two(x[i])), 0);
}

// betaMomentsNEON computes BetaMoments for n distributions.
KERNEL betaMomentsNEON(double *mean, double *variance, const double *a, const double *b, int64_t n) {
	int64_t i = 0;
	for (; i + 2 <= n; i += 2) {
		v2 x = vld1q_f64(a + i), y = vld1q_f64(b + i), s = x + y, m = x / s;
		vst1q_f64(mean + i, m);
		vst1q_f64(variance + i, m * (y / s) / (s + two(1)));
	}
	if (i < n) {
		v2 x = two(a[i]), y = two(b[i]), s = x + y, m = x / s;
		vst1q_lane_f64(mean + i, m, 0);
		vst1q_lane_f64(variance + i, m * (y / s) / (s + two(1)), 0);
	}
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

// digammaLog2 is ψ(a+1) − ln c: Stirling's series at z = a, or at a + 10 for a < 10 less the reciprocals between, whose sum is the
// derivative of (a+1)…(a+10) divided by that.
INLINE v2 digammaLog2(v2 a, v2 c) {
	v2 one = two(1), z = a + one, p = z, slope = one;
	FOR(i, 9) {
		z += one;
		slope = madd2(p, slope, z);
		p *= z;
	}
	uint64x2_t small = vcltq_f64(a, two(10));
	v2 sum = vbslq_f64(small, slope / p, two(0));
	z = vbslq_f64(small, z, a);
	v2 r = one / z, u = r * r;
	constants k = CONSTANTS(-1. / 12, 691. / 32760, -1. / 132, 1. / 240, -1. / 252, 1. / 120, -1. / 12, 0.5);
	v2 q = u * polynomial(u, 7, &k);
	q = madd2(q, take(&k), r);
	return q - sum + logarithm(z / c);
}

// digammaLogNEON computes DigammaLog for n numbers.
KERNEL digammaLogNEON(double *dst, const double *a, const double *c, int64_t n) {
	int64_t i = 0;
	for (; i + 2 <= n; i += 2)
		vst1q_f64(dst + i, digammaLog2(vld1q_f64(a + i), vld1q_f64(c + i)));
	if (i < n)
		vst1q_lane_f64(dst + i, digammaLog2(two(a[i]), two(c[i])), 0);
}
