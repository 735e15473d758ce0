#include "neon.h"

// addNEON computes dst[i] = a[i] + b[i] for i < n.
KERNEL addNEON(float *dst, const float *a, const float *b, int64_t n) {
	EACH(n, put(&dst, m, get(&a, m) + get(&b, m));)
}

// mulNEON computes dst[i] = a[i] * b[i] for i < n.
KERNEL mulNEON(float *dst, const float *a, const float *b, int64_t n) {
	EACH(n, put(&dst, m, get(&a, m) * get(&b, m));)
}

// only is v where the mask is set, and zero elsewhere.
INLINE v4 only(uint32x4_t mask, v4 v) { return vreinterpretq_f32_u32(vandq_u32(mask, vreinterpretq_u32_f32(v))); }

// reluNEON computes dst[i] = x[i] < 0 ? 0 : x[i] for i < n.
KERNEL reluNEON(float *dst, const float *x, int64_t n) {
	EACH(n, v4 v = get(&x, m); put(&dst, m, only(vmvnq_u32(vcltzq_f32(v)), v));)
}

// reluGradNEON computes dx[i] = y[i] > 0 ? dy[i] : 0 for i < n.
KERNEL reluGradNEON(float *dx, const float *dy, const float *y, int64_t n) {
	EACH(n, v4 g = get(&dy, m); put(&dx, m, only(vcgtzq_f32(get(&y, m)), g));)
}

// tanhGradNEON computes dx[i] = dy[i] * (1 - y[i]*y[i]) for i < n.
KERNEL tanhGradNEON(float *dx, const float *dy, const float *y, int64_t n) {
	EACH(n, v4 g = get(&dy, m); v4 v = get(&y, m); put(&dx, m, g * msub(all(1), v, v));)
}

// sigmoidGradNEON computes dx[i] = dy[i] * (y[i] * (1 - y[i])) for i < n.
KERNEL sigmoidGradNEON(float *dx, const float *dy, const float *y, int64_t n) {
	EACH(n, v4 g = get(&dy, m); v4 v = get(&y, m); put(&dx, m, g * (v * (all(1) - v)));)
}

// The terms of reductions.
enum { plain, square, centred };

// reduce adds terms in float64, term i to sum i mod 16, and then the upper half of the sums to the lower until one is left.
// Products of float32 are exact in float64.
INLINE void reduce(double *sum, const float *x, const float *g, float mean, int64_t n, const int kind) {
	v2 p[8];
	FOR(i, 8) p[i] = vdupq_n_f64(0);
#define TERM(i, low, high, v, w)                                                     \
	if (kind == plain) {                                                         \
		p[2 * i] += low(v);                                                  \
		p[2 * i + 1] += high(v);                                             \
	} else {                                                                     \
		p[2 * i] = vfmaq_f64(p[2 * i], low(v), low(w));                      \
		p[2 * i + 1] = vfmaq_f64(p[2 * i + 1], high(v), high(w));            \
	}
#define LOW(v) vcvt_f64_f32(vget_low_f32(v))
#define STEP(i, m)                                                                   \
	{                                                                            \
		v4 v = get(&x, m), w = v;                                            \
		if (kind == centred) {                                               \
			v -= all(mean);                                              \
			w = get(&g, m);                                              \
		}                                                                    \
		TERM(i, LOW, vcvt_high_f64_f32, v, w)                                \
	}
	for (; n >= 16; n -= 16)
		FOR(i, 4) STEP(i, 4)
	FOR(i, 4) {
		if (n > 0)
			STEP(i, (n < 4 ? n : 4))
		n -= 4;
	}
	FOR(i, 4) p[i] += p[i + 4];
	FOR(i, 2) p[i] += p[i + 2];
	p[0] += p[1];
	*sum = vgetq_lane_f64(p[0], 0) + vgetq_lane_f64(p[0], 1);
}

// sumNEON computes Sum of n elements.
KERNEL sumNEON(double *sum, const float *x, int64_t n) { reduce(sum, x, x, 0, n, plain); }

// sumSqNEON computes SumSq of n elements.
KERNEL sumSqNEON(double *sum, const float *x, int64_t n) { reduce(sum, x, x, 0, n, square); }

// centredDotNEON computes CentredDot of n elements.
KERNEL centredDotNEON(double *sum, const float *dy, const float *x, float mean, int64_t n) { reduce(sum, x, dy, mean, n, centred); }

// columns adds up columns, four for each of the vectors, or the m there are.
INLINE void columns(float *dst, const float *x, int64_t rows, int64_t cols, const int vectors, int64_t m) {
	v4 sum[4];
	const float *from = dst;
	FOR(i, vectors) sum[i] = get(&from, m);
	for (; rows > 0; rows--, x += cols) {
		from = x;
		FOR(i, vectors) sum[i] += get(&from, m);
	}
	FOR(i, vectors) put(&dst, m, sum[i]);
}

// colSumsNEON computes dst[c] += x[r*n+c] for r = 0 … rows-1 in order, c < n.
KERNEL colSumsNEON(float *dst, const float *x, int64_t rows, int64_t n) {
	int64_t cols = n;
	for (; n >= 16; n -= 16, dst += 16, x += 16)
		columns(dst, x, rows, cols, 4, 4);
	for (; n >= 4; n -= 4, dst += 4, x += 4)
		columns(dst, x, rows, cols, 1, 4);
	if (n > 0)
		columns(dst, x, rows, cols, 1, n);
}

