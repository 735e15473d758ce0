#include "neon64.h"

// rootGammasNEON computes dst[j*n+k] = exp(lines[2*j+1] + lines[2*j]*ln(s[k]) - s[k]*s[k]) for j < m and k < n, a multiple of 8.
KERNEL rootGammasNEON(double *dst, const double *s, const double *lines, int64_t m, int64_t n) {
	for (int64_t k = 0; k < n; k += 2) {
		v2 x = vld1q_f64(s + k), l = logarithm(x), square = x * x;
		for (int64_t j = 0; j < m; j++)
			vst1q_f64(dst + j * n + k, exponential(madd2(two(lines[2 * j + 1]) - square, two(lines[2 * j]), l)));
	}
}

// gridGammasNEON computes gridGammasGeneric for m > 0 variables at n points, a multiple of 8.
KERNEL gridGammasNEON(double *cdf, double *pdf, const double *slope, const double *offset, const double *table, const int64_t *variables, int64_t m, int64_t n) {
	for (; m > 0; m--, variables += 5, cdf += n, pdf += n) {
		const double *row = table + variables[0], *numbers = (const double *)(variables + 2);
		v2 x = two(numbers[0]), a = two(numbers[1]), log = two(numbers[2]);
		for (int64_t k = 0, left = variables[1]; k < n; k += 8, left -= 8)
			for (int64_t lane = k; lane < k + 8; lane += 2) {
				vst1q_f64(pdf + lane, exponential(madd2(vld1q_f64(offset + lane) - log, a, vld1q_f64(slope + lane))));
				v2 sum = two(1);
				if (left > 0) {
					sum = vld1q_f64(row + 9 * 48 + lane);
					FOR(d, 9) sum = madd2(vld1q_f64(row + (8 - d) * 48 + lane), sum, x);
				}
				vst1q_f64(cdf + lane, sum);
			}
	}
}

// panelBelowNEON computes cdf[j*n+k] = max(0, top[j] - half*sum of pdf[j*n+i]*integrals[i*n+k] over i < l) for j < m and k < n, a
// multiple of 8.
KERNEL panelBelowNEON(double *cdf, const double *pdf, const double *top, const double *integrals, int64_t m, int64_t l, int64_t n, double half) {
	for (int64_t j = 0; j < m; j++, cdf += n, pdf += n)
		for (int64_t k = 0; k < n; k += 8) {
			v2 sum[4];
			FOR(c, 4) sum[c] = two(0);
			const double *row = integrals + k;
			for (int64_t i = 0; i < l; i++, row += n)
				FOR(c, 4) sum[c] = madd2(sum[c], vld1q_f64(row + 2 * c), two(pdf[i]));
			FOR(c, 4) vst1q_f64(cdf + k + 2 * c, vmaxq_f64(msub2(two(top[j]), two(half), sum[c]), two(0)));
		}
}

// leaveOneOutNEON adds right[k]*pdf[j*n+k] times the product of cdf[i*n+k] over i != j to lane k mod 2 of sums[8*j], for j < m and
// k < n, a multiple of 8; left is memory for 8*m numbers.
KERNEL leaveOneOutNEON(double *sums, const double *pdf, const double *cdf, const double *right, double *left, int64_t m, int64_t n) {
	for (int64_t k = n; k > 0; k -= 2, cdf += 2, pdf += 2, right += 2) {
		v2 before = two(1), behind = vld1q_f64(right);
		int64_t j = 0, at = 0;
		do {
			vst1q_f64(left + j, before);
			before *= vld1q_f64(cdf + at);
			j += 8;
			at += n;
		} while (j < 8 * m);
		do {
			j -= 8;
			at -= n;
			vst1q_f64(sums + j, madd2(vld1q_f64(sums + j), behind * vld1q_f64(left + j), vld1q_f64(pdf + at)));
			behind *= vld1q_f64(cdf + at);
		} while (j > 0);
	}
}
