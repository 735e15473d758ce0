#include "neon.h"

// A kernel row of kw taps is a few vectors of lanes numbers, of 4, 2 or 1 by what fits; the last of them ends with the row and
// overlaps the one before. An overlap is computed twice and stored once.

INLINE v4 some(const float *p, const int lanes) {
	if (lanes == 4)
		return load(p);
	if (lanes == 2)
		return vcombine_f32(vld1_f32(p), vdup_n_f32(0));
	float32x2_t one = vld1_lane_f32(p, vdup_n_f32(0), 0);
	return __builtin_shufflevector(one, one, 0, -1, -1, -1); // clang would clear the other lanes with an instruction
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

// WINNERS runs its last argument for every winner in order, with its position p and its gradient factor. Two at a time share the
// loads of these; positions are loaded one round ahead, since otherwise all loads of a round wait for them.
#define WINNERS(pos, grad, n, ...)                                                       \
	if (n >= 2) {                                                                    \
		uint32_t at0 = pos[0], at1 = pos[1];                                     \
		do {                                                                     \
			n -= 2;                                                          \
			pos += n >= 2 ? 2 : 0;                                           \
			uint32_t next0 = pos[0], next1 = pos[1];                         \
			asm volatile("" : "+r"(next0), "+r"(next1));                     \
			float32x2_t both = vld1_f32(grad);                               \
			asm("" : "+w"(both));                                            \
			grad += 2;                                                       \
			FOR(j, 2) {                                                      \
				const int64_t p = j == 0 ? at0 : at1;                    \
				const float factor = both[j];                            \
				__VA_ARGS__                                              \
			}                                                                \
			at0 = next0, at1 = next1;                                        \
		} while (n >= 2);                                                        \
		pos += 2;                                                                \
	}                                                                                \
	if (n > 0) {                                                                     \
		const int64_t p = (uint32_t)*pos;                                        \
		const float factor = scalar(grad);                                       \
		__VA_ARGS__                                                              \
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
	WINNERS(pos, grad, n, FOR(k, number) sum[k] = scaled(sum[k], some(at[k] + p, lanes), factor);)
	FOR(k, number) storeFrom(dw + table[10 + k], sum[k], table[20 + k], lanes);
}

// adds adds the products of number vectors of weights to the windows of all winners: dots with the places of dw and x exchanged.
// The weights stay in registers.
INLINE void adds(float *dx, const float *w, const int32_t *table, const int32_t *pos, const float *grad, int64_t n, const int number, const int lanes) {
	v4 tap[10];
	float *at[10];
	int32x4_t index = {0, 1, 2, 3};
	FOR(k, number) {
		at[k] = (float *)own(dx + table[k]);
		tap[k] = vbslq_f32(vcgeq_s32(index, vdupq_n_s32(table[20 + k])), some(w + table[10 + k], lanes), all(0));
	}
	WINNERS(pos, grad, n, FOR(k, number) storeSome(at[k] + p, scaled(some(at[k] + p, lanes), tap[k], factor), lanes);)
}

// IF compiles something for number = k, to be run if that is the count. EVENS, SIXES and NINES choose among all numbers that occur.
#define IF(k, ...)                    \
	if (count == k) {             \
		const int number = k; \
		__VA_ARGS__;          \
	}
#define EVENS(...) IF(2, __VA_ARGS__) IF(4, __VA_ARGS__) IF(6, __VA_ARGS__) IF(8, __VA_ARGS__) IF(10, __VA_ARGS__)
#define SIXES(...) IF(1, __VA_ARGS__) IF(2, __VA_ARGS__) IF(3, __VA_ARGS__) IF(4, __VA_ARGS__) IF(5, __VA_ARGS__) IF(6, __VA_ARGS__)
#define NINES(...) SIXES(__VA_ARGS__) IF(7, __VA_ARGS__) IF(8, __VA_ARGS__) IF(9, __VA_ARGS__)

// sparseDot4NEON computes, for k < count (2, 4, 6, 8 or 10), l < 4 and j = 0 … n-1 in order, with a table of three
// times ten numbers,
//
//	dw[table[10+k]+l] += grad[j] * x[pos[j]+table[k]+l]   if l ≥ table[20+k]
//
// Vectors that overlap begin with the same sums.
KERNEL sparseDot4NEON(float *dw, const float *x, const int32_t *table, const int32_t *pos, const float *grad, int64_t n, int64_t count) {
	EVENS(dots(dw, x, table, pos, grad, n, number, 4))
}

// sparseDot2NEON is sparseDot4NEON for l < 2.
KERNEL sparseDot2NEON(float *dw, const float *x, const int32_t *table, const int32_t *pos, const float *grad, int64_t n, int64_t count) {
	EVENS(dots(dw, x, table, pos, grad, n, number, 2))
}

// sparseDot1NEON is sparseDot4NEON for l = 0.
KERNEL sparseDot1NEON(float *dw, const float *x, const int32_t *table, const int32_t *pos, const float *grad, int64_t n, int64_t count) {
	EVENS(dots(dw, x, table, pos, grad, n, number, 1))
}

// sparseAdd4NEON computes, for j = 0 … n-1 in order, k < count (2, 4, 6, 8 or 10) in order and l < 4, with a table of three
// times ten numbers,
//
//	dx[pos[j]+table[k]+l] += grad[j] * (l ≥ table[20+k] ? w[table[10+k]+l] : 0)
KERNEL sparseAdd4NEON(float *dx, const float *w, const int32_t *table, const int32_t *pos, const float *grad, int64_t n, int64_t count) {
	EVENS(adds(dx, w, table, pos, grad, n, number, 4))
}

// sparseAdd2NEON is sparseAdd4NEON for l < 2.
KERNEL sparseAdd2NEON(float *dx, const float *w, const int32_t *table, const int32_t *pos, const float *grad, int64_t n, int64_t count) {
	EVENS(adds(dx, w, table, pos, grad, n, number, 2))
}

// sparseAdd1NEON is sparseAdd4NEON for l = 0.
KERNEL sparseAdd1NEON(float *dx, const float *w, const int32_t *table, const int32_t *pos, const float *grad, int64_t n, int64_t count) {
	EVENS(adds(dx, w, table, pos, grad, n, number, 1))
}

// dotBlock adds up the products of some taps over all winners.
INLINE void dotBlock(float *dw, const float *x, const int32_t *off, const int32_t *pos, const float *grad, int64_t n, const int taps, const int vectors) {
	v4 sum[9][4];
	const float *at[9];
	FOR(t, taps) {
		at[t] = own(x + (int64_t)off[t] * 4 * vectors);
		FOR(i, vectors) sum[t][i] = load(dw + (t * vectors + i) * 4);
	}
	WINNERS(pos, grad, n, FOR(t, taps) {
		const float *from = at[t] + p * 4 * vectors;
		FOR(i, vectors) sum[t][i] = scaled(sum[t][i], load(from + 4 * i), factor);
	})
	FOR(t, taps) FOR(i, vectors) store(dw + (t * vectors + i) * 4, sum[t][i]);
}

// addBlock adds the products of some taps, which stay in registers, to the gradients that they reach, for one winner after the other.
INLINE void addBlock(float *dx, const float *w, const int32_t *off, const int32_t *pos, const float *grad, int64_t n, const int taps, const int vectors) {
	v4 tap[9][4];
	float *at[9];
	FOR(t, taps) {
		at[t] = (float *)own(dx + (int64_t)off[t] * 4 * vectors);
		FOR(i, vectors) tap[t][i] = load(w + (t * vectors + i) * 4);
	}
	WINNERS(pos, grad, n, FOR(t, taps) {
		float *to = at[t] + p * 4 * vectors;
		if (vectors == 4) {
			float32x4x4_t v = vld1q_f32_x4(to);
			FOR(i, 4) v.val[i] = scaled(v.val[i], tap[t][i], factor);
			vst1q_f32_x4(to, v);
		} else {
			float32x4x2_t v = vld1q_f32_x2(to);
			FOR(i, 2) v.val[i] = scaled(v.val[i], tap[t][i], factor);
			vst1q_f32_x2(to, v);
		}
	})
}

// sparseDotBlock16NEON computes, for t < count ≤ 6, c < 16 and j = 0 … n-1 in order,
//
//	dw[t*16+c] += grad[j] * x[(pos[j]+off[t])*16+c]
KERNEL sparseDotBlock16NEON(float *dw, const float *x, const int32_t *off, int64_t count, const int32_t *pos, const float *grad, int64_t n) {
	SIXES(dotBlock(dw, x, off, pos, grad, n, number, 4))
}

// sparseDotBlock8NEON computes, for t < count ≤ 9, c < 8 and j = 0 … n-1 in order,
//
//	dw[t*8+c] += grad[j] * x[(pos[j]+off[t])*8+c]
KERNEL sparseDotBlock8NEON(float *dw, const float *x, const int32_t *off, int64_t count, const int32_t *pos, const float *grad, int64_t n) {
	NINES(dotBlock(dw, x, off, pos, grad, n, number, 2))
}

// sparseAddBlock16NEON computes, for j = 0 … n-1 in order, t < count ≤ 6 and c < 16,
//
//	dx[(pos[j]+off[t])*16+c] += grad[j] * w[t*16+c]
KERNEL sparseAddBlock16NEON(float *dx, const float *w, const int32_t *off, int64_t count, const int32_t *pos, const float *grad, int64_t n) {
	SIXES(addBlock(dx, w, off, pos, grad, n, number, 4))
}

// sparseAddBlock8NEON computes, for j = 0 … n-1 in order, t < count ≤ 9 and c < 8,
//
//	dx[(pos[j]+off[t])*8+c] += grad[j] * w[t*8+c]
KERNEL sparseAddBlock8NEON(float *dx, const float *w, const int32_t *off, int64_t count, const int32_t *pos, const float *grad, int64_t n) {
	NINES(addBlock(dx, w, off, pos, grad, n, number, 2))
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
