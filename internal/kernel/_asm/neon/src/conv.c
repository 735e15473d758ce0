#include "neon.h"

// indexed computes outputs of one block of channels, tile positions at a time with 4·vectors channels each.
INLINE void indexed(float *out, const float *bias, const float *x, const int32_t *a, int64_t na, const int32_t *b, int64_t nb, const float *v, const int tile,
                    const int vectors) {
	for (; na > 0; na -= tile, a += tile) {
		v4 sum[10][4];
		const float *at[10];
		FOR(r, tile) {
			at[r] = own(x + a[r]);
			FOR(i, vectors) sum[r][i] = load((bias ? bias : out + r * 4 * vectors) + 4 * i);
		}
		const float *w = v;
		for (int64_t t = 0; t < nb; t++, w += 4 * vectors) {
			int64_t off = b[t];
			v4 tap[4];
			FOR(i, vectors) tap[i] = load(w + 4 * i);
			FOR(r, tile) {
				float xv = scalar(at[r] + off);
				FOR(i, vectors) sum[r][i] = scaled(sum[r][i], tap[i], xv);
			}
		}
		FOR(r, tile) FOR(i, vectors) store(out + (r * vectors + i) * 4, sum[r][i]);
		out += tile * vectors * 4;
	}
}

// indexed16NEON computes, for r < na (a multiple of 6) and c < 16,
//
//	out[r*16+c] = (bias ? bias[c] : out[r*16+c]) + Σ_{t<nb} v[t*16+c] * x[a[r]+b[t]]
KERNEL indexed16NEON(float *out, const float *bias, const float *x, const int32_t *a, int64_t na, const int32_t *b, int64_t nb, const float *v) {
	indexed(out, bias, x, a, na, b, nb, v, 6, 4);
}

// indexed8NEON computes, for r < na (a multiple of 10) and c < 8,
//
//	out[r*8+c] = (bias ? bias[c] : out[r*8+c]) + Σ_{t<nb} v[t*8+c] * x[a[r]+b[t]]
KERNEL indexed8NEON(float *out, const float *bias, const float *x, const int32_t *a, int64_t na, const int32_t *b, int64_t nb, const float *v) {
	indexed(out, bias, x, a, na, b, nb, v, 10, 2);
}

// rows computes runs of eight positions, tile of them at a time for all channels.
INLINE void rows(float *out, const float *x, const int32_t *a, int64_t na, const int32_t *b, int64_t nb, const float *w, const int channels, const int tile) {
	int64_t plane = na * 8;
	for (; na > 0; na -= tile, a += tile, out += 8 * tile) {
		v4 sum[6][10][2];
		const float *at[10], *to = out;
		FOR(r, tile) at[r] = own(x + a[r]);
		FOR(c, channels) {
			FOR(r, tile) FOR(i, 2) sum[c][r][i] = load(to + 8 * r + 4 * i);
			to = own(to + plane);
		}
		const float *v = w;
		for (int64_t t = 0; t < nb; t++, v += channels) {
			int64_t off = b[t];
			float tap[6];
			FOR(c, channels) tap[c] = scalar(v + c);
			FOR(r, tile) {
				const float *from = at[r] + off;
				FOR(i, 2) {
					v4 xv = load(from + 4 * i);
					FOR(c, channels) sum[c][r][i] = scaled(sum[c][r][i], xv, tap[c]);
				}
			}
		}
		float *put = out;
		FOR(c, channels) {
			FOR(r, tile) FOR(i, 2) store(put + 8 * r + 4 * i, sum[c][r][i]);
			put = (float *)own(put + plane);
		}
	}
}

