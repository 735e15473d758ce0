// Forward convolutions of any shape, with or without a max-pool. The activation of a pooled one does
// not decrease, so it is applied to the maximum, whether it comes before the pool or after.
#include "common.h"

// A block has one group of OT output channels, whose weights lie in shared memory as [tap][OT], some
// taps at a time, and a thread QD·QH·QW neighbouring positions: the window of a pool, or without
// one (Pool false) positions that are written one by one.
enum { convTaps = 512, convThreads = 128 };

template <int QD, int QH, int QW, int OT, bool Pool>
DEVICE void convolve(const ConvArgs &a, float *weights) {
	constexpr int Q = QD * QH * QW;
	const int o0 = (int)blockIdx.y * OT;
	const Three z = Pool ? a.z : Three{(a.out.d + QD - 1) / QD, (a.out.h + QH - 1) / QH, (a.out.w + QW - 1) / QW};
	const long long place = (long long)blockIdx.x * convThreads + threadIdx.x; // among those of all items
	const int places = z.d * z.h * z.w, n = place / places, at = place % places;
	const bool active = n < a.n;
	const int zw = at % z.w, zh = at / z.w % z.h, zd = at / (z.w * z.h);
	const int d0 = zd * QD * a.t.d - a.p.d, h0 = zh * QH * a.t.h - a.p.h, w0 = zw * QW * a.t.w - a.p.w;
	const int taps = a.k.d * a.k.h * a.k.w, all = a.c * taps;
	const bool padded = a.p.d | a.p.h | a.p.w || !Pool;
	float acc[Q][OT];
#pragma unroll
	for (int q = 0; q < Q; q++)
#pragma unroll
		for (int i = 0; i < OT; i++) acc[q][i] = 0;
	int kw = 0, kh = 0, kd = 0;
	const float *x = a.x + (long long)n * a.c * a.s.d * a.s.h * a.s.w;
	for (int first = 0; first < all; first += convTaps) {
		const int count = min(convTaps, all - first);
		SYNC();
		for (int i = threadIdx.x; i < count * OT; i += convThreads) {
			const int tap = i % count, o = i / count;
			weights[tap * OT + o] = o0 + o < a.o ? a.w[(long long)(o0 + o) * all + first + tap] : 0;
		}
		SYNC();
		if (!active) continue;
		for (int tap = 0; tap < count; tap++) {
			const int d = d0 + kd * a.l.d, h = h0 + kh * a.l.h, w = w0 + kw * a.l.w;
			float v[Q];
#pragma unroll
			for (int qd = 0; qd < QD; qd++)
#pragma unroll
				for (int qh = 0; qh < QH; qh++)
#pragma unroll
					for (int qw = 0; qw < QW; qw++) {
						const int xd = d + qd * a.t.d, xh = h + qh * a.t.h, xw = w + qw * a.t.w;
						const bool in = !padded || (unsigned)xd < (unsigned)a.s.d && (unsigned)xh < (unsigned)a.s.h && (unsigned)xw < (unsigned)a.s.w;
						v[(qd * QH + qh) * QW + qw] = in ? x[(xd * a.s.h + xh) * a.s.w + xw] : 0;
					}
			const float *wt = weights + tap * OT;
#pragma unroll
			for (int i = 0; i < OT; i++) {
				const float f = wt[i];
#pragma unroll
				for (int q = 0; q < Q; q++) acc[q][i] += f * v[q];
			}
			if (++kw == a.k.w) {
				kw = 0;
				if (++kh == a.k.h) {
					kh = 0;
					if (++kd == a.k.d) {
						kd = 0;
						x += a.s.d * a.s.h * a.s.w;
					}
				}
			}
		}
	}
	if (!active) return;
	const long long plane = Pool ? z.d * z.h * z.w : a.out.d * a.out.h * a.out.w;
#pragma unroll
	for (int i = 0; i < OT; i++) {
		if (o0 + i >= a.o) break;
		const float bias = a.bias ? a.bias[o0 + i] : 0;
		float *y = a.y + ((long long)n * a.o + o0 + i) * plane;
		if (!Pool) {
#pragma unroll
			for (int q = 0; q < Q; q++) {
				const int d = zd * QD + q / (QH * QW), h = zh * QH + q / QW % QH, w = zw * QW + q % QW;
				if (d < a.out.d && h < a.out.h && w < a.out.w)
					y[(d * a.out.h + h) * a.out.w + w] = acc[q][i] + bias;
			}
			continue;
		}
		float best = 0;
		int arg = 0;
#pragma unroll
		for (int q = 0; q < Q; q++) {
			const float v = acc[q][i] + bias;
			if (q == 0 || larger(v, best)) best = v, arg = pack(q / (QH * QW), q / QW % QH, q % QW);
		}
		y[at] = activate(a.act, best);
		if (a.arg) a.arg[((long long)n * a.o + o0 + i) * plane + at] = arg;
	}
}

