#include "neon64.h"

// dotsNEON computes dst[r] for r < d as Dots64 does.
KERNEL dotsNEON(double *dst, const double *w, const double *x, int64_t d, int64_t n) {
	for (; d > 0; d--) {
		const double *v = x;
		v2 low = two(0), high = two(0);
		int64_t k = n;
		for (; k >= 4; k -= 4, w += 4, v += 4) {
			low += vld1q_f64(w) * vld1q_f64(v);
			high += vld1q_f64(w + 2) * vld1q_f64(v + 2);
		}
		double first = vgetq_lane_f64(low, 0);
		for (; k > 0; k--)
			first += *w++ * *v++;
		*dst++ = (first + vgetq_lane_f64(low, 1)) + (vgetq_lane_f64(high, 0) + vgetq_lane_f64(high, 1));
	}
}

// addGroup adds a few rows in one pass over y.
INLINE void addGroup(double *y, const double *a, const double *x, int64_t ld, int64_t n, const int rows) {
	for (; n >= 4; n -= 4, y += 4, x += 4) {
		v2 low = vld1q_f64(y), high = vld1q_f64(y + 2);
		FOR(r, rows) {
			low += two(a[r]) * vld1q_f64(x + r * ld);
			high += two(a[r]) * vld1q_f64(x + r * ld + 2);
		}
		vst1q_f64(y, low);
		vst1q_f64(y + 2, high);
	}
	for (; n > 0; n--, y++, x++)
		FOR(r, rows) *y += a[r] * x[r * ld];
}

// addRowsNEON computes y[k] += a[r] * x[r*ld+k] for r = 0 … rows-1 in order and k < n, product and sum rounded each.
KERNEL addRowsNEON(double *y, const double *a, const double *x, int64_t ld, int64_t rows, int64_t n) {
	for (; rows >= 4; rows -= 4, a += 4, x += 4 * ld)
		addGroup(y, a, x, ld, n, 4);
	for (; rows > 0; rows--, a++, x += ld)
		addGroup(y, a, x, ld, n, 1);
}