// indexedRows1NEON computes, for r < na (a multiple of 10) and l < 8,
//
//	out[r*8+l] += Σ_{t<nb} w[t] * x[a[r]+l+b[t]]
//
// where taps come in rows of kw neighbours: b[t+1] = b[t] + 1 unless t+1 is a multiple of kw. With one channel a vector serves one
// multiply-add, and processors multiply more vectors than they load. Of two neighbours, the first half of the run for the second
// is therefore shifted together from the vectors of the first. Six of ten runs do so: a shift takes the place of a multiply-add.
KERNEL indexedRows1NEON(float *out, const float *x, const int32_t *a, int64_t na, const int32_t *b, int64_t nb, const float *w, int64_t kw) {
	for (; na > 0; na -= 10, a += 10, out += 80) {
		v4 sum[10][2];
		const float *at[10], *v = w;
		FOR(r, 10) {
			at[r] = own(x + a[r]);
			FOR(i, 2) sum[r][i] = load(out + 8 * r + 4 * i);
		}
		for (int64_t t = 0; t < nb; t += kw) {
			int64_t off = b[t], k = kw;
			for (; k >= 2; k -= 2, off += 2, v += 2) {
				asm("" : "+r"(off)); // clang would keep two pointers for each run
				float32x2_t taps = vld1_f32(v);
				asm("" : "+w"(taps));
				FOR(r, 10) {
					const float *from = at[r] + off;
					v4 low = load(from), high = load(from + 4), next = r < 6 ? vextq_f32(low, high, 1) : load(from + 1);
					sum[r][0] = scaled(scaled(sum[r][0], low, taps[0]), next, taps[1]);
					sum[r][1] = scaled(scaled(sum[r][1], high, taps[0]), load(from + 5), taps[1]);
				}
			}
			if (k > 0) {
				float tap = scalar(v++);
				FOR(r, 10) FOR(i, 2) sum[r][i] = scaled(sum[r][i], load(at[r] + off + 4 * i), tap);
			}
		}
		FOR(r, 10) FOR(i, 2) store(out + 8 * r + 4 * i, sum[r][i]);
	}
}

// indexedRows2NEON computes, for r < na (a multiple of 6), l < 8 and c < 2,
//
//	out[(c*na+r)*8+l] += Σ_{t<nb} w[t*2+c] * x[a[r]+l+b[t]]
KERNEL indexedRows2NEON(float *out, const float *x, const int32_t *a, int64_t na, const int32_t *b, int64_t nb, const float *w) {
	rows(out, x, a, na, b, nb, w, 2, 6);
}

// indexedRows3NEON is indexedRows2NEON for 3 channels, na a multiple of 4.
KERNEL indexedRows3NEON(float *out, const float *x, const int32_t *a, int64_t na, const int32_t *b, int64_t nb, const float *w) {
	rows(out, x, a, na, b, nb, w, 3, 4);
}

// indexedRows4NEON is indexedRows2NEON for 4 channels, na a multiple of 3.
KERNEL indexedRows4NEON(float *out, const float *x, const int32_t *a, int64_t na, const int32_t *b, int64_t nb, const float *w) {
	rows(out, x, a, na, b, nb, w, 4, 3);
}

// indexedRows5NEON is indexedRows2NEON for 5 channels, na a multiple of 2.
KERNEL indexedRows5NEON(float *out, const float *x, const int32_t *a, int64_t na, const int32_t *b, int64_t nb, const float *w) {
	rows(out, x, a, na, b, nb, w, 5, 2);
}

// indexedRows6NEON is indexedRows2NEON for 6 channels, na a multiple of 2.
KERNEL indexedRows6NEON(float *out, const float *x, const int32_t *a, int64_t na, const int32_t *b, int64_t nb, const float *w) {
	rows(out, x, a, na, b, nb, w, 6, 2);
}

// blockSumNEON computes sum[c] += v[p*4*vectors+c] for p = 0 … n-1 in order, c < 4*vectors.
KERNEL blockSumNEON(float *sum, const float *v, int64_t n, int64_t vectors) {
	for (int64_t i = 0; i < vectors; i++, sum += 4, v += 4) {
		v4 s = load(sum);
		for (int64_t p = 0; p < n; p++)
			s += load(v + 4 * vectors * p);
		store(sum, s);
	}
}

// foldMaxNEON computes foldMax for blocks of 4*vectors channels, start set for the first row of windows.
KERNEL foldMaxNEON(float *best, int32_t *arg, const float *row, int64_t nz, int64_t pw, int64_t pos, int64_t start, int64_t vectors) {
	for (; nz > 0; nz--, pos += pw, row += pw * 4 * vectors)
		for (int64_t i = 0; i < vectors; i++, best += 4, arg += 4) {
			v4 top = start ? all(-__builtin_inff()) : load(best);
			int32x4_t at = start ? vdupq_n_s32(pos) : vld1q_s32(arg);
			const float *from = row + 4 * i;
			for (int64_t p = 0; p < pw; p++, from += 4 * vectors) {
				v4 v = load(from);
				uint32x4_t more = vornq_u32(vcgtq_f32(v, top), vceqq_f32(v, v));
				top = vbslq_f32(more, v, top);
				at = vbslq_s32(more, vdupq_n_s32(pos + p), at);
			}
			store(best, top);
			vst1q_s32(arg, at);
		}
}