// prefetchNEON asks for the cache lines of x[0] … x[n-1].
KERNEL prefetchNEON(const float *x, int64_t n) {
	for (; n > 0; n -= 16, x += 16)
		__builtin_prefetch(x);
}

// normNEON computes y[i] = (x[i]-mean)*a + b for i < n, each operation rounded.
KERNEL normNEON(float *y, const float *x, float mean, float a, float b, int64_t n) {
	EACH(n, put(&y, m, (get(&x, m) - all(mean)) * all(a) + all(b));)
}

// normGradNEON computes dx[i] = scale * (dy[i] - a - (x[i]-mean)*inv*b) for i < n, each operation rounded.
KERNEL normGradNEON(float *dx, const float *dy, const float *x, float mean, float inv, float scale, float a, float b, int64_t n) {
	EACH(n, v4 v = (get(&x, m) - all(mean)) * all(inv) * all(b); put(&dx, m, all(scale) * (get(&dy, m) - all(a) - v));)
}

// adamNEON computes, for i < n, with the factors f of type adamFactors,
//
//	g = scale*d[i] + decay*w[i]
//	m[i] = beta1*m[i] + gain1*g
//	v[i] = beta2*v[i] + gain2*g*g
//	w[i] = keep*w[i] - rate*m[i]/(sqrt(v[i])*root + ep)
KERNEL adamNEON(float *w, float *first, float *second, const float *d, const float *f, int64_t n) {
	v4 scale = all(f[0]), decay = all(f[1]), beta1 = all(f[2]), gain1 = all(f[3]), beta2 = all(f[4]), gain2 = all(f[5]);
	v4 keep = all(f[6]), rate = all(f[7]), root = all(f[8]), ep = all(f[9]);
	const float *w0 = w, *m0 = first, *v0 = second;
	EACH(n, v4 old = get(&w0, m); v4 g = madd(scale * get(&d, m), decay, old); v4 mean = madd(beta1 * get(&m0, m), gain1, g);
	     v4 var = madd(gain2 * (g * g), beta2, get(&v0, m)); put(&first, m, mean); put(&second, m, var);
	     put(&w, m, madd(-(rate * mean / madd(ep, root, vsqrtq_f32(var))), keep, old));)
}

// sgdNEON computes, for i < n, with the factors f of type sgdFactors,
//
//	g = scale*d[i] + decay*w[i]
//	v[i] = momentum*v[i] + g
//	w[i] -= fromV*v[i] + fromG*g
KERNEL sgdNEON(float *w, float *v, const float *d, const float *f, int64_t n) {
	v4 scale = all(f[0]), decay = all(f[1]), momentum = all(f[2]), fromV = all(f[3]), fromG = all(f[4]);
	const float *w0 = w, *v0 = v;
	EACH(n, v4 old = get(&w0, m); v4 g = madd(scale * get(&d, m), decay, old); v4 speed = madd(g, momentum, get(&v0, m));
	     put(&v, m, speed); put(&w, m, msub(msub(old, fromV, speed), fromG, g));)
}

// philox does one round of four blocks, one in each lane.
INLINE void philox(uint32x4_t c[4], uint32x4_t k0, uint32x4_t k1) {
	uint32x4_t m0 = vdupq_n_u32(0xD2511F53), m1 = vdupq_n_u32(0xCD9E8D57);
	uint32x4_t a = vreinterpretq_u32_u64(vmull_u32(vget_low_u32(c[0]), vget_low_u32(m0))), b = vreinterpretq_u32_u64(vmull_high_u32(c[0], m0));
	uint32x4_t d = vreinterpretq_u32_u64(vmull_u32(vget_low_u32(c[2]), vget_low_u32(m1))), e = vreinterpretq_u32_u64(vmull_high_u32(c[2], m1));
	c[0] = vuzp2q_u32(d, e) ^ c[1] ^ k0;
	c[1] = vuzp1q_u32(d, e);
	c[2] = vuzp2q_u32(a, b) ^ c[3] ^ k1;
	c[3] = vuzp1q_u32(a, b);
}

// maskNEON computes, for j < 4n (n ≥ 1) with b = Philox(key, low + j, high), each two words,
//
//	keep[4*j+i] = b[i^1] >= limit ? scale : 0,   i < 4
KERNEL maskNEON(float *keep, int64_t n, uint64_t key, uint64_t low, uint64_t high, int64_t limit, float scale) {
	uint32x4_t least = vdupq_n_u32(limit);
	uint64x2_t first = {low, low + 1}, second = {low + 2, low + 3}, four = vdupq_n_u64(4);
	for (; n > 0; n--, keep += 16) {
		asm("" : "+r"(key), "+r"(high)); // or what follows from them would take registers, of which there are too few
		uint32x4_t a = vreinterpretq_u32_u64(first), b = vreinterpretq_u32_u64(second), k0 = vdupq_n_u32(key), k1 = vdupq_n_u32(key >> 32);
		uint32x4_t c[4] = {vuzp1q_u32(a, b), vuzp2q_u32(a, b), vdupq_n_u32(high), vdupq_n_u32(high >> 32)};
		FOR(round, 10) {
			asm("" : "+w"(k0), "+w"(k1)); // or the keys of all rounds would
			philox(c, k0, k1);
			k0 += vdupq_n_u32(0x9E3779B9);
			k1 += vdupq_n_u32(0xBB67AE85);
		}
		float32x4x4_t kept;
		FOR(i, 4) kept.val[i] = only(vcgeq_u32(c[i ^ 1], least), all(scale));
		vst4q_f32(keep, kept);
		first += four;
		second += four;
	}
}
