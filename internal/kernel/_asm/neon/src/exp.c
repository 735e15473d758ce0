#include "neon.h"

// polynomial is c[0]·xⁿ⁻¹ + … + c[n-1] by multiply-adds.
INLINE v4 polynomial(v4 x, const int n, const float *c) {
	v4 p = all(c[0]);
	FOR(i, n - 1) p = madd(all(c[i + 1]), p, x);
	return p;
}

#define POLYNOMIAL(x, ...) polynomial(x, sizeof((float[]){__VA_ARGS__}) / 4, (const float[]){__VA_ARGS__})

// exponential is eˣ. With n = round(x/ln 2) and r = x − n·ln 2 in two pieces, eʳ = 1 + r + r²·P(r) on |r| ≤ ½ln 2 (coefficients of
// Cephes expf), and eˣ = eʳ·2ⁿ, multiplied in two halves so that neither factor leaves the range. Beyond ±104 the
// result no longer changes; NaN passes minimum and maximum.
INLINE v4 exponential(v4 x) {
	x = vmaxq_f32(vminq_f32(x, all(89)), all(-104));
	v4 n = vrndnq_f32(x * all(1.44269504088896341f));
	x = msub(msub(x, n, all(0.693359375f)), n, all(-2.12194440e-4f));
	v4 p = POLYNOMIAL(x, 1.9875691500e-4f, 1.3981999507e-3f, 8.3334519073e-3f, 4.1665795894e-2f, 1.6666665459e-1f, 5.0000001201e-1f);
	p = madd(x, p, x * x) + all(1);
	int32x4_t whole = vcvtnq_s32_f32(n), half = vshrq_n_s32(whole, 1), rest = whole - half;
	p *= vreinterpretq_f32_s32(vshlq_n_s32(half + vdupq_n_s32(127), 23));
	return p * vreinterpretq_f32_s32(vshlq_n_s32(rest + vdupq_n_s32(127), 23));
}

// expNEON computes dst[i] = exp(x[i]) for i < n.
KERNEL expNEON(float *dst, const float *x, int64_t n) {
	EACH(n, put(&dst, m, exponential(get(&x, m)));)
}

// sigmoidNEON computes dst[i] = 1/(1 + exp(-x[i])) for i < n.
KERNEL sigmoidNEON(float *dst, const float *x, int64_t n) {
	EACH(n, put(&dst, m, all(1) / (all(1) + exponential(-get(&x, m))));)
}

// tanhNEON computes dst[i] = tanh(x[i]) for i < n: x + x³·P(x²) below 0.625 (Cephes tanhf), else 1 − 2/(e²ˣ + 1) with
// the sign of x.
KERNEL tanhNEON(float *dst, const float *x, int64_t n) {
	uint32x4_t sign = vdupq_n_u32(0x80000000);
	EACH(n, v4 v = get(&x, m); v4 size = vabsq_f32(v); v4 big = all(1) - all(2) / (exponential(size + size) + all(1)); v4 s = v * v;
	     v4 p = s * POLYNOMIAL(s, -5.70498872745e-3f, 2.06390887954e-2f, -5.37397155531e-2f, 1.33314422036e-1f, -3.33332819422e-1f);
	     put(&dst, m, vbslq_f32(vcltq_f32(size, all(0.625f)), madd(v, v, p), vbslq_f32(sign, v, big)));)
}

// normal is Φ(x) = ½erfc(−x/√2). With z = |x|/√2 and t = 1/(1 + z/2),
//
//	erfc z = t·exp(−z² + P(t))
//
// to a relative 1.2e-7 (Numerical Recipes, erfcc); the side of x follows from Φ(−x) = 1 − Φ(x).
INLINE v4 normal(v4 x) {
	v4 z = vabsq_f32(x) * all(0.7071067811865476f), t = all(1) / madd(all(1), z, all(0.5f));
	v4 p = POLYNOMIAL(t, 0.17087277f, -0.82215223f, 1.48851587f, -1.13520398f, 0.27886807f, -0.18628806f, 0.09678418f, 0.37409196f, 1.00002368f, -1.26551223f);
	p = exponential(msub(p, z, z)) * t * all(0.5f);
	return vbslq_f32(vcltzq_f32(x), p, all(1) - p);
}

// geluNEON computes dst[i] = x[i]*Φ(x[i]) for i < n, Φ the normal distribution function.
KERNEL geluNEON(float *dst, const float *x, int64_t n) {
	EACH(n, v4 v = get(&x, m); put(&dst, m, v * normal(v));)
}

// geluGradNEON computes dx[i] = dy[i] * (Φ(x[i]) + x[i]*exp(-x[i]*x[i]/2)/sqrt(2π)) for i < n.
KERNEL geluGradNEON(float *dx, const float *dy, const float *x, int64_t n) {
	EACH(n, v4 v = get(&x, m); v4 density = exponential(v * v * all(-0.5f)) * all(0.3989422804014327f);
	     put(&dx, m, get(&dy, m) * madd(normal(v), v, density));)
}
