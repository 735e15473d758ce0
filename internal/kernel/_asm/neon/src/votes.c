#include "neon64.h"

// A group of two components has four vectors in the working memory: weights, likelihoods, and the derivatives of their logarithms with
// respect to log a and log b.
enum { voteW = 0, voteP = 2, voteA = 4, voteB = 6, voteSize = 8 };

// side holds the sums for one class: of a/(a+t) u for its votes t, and of u for the others.
typedef struct {
	v2 x, up, down;
} side;

// vote multiplies the likelihood by x+t if the class has vote t.
INLINE v2 vote(side *s, v2 p, v2 u, double t, int has) {
	if (!has) {
		s->down += u;
		return p;
	}
	v2 at = s->x + two(t);
	s->up = madd2(s->up, s->x / at, u);
	return p * at;
}

INLINE v2 flushed(v2 x) {
	return vreinterpretq_f64_u64(vbicq_u64(vreinterpretq_u64_f64(x), vcltq_f64(x, two(1e-30))));
}

// twoVotesNEON computes twoVotesGeneric for k components (k ≥ 1), two at a time. It reads up to two pairs after e, and writes
// work for k rounded up to a multiple of 2; there is no gradient if grad is null.
KERNEL twoVotesNEON(double *work, float *grad, float *pairs, const float *e, int64_t k, int64_t s0, int64_t s1, double *sums, double scale) {
	const float *alpha = e + k;
	double *at = work;
	v2 weight = two(0), total = two(0);
	for (int64_t left = k; left > 0; left -= 2, e += 2, alpha += 4, at += voteSize) {
		uint64x2_t live = {~0ull, left > 1 ? ~0ull : 0};
		v2 w = vcvt_f64_f32(vld1_f32(e));
		live = vbicq_u64(live, vcltq_f64(w, two(1e-34)));
		w = vreinterpretq_f64_u64(vreinterpretq_u64_f64(w) & live);
		float32x2x2_t ab = vld2_f32(alpha);
		side a = {vcvt_f64_f32(ab.val[0]), two(0), two(0)}, b = {vcvt_f64_f32(ab.val[1]), two(0), two(0)};
		v2 sum = a.x + b.x, p = two(1);
		double t = 0;
		for (int64_t i = 0; i < s0 + s1; i++, t++) {
			v2 u = two(1) / (sum + two(t));
			p *= u;
			p = vote(&a, p, u, t, i < s0);
			p = vote(&b, p, u, t, i < s1);
		}
		// Where there is no component, other numbers may overflow.
		p = vreinterpretq_f64_u64(vreinterpretq_u64_f64(p) & live);
		vst1q_f64(at + voteW, w);
		vst1q_f64(at + voteP, p);
		vst1q_f64(at + voteA, msub2(b.x * a.up, a.x, a.down));
		vst1q_f64(at + voteB, msub2(a.x * b.up, b.x, b.down));
		weight += w;
		total = madd2(total, w, p);
	}
	sums[0] = vaddvq_f64(weight);
	sums[1] = vaddvq_f64(total);
	v2 byWeight = two(scale / sums[0]), byTotal = two(scale / sums[1]);
	for (at = work; k > 0 && grad; k -= 2, grad += 2, pairs += 4, at += voteSize) {
		v2 w = vld1q_f64(at + voteW), p = flushed(w * byWeight), r = flushed(w * vld1q_f64(at + voteP) * byTotal);
		float32x2_t g = vcvt_f32_f64(p - r);
		float32x2x2_t q = {{vcvt_f32_f64(-r * vld1q_f64(at + voteA)), vcvt_f32_f64(-r * vld1q_f64(at + voteB))}};
		if (k > 1) {
			vst1_f32(grad, g);
			vst2_f32(pairs, q);
		} else {
			vst1_lane_f32(grad, g, 0);
			vst2_lane_f32(pairs, q, 0);
		}
	}
}

// clampLogitsNEON computes clampLogitsGeneric for n values (n > k ≥ 1) and sets *outside.
KERNEL clampLogitsNEON(float *dst, const float *x, int64_t k, int64_t n, int64_t *outside, float limit) {
	const float *logits = x;
	float top = x[0];
	for (int64_t i = 1; i < k; i++)
		top = x[i] > top ? x[i] : top;
	v4 least = all(-80), largest = all(top);
	n -= k;
	EACH(k, v4 v = get(&logits, m) - largest; put(&dst, m, vbslq_f32(vcltq_f32(v, least), least, v));)
	v4 high = all(limit), low = all(-limit);
	int64_t found = 0;
	EACH(n, v4 v = get(&logits, m); uint32x4_t beyond = vcgtq_f32(vabsq_f32(v), high); // elements behind the end are zeros
	     found += (uint32_t)vaddvq_u32(vshrq_n_u32(beyond, 31));
	     put(&dst, m, vbslq_f32(vcgtq_f32(v, high), high, vbslq_f32(vcltq_f32(v, low), low, v)));)
	*outside = found;
}

// stopGradientsNEON computes stopGradientsGeneric for n values.
KERNEL stopGradientsNEON(float *grad, const float *x, int64_t n, float limit) {
	v4 high = all(limit);
	const float *from = grad;
	EACH(n, v4 v = get(&x, m); v4 g = get(&from, m);
	     uint32x4_t apart = vcltzq_s32(vreinterpretq_s32_u32(vreinterpretq_u32_f32(v) ^ vreinterpretq_u32_f32(g)));
	     put(&grad, m, vreinterpretq_f32_u32(vbicq_u32(vreinterpretq_u32_f32(g), apart & vcagtq_f32(v, high))));)
}
