// Forward convolutions of any shape, for those that gather.cu is not for. The activation of a pooled one
// does not decrease, so it is applied to the maximum, whether it comes before the pool or after.
#include "common.h"

enum { convThreads = 128 };

// A thread has one window, which may be a single position, and 4 channels, and goes through the
// positions of the window in turn.
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
