#include "neon.h"

// A kernel row of kw taps is a few vectors of lanes numbers, of 4, 2 or 1 by what fits; the last of them ends with the row and
// overlaps the one before. An overlap is computed twice and stored once.

INLINE v4 some(const float *p, const int lanes) {
	if (lanes == 4)
		return load(p);
	if (lanes == 2)
		return vcombine_f32(vld1_f32(p), vdup_n_f32(0));
	return vld1q_lane_f32(p, all(0), 0);
}

INLINE void storeSome(float *p, v4 v, const int lanes) {
	if (lanes == 4)
		store(p, v);
	else if (lanes == 2)
		vst1_f32(p, vget_low_f32(v));
	else
		vst1q_lane_f32(p, v, 0);
}

// storeFrom stores the lanes from skip on; the others keep what is there.
INLINE void storeFrom(float *p, v4 v, int64_t skip, const int lanes) {
	int32x4_t index = {0, 1, 2, 3};
	storeSome(p, vbslq_f32(vcgeq_s32(index, vdupq_n_s32(skip)), v, some(p, lanes)), lanes);
}

// dots adds up the products of number vectors over all winners. Vector k lies at table[k] in the window of a winner and at table[10+k]
// in dw, where its first table[20+k] lanes stay as they are.
INLINE void dots(float *dw, const float *x, const int32_t *table, const int32_t *pos, const float *grad, int64_t n, const int number, const int lanes) {
	v4 sum[10];
	const float *at[10];
	FOR(k, number) {
		at[k] = own(x + table[k]);
		sum[k] = some(dw + table[10 + k], lanes);
	}
	for (int64_t j = 0; j < n; j++) {
		int64_t p = pos[j];
		float factor = scalar(grad + j);
		FOR(k, number) sum[k] = scaled(sum[k], some(at[k] + p, lanes), factor);
	}
	FOR(k, number) storeFrom(dw + table[10 + k], sum[k], table[20 + k], lanes);
}

INLINE void dotGroup(float *dw, const float *x, const int32_t *table, const int32_t *pos, const float *grad, int64_t n, int64_t number, const int lanes) {
	if (number == 10)
		dots(dw, x, table, pos, grad, n, 10, lanes);
	else if (number == 8)
		dots(dw, x, table, pos, grad, n, 8, lanes);
	else if (number == 6)
		dots(dw, x, table, pos, grad, n, 6, lanes);
	else if (number == 4)
		dots(dw, x, table, pos, grad, n, 4, lanes);
	else
		dots(dw, x, table, pos, grad, n, 2, lanes);
}

// sparseDot4NEON computes, for k < number (2, 4, 6, 8 or 10), l < 4 and j = 0 … n-1 in order, with a table of three
// times ten numbers,
//
//	dw[table[10+k]+l] += grad[j] * x[pos[j]+table[k]+l]   if l ≥ table[20+k]
//
// Vectors that overlap begin with the same sums.
KERNEL sparseDot4NEON(float *dw, const float *x, const int32_t *table, const int32_t *pos, const float *grad, int64_t n, int64_t number) {
	dotGroup(dw, x, table, pos, grad, n, number, 4);
}

// sparseDot2NEON is sparseDot4NEON for l < 2.
KERNEL sparseDot2NEON(float *dw, const float *x, const int32_t *table, const int32_t *pos, const float *grad, int64_t n, int64_t number) {
	dotGroup(dw, x, table, pos, grad, n, number, 2);
}

// sparseDot1NEON is sparseDot4NEON for l = 0.
KERNEL sparseDot1NEON(float *dw, const float *x, const int32_t *table, const int32_t *pos, const float *grad, int64_t n, int64_t number) {
	dotGroup(dw, x, table, pos, grad, n, number, 1);
}

// addRows adds one winner's contributions to all kernel rows.
INLINE void addRows(float *dx, const float *w, const int32_t *rows, int64_t nr, int64_t kw, float factor, const int lanes) {
	for (; nr > 0; nr--, rows++, w += kw) {
		float *to = dx + *rows;
		int64_t l = 0;
		for (; l + lanes <= kw; l += lanes)
			storeSome(to + l, scaled(some(to + l, lanes), some(w + l, lanes), factor), lanes);
		if (l < kw) {
			int64_t last = kw - lanes;
			storeFrom(to + last, scaled(some(to + last, lanes), some(w + last, lanes), factor), l - last, lanes);
		}
	}
}

// sparseAdd4NEON computes, for j = 0 … n-1 in order, r < nr and l < kw, with kw ≥ 4,
//
//	dx[pos[j]+rows[r]+l] += grad[j] * w[r*kw+l]
KERNEL sparseAdd4NEON(float *dx, const float *w, const int32_t *rows, int64_t nr, int64_t kw, const int32_t *pos, const float *grad, int64_t n) {
	for (int64_t j = 0; j < n; j++)
		addRows(dx + pos[j], w, rows, nr, kw, scalar(grad + j), 4);
}

// sparseAdd2NEON is sparseAdd4NEON for kw ≥ 2.
KERNEL sparseAdd2NEON(float *dx, const float *w, const int32_t *rows, int64_t nr, int64_t kw, const int32_t *pos, const float *grad, int64_t n) {
	for (int64_t j = 0; j < n; j++)
		addRows(dx + pos[j], w, rows, nr, kw, scalar(grad + j), 2);
}

// sparseAdd1NEON is sparseAdd4NEON for kw ≥ 1.
KERNEL sparseAdd1NEON(float *dx, const float *w, const int32_t *rows, int64_t nr, int64_t kw, const int32_t *pos, const float *grad, int64_t n) {
	for (int64_t j = 0; j < n; j++)
		addRows(dx + pos[j], w, rows, nr, kw, scalar(grad + j), 1);
}

