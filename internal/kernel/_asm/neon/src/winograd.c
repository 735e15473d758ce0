#include "neon.h"

// evaluate computes tiles at the points, four in each of the vectors. The matrix stays in registers where it fits.
INLINE void evaluate(float *v, const float *x, int64_t n, int64_t ld, const int32_t *starts, int64_t nz, const float *in, const int t, const int vectors) {
	v4 column[8][2];
	if (t <= 8)
		FOR(i, t) FOR(j, 2) column[i][j] = load(in + 16 * i + 4 * j);
	for (; n > 0; n--, x += ld)
		for (int64_t z = 0; z < nz; z++, v += t) {
			const float *from = x + starts[z];
			v4 sum[3];
			FOR(i, t) {
				float value = scalar(from + i);
				FOR(j, vectors) {
					v4 c = t <= 8 ? column[i][j] : load(in + 16 * i + 4 * j);
					sum[j] = i == 0 ? vmulq_n_f32(c, value) : scaled(sum[j], c, value);
				}
			}
			FOR(j, vectors) store(v + 4 * j, sum[j]);
		}
}

// winogradInput6NEON computes, for r < n, z < nz and j < 6,
//
//	v[(r*nz+z)*6+j] = Σ_{i<6} in[i*16+j] * x[r*ld+starts[z]+i]
//
// and writes 2 elements more.
KERNEL winogradInput6NEON(float *v, const float *x, int64_t n, int64_t ld, const int32_t *starts, int64_t nz, const float *in) {
	evaluate(v, x, n, ld, starts, nz, in, 6, 2);
}

// winogradInput8NEON is winogradInput6NEON for 8 points, and writes nothing more.
KERNEL winogradInput8NEON(float *v, const float *x, int64_t n, int64_t ld, const int32_t *starts, int64_t nz, const float *in) {
	evaluate(v, x, n, ld, starts, nz, in, 8, 2);
}

// winogradInput9NEON is winogradInput6NEON for 9 points, and writes 3 elements more.
KERNEL winogradInput9NEON(float *v, const float *x, int64_t n, int64_t ld, const int32_t *starts, int64_t nz, const float *in) {
	evaluate(v, x, n, ld, starts, nz, in, 9, 3);
}

// interpolate computes the outputs of tiles, four channels at a time. The sums and differences of the products at opposite points
// stay in registers for all of its outputs.
INLINE void interpolate(float *out, const float *bias, const float *prod, int64_t ld, const int32_t *o, int64_t n, const float *powers, int64_t m, const int t,
                        const int cb) {
	const int half = (t - 1) / 2, zero = (t + 1) % 2;
	for (; n > 0; n--, o++, prod += cb)
		for (int c = 0; c < cb; c += 4) {
			float *to = out + (int64_t)*o * cb + c;
			const float *from = prod + c, *power = powers + half;
			v4 start = load(bias + c), sum[4], diff[4], y = start;
			if (zero) {
				y += load(from);
				from = own(from + ld * cb);
			}
			FOR(q, half) {
				v4 plus = load(from), minus = load(own(from + ld * cb));
				from = own(from + 2 * ld * cb);
				sum[q] = plus + minus;
				diff[q] = plus - minus;
				y += sum[q];
			}
			for (int64_t p = 1;; p += 2) {
				store(to, y);
				to += cb;
				y = start;
				FOR(q, half) y = scaled(y, diff[q], scalar(power + q));
				power += half;
				if (p + 1 == m)
					break;
				store(to, y);
				to += cb;
				y = start;
				FOR(q, half) y = scaled(y, sum[q], scalar(power + q));
				power += half;
				if (p + 2 == m)
					break;
			}
			store(to, y + load(from));
		}
}

// winogradOutput6x8NEON computes, for i < n, p < m (m ≥ 2) and c < 8,
//
//	out[(o[i]+p)*8+c] = bias[c] + Σ_{q<2} powers[p*2+q] * (P(1+2*q) ± P(2+2*q))
//
// with + for even p, − for odd, P(j) = prod[(j*ld+i)*8+c]; for p = m-1 plus P(5), for p = 0 plus P(0).
KERNEL winogradOutput6x8NEON(float *out, const float *bias, const float *prod, int64_t ld, const int32_t *o, int64_t n, const float *powers, int64_t m) {
	interpolate(out, bias, prod, ld, o, n, powers, m, 6, 8);
}

// winogradOutput6x16NEON is winogradOutput6x8NEON for 16 channels.
KERNEL winogradOutput6x16NEON(float *out, const float *bias, const float *prod, int64_t ld, const int32_t *o, int64_t n, const float *powers, int64_t m) {
	interpolate(out, bias, prod, ld, o, n, powers, m, 6, 16);
}

// winogradOutput8x8NEON is winogradOutput6x8NEON for 8 points.
KERNEL winogradOutput8x8NEON(float *out, const float *bias, const float *prod, int64_t ld, const int32_t *o, int64_t n, const float *powers, int64_t m) {
	interpolate(out, bias, prod, ld, o, n, powers, m, 8, 8);
}

// winogradOutput8x16NEON is winogradOutput6x8NEON for 8 points and 16 channels.
KERNEL winogradOutput8x16NEON(float *out, const float *bias, const float *prod, int64_t ld, const int32_t *o, int64_t n, const float *powers, int64_t m) {
	interpolate(out, bias, prod, ld, o, n, powers, m, 8, 16);
}

// winogradOutput9x8NEON is winogradOutput6x8NEON for 9 points, of which none is zero.
KERNEL winogradOutput9x8NEON(float *out, const float *bias, const float *prod, int64_t ld, const int32_t *o, int64_t n, const float *powers, int64_t m) {
	interpolate(out, bias, prod, ld, o, n, powers, m, 9, 8);
}

// winogradOutput9x16NEON is winogradOutput6x8NEON for 9 points, of which none is zero, and 16 channels.
KERNEL winogradOutput9x16NEON(float *out, const float *bias, const float *prod, int64_t ld, const int32_t *o, int64_t n, const float *powers, int64_t m) {
	interpolate(out, bias, prod, ld, o, n, powers, m, 9, 16);
}