#define CONV(name, qd, qh, qw, ot, pool)                        \
	KERNEL(convThreads, name, ConvArgs) {                       \
		SHARED float weights[convTaps * ot];                    \
		convolve<qd, qh, qw, ot, pool>(a, weights);             \
	}

CONV(conv_2d, 1, 1, 4, 8, false)
CONV(conv_3d, 1, 2, 4, 8, false)
CONV(conv_pool_1x1x2, 1, 1, 2, 8, true)
CONV(conv_pool_1x2x1, 1, 2, 1, 8, true)
CONV(conv_pool_1x2x2, 1, 2, 2, 8, true)
CONV(conv_pool_2x2x2, 2, 2, 2, 8, true)
CONV(conv_pool_1x2x2_narrow, 1, 2, 2, 2, true)
CONV(conv_pool_2x2x2_narrow, 2, 2, 2, 4, true)

// conv_pool is for windows of any size: a thread has one window and 4 channels, and goes through
// the positions of the window in turn.
KERNEL(convThreads, conv_pool, ConvArgs) {
	enum { OT = 4 };
	const int groups = (a.o + OT - 1) / OT;
	const int o0 = (int)(blockIdx.y % groups) * OT, n = blockIdx.y / groups;
	const int at = blockIdx.x * convThreads + threadIdx.x, plane = a.z.d * a.z.h * a.z.w;
	if (at >= plane) return;
	const int zw = at % a.z.w, zh = at / a.z.w % a.z.h, zd = at / (a.z.w * a.z.h);
	const int taps = a.k.d * a.k.h * a.k.w, volume = a.s.d * a.s.h * a.s.w;
	const float *x = a.x + (long long)n * a.c * volume;
	float best[OT];
	int arg[OT];
	for (int qd = 0; qd < a.q.d; qd++)
		for (int qh = 0; qh < a.q.h; qh++)
			for (int qw = 0; qw < a.q.w; qw++) {
				float acc[OT] = {};
				const int d0 = (zd * a.q.d + qd) * a.t.d - a.p.d;
				const int h0 = (zh * a.q.h + qh) * a.t.h - a.p.h;
				const int w0 = (zw * a.q.w + qw) * a.t.w - a.p.w;
				for (int c = 0; c < a.c; c++)
					for (int tap = 0; tap < taps; tap++) {
						const int d = d0 + tap / (a.k.w * a.k.h) * a.l.d;
						const int h = h0 + tap / a.k.w % a.k.h * a.l.h;
						const int w = w0 + tap % a.k.w * a.l.w;
						if ((unsigned)d >= (unsigned)a.s.d || (unsigned)h >= (unsigned)a.s.h || (unsigned)w >= (unsigned)a.s.w) continue;
						const float v = x[(long long)c * volume + (d * a.s.h + h) * a.s.w + w];
#pragma unroll
						for (int i = 0; i < OT; i++)
							acc[i] += v * a.w[((long long)min(o0 + i, a.o - 1) * a.c + c) * taps + tap];
					}
#pragma unroll
				for (int i = 0; i < OT; i++) {
					const float v = acc[i] + (a.bias ? a.bias[min(o0 + i, a.o - 1)] : 0);
					if (qd + qh + qw == 0 || larger(v, best[i])) best[i] = v, arg[i] = pack(qd, qh, qw);
				}
			}
#pragma unroll
	for (int i = 0; i < OT; i++) {
		if (o0 + i >= a.o) break;
		const long long to = ((long long)n * a.o + o0 + i) * plane + at;
		a.y[to] = activate(a.act, best[i]);
		if (a.arg) a.arg[to] = arg[i];
	}
}