// dotBlock adds up the products of some taps over all winners.
INLINE void dotBlock(float *dw, const float *x, const int32_t *off, const int32_t *pos, const float *grad, int64_t n, const int taps, const int vectors) {
	v4 sum[12][4];
	const float *at[12];
	FOR(t, taps) {
		at[t] = own(x + (int64_t)off[t] * 4 * vectors);
		FOR(i, vectors) sum[t][i] = load(dw + (t * vectors + i) * 4);
	}
	for (int64_t j = 0; j < n; j++) {
		int64_t p = (int64_t)pos[j] * 4 * vectors;
		float factor = scalar(grad + j);
		FOR(t, taps) {
			const float *from = at[t] + p;
			FOR(i, vectors) sum[t][i] = scaled(sum[t][i], load(from + 4 * i), factor);
		}
	}
	FOR(t, taps) FOR(i, vectors) store(dw + (t * vectors + i) * 4, sum[t][i]);
}

#define GROUP(number, vectors)                                                                                                  \
	for (; taps >= number; taps -= number, off += number, dw += number * vectors * 4)                                       \
		dotBlock(dw, x, off, pos, grad, n, number, vectors);

// sparseDotBlock16NEON computes, for t < taps, c < 16 and j = 0 … n-1 in order,
//
//	dw[t*16+c] += grad[j] * x[(pos[j]+off[t])*16+c]
KERNEL sparseDotBlock16NEON(float *dw, const float *x, const int32_t *off, int64_t taps, const int32_t *pos, const float *grad, int64_t n) {
	GROUP(5, 4)
	GROUP(3, 4)
	GROUP(1, 4)
}

// sparseDotBlock8NEON computes, for t < taps, c < 8 and j = 0 … n-1 in order,
//
//	dw[t*8+c] += grad[j] * x[(pos[j]+off[t])*8+c]
KERNEL sparseDotBlock8NEON(float *dw, const float *x, const int32_t *off, int64_t taps, const int32_t *pos, const float *grad, int64_t n) {
	GROUP(9, 2)
	GROUP(5, 2)
	GROUP(3, 2)
	GROUP(1, 2)
}

// addBlock adds one winner after the other to the gradients that its taps reach.
INLINE void addBlock(float *dx, const float *w, const int32_t *off, int64_t taps, const int32_t *pos, const float *grad, int64_t n, const int vectors) {
	for (int64_t j = 0; j < n; j++) {
		float *to = dx + (int64_t)pos[j] * 4 * vectors, factor = scalar(grad + j);
		const float *tap = w;
		for (int64_t t = 0; t < taps; t++, tap += 4 * vectors) {
			float *at = to + (int64_t)off[t] * 4 * vectors;
			v4 v[4];
			FOR(i, vectors) v[i] = scaled(load(at + 4 * i), load(tap + 4 * i), factor);
			FOR(i, vectors) store(at + 4 * i, v[i]);
		}
	}
}

// sparseAddBlock16NEON computes, for j = 0 … n-1 in order, t < taps and c < 16,
//
//	dx[(pos[j]+off[t])*16+c] += grad[j] * w[t*16+c]
KERNEL sparseAddBlock16NEON(float *dx, const float *w, const int32_t *off, int64_t taps, const int32_t *pos, const float *grad, int64_t n) {
	addBlock(dx, w, off, taps, pos, grad, n, 4);
}

// sparseAddBlock8NEON computes, for j = 0 … n-1 in order, t < taps and c < 8,
//
//	dx[(pos[j]+off[t])*8+c] += grad[j] * w[t*8+c]
KERNEL sparseAddBlock8NEON(float *dx, const float *w, const int32_t *off, int64_t taps, const int32_t *pos, const float *grad, int64_t n) {
	addBlock(dx, w, off, taps, pos, grad, n, 2);
}

// winnersNEON computes winners with size = {n, nz, ph, lo, width, stride}, and sets size[0] to the number found. It writes up
// to 4 elements beyond. Row k of compress has the bytes of the lanes that are ones in k.
KERNEL winnersNEON(int32_t *pos, float *sel, const float *grad, const int32_t *arg, const int32_t *rowPos, int64_t *size, const uint64_t *compress) {
	int64_t n = size[0], nz = size[1], ph = size[2], found = 0;
	int32x4_t lo = vdupq_n_s32(size[3]), width = vdupq_n_s32(size[4]), stride = vdupq_n_s32(size[5]);
	uint32x4_t bit = {1, 2, 4, 8};
	for (; nz > 0; nz--, grad += n, arg += n)
		for (int64_t h = 0; h < ph; h++, lo += width) {
			int32x4_t base = vdupq_n_s32(*rowPos++);
			const float *from = grad, *where = (const float *)arg;
			int64_t left = n;
			EACH(left, v4 v = get(&from, m); int32x4_t l = vreinterpretq_s32_f32(get(&where, m)) - lo;
			     uint32x4_t in = vcltq_u32(vreinterpretq_u32_s32(l), vreinterpretq_u32_s32(width));
			     in = vbicq_u32(in, vceqzq_f32(v)); // elements behind the end are zeros
			     uint64_t k = vaddvq_u32(in & bit); uint8x16_t order = vld1q_u8((const uint8_t *)(compress + 2 * k));
			     l = vmlaq_s32(base, l, stride);
			     vst1q_s32(pos + found, vreinterpretq_s32_u8(vqtbl1q_u8(vreinterpretq_u8_s32(l), order)));
			     store(sel + found, vreinterpretq_f32_u8(vqtbl1q_u8(vreinterpretq_u8_f32(v), order)));
			     found += (uint32_t)vaddvq_u32(vshrq_n_u32(in, 31));)
		}
	size[0] = found;
}
