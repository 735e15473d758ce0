#include "neon.h"

// panel computes rows of a panel of 16 columns: four vectors of sums each.
INLINE void panel(float *c, int64_t ldc, const float *a, int64_t rs, int64_t ks, const float *b, const float *bias, int64_t k, const int rows) {
	v4 sum[6][4];
	const float *at[6];
	const float *from = bias ? bias : c;
	int64_t next = bias ? 0 : ldc;
	FOR(r, rows) {
		at[r] = own(a);
		a = at[r] + rs;
		FOR(i, 4) sum[r][i] = load(from + 4 * i);
		from = own(from + next);
	}
	for (int64_t p = 0; k > 0; k--, p += ks, b += 16) {
		v4 col[4];
		FOR(i, 4) col[i] = load(b + 4 * i);
		FOR(r, rows) {
			float v = scalar(at[r] + p);
			FOR(i, 4) sum[r][i] = scaled(sum[r][i], col[i], v);
		}
	}
	FOR(r, rows) {
		FOR(i, 4) store(c + 4 * i, sum[r][i]);
		c = (float *)own(c + ldc);
	}
}

// gemmNEON computes, for i < m and j < 16,
//
//	c[i*ldc+j] = (bias ? bias[j] : c[i*ldc+j]) + Σ_{p<k} a[i*rs+p*ks] * b[p*16+j]
//
// with size = {m, k}.
KERNEL gemmNEON(float *c, int64_t ldc, const float *a, int64_t rs, int64_t ks, const float *b, const float *bias, const int64_t *size) {
	int64_t m = size[0], k = size[1];
	for (; m >= 6; m -= 6, c += 6 * ldc, a += 6 * rs)
		panel(c, ldc, a, rs, ks, b, bias, k, 6);
	if (m == 5)
		panel(c, ldc, a, rs, ks, b, bias, k, 5);
	else if (m == 4)
		panel(c, ldc, a, rs, ks, b, bias, k, 4);
	else if (m == 3)
		panel(c, ldc, a, rs, ks, b, bias, k, 3);
	else if (m == 2)
		panel(c, ldc, a, rs, ks, b, bias, k, 2);
	else if (m == 1)
		panel(c, ldc, a, rs, ks, b, bias, k, 1);
}

// packRowsNEON computes dst[p*16+j] = j < n ? b[p*ldb+j] : 0 for p < k and j < 16, n from 1 to 16.
KERNEL packRowsNEON(float *dst, const float *b, int64_t ldb, int64_t k, int64_t n) {
	for (; k > 0; k--, b += ldb) {
		const float *from = b;
		int64_t left = n;
		if (n == 16) {
			FOR(i, 4) store(dst + 4 * i, load(b + 4 * i));
			dst += 16;
			continue;
		}
		for (int i = 0; i < 4; i++, dst += 4) {
			int64_t m = left < 4 ? left : 4;
			store(dst, m > 0 ? get(&from, m) : all(0));
			left -= m;
		}
	}
}

// transpose turns four rows of four into columns.
INLINE void transpose(v4 r[4]) {
	v4 a = vtrn1q_f32(r[0], r[1]), b = vtrn2q_f32(r[0], r[1]), c = vtrn1q_f32(r[2], r[3]), d = vtrn2q_f32(r[2], r[3]);
	float64x2_t w = vreinterpretq_f64_f32(a), x = vreinterpretq_f64_f32(b), y = vreinterpretq_f64_f32(c), z = vreinterpretq_f64_f32(d);
	r[0] = vreinterpretq_f32_f64(vtrn1q_f64(w, y));
	r[1] = vreinterpretq_f32_f64(vtrn1q_f64(x, z));
	r[2] = vreinterpretq_f32_f64(vtrn2q_f64(w, y));
	r[3] = vreinterpretq_f32_f64(vtrn2q_f64(x, z));
}

// transposeNEON computes dst[p*ldd+c] = src[c*lds+p] for p < n and c < lanes.
KERNEL transposeNEON(float *dst, int64_t ldd, const float *src, int64_t lds, int64_t n, int64_t lanes) {
	for (; lanes >= 4; lanes -= 4, dst += 4, src += 4 * lds) {
		const float *from = src;
		float *to = dst;
		int64_t p = n;
		for (; p >= 4; p -= 4, from += 4, to += 4 * ldd) {
			v4 r[4];
			FOR(i, 4) r[i] = load(from + i * lds);
			transpose(r);
			FOR(i, 4) store(to + i * ldd, r[i]);
		}
		for (; p > 0; p--, from++, to += ldd)
			FOR(i, 4) to[i] = from[i * lds];
	}
	for (; lanes > 0; lanes--, dst++, src += lds) {
		const float *from = src;
		float *to = dst;
		for (int64_t p = n; p > 0; p--, to += ldd)
			*to = *from++;
	}
}
