// Gradients of convolutions of any shape, for those that gather.cu is not for: only the positions that
// won their window count, which may be a single position.
#include "common.h"

// conv_pool_dw sums the gradient of the weights over a chunk of all windows. A thread has one tap of 16
// output channels; the gradients of 32 windows at a time lie in shared memory. The last tap, beyond
// all, is the bias.
enum { gradThreads = 128, gradOut = 16, gradBatch = 32 };

KERNEL(gradThreads, conv_pool_dw, ConvArgs) {
	SHARED float grads[gradBatch * gradOut];
	SHARED int places[gradBatch * gradOut];
	const int taps = a.k.d * a.k.h * a.k.w, all = a.c * taps;
	const int o0 = blockIdx.z * gradOut, t = blockIdx.y * gradThreads + threadIdx.x;
	const int c = t / taps, tap = t % taps;
	const int kd = tap / (a.k.w * a.k.h) * a.l.d - a.p.d, kh = tap / a.k.w % a.k.h * a.l.h - a.p.h, kw = tap % a.k.w * a.l.w - a.p.w;
	const int off = ((kd + a.p.d) * a.s.h + kh + a.p.h) * a.s.w + kw + a.p.w; // without padding
	const int plane = a.z.d * a.z.h * a.z.w, volume = a.s.d * a.s.h * a.s.w;
	const long long total = (long long)a.n * plane;
	const long long lo = total * blockIdx.x / a.chunks, hi = total * (blockIdx.x + 1) / a.chunks;
	float acc[gradOut] = {};
	for (long long first = lo; first < hi; first += gradBatch) {
		const int count = (int)min((long long)gradBatch, hi - first);
		SYNC();
		for (int i = threadIdx.x; i < count * gradOut; i += gradThreads) {
			const int j = i % count, o = i / count;
			const long long at = first + j;
			const int n = at / plane, place = at % plane;
			const long long from = ((long long)n * a.o + min(o0 + o, a.o - 1)) * plane + place;
			grads[j * gradOut + o] = o0 + o < a.o ? a.dy[from] : 0;
			// Where all taps lie inside the input, its place there; else where in the window, negative.
			const int p = a.arg[from];
			const int d = (place / (a.z.w * a.z.h) * a.q.d + (p >> 16)) * a.t.d - a.p.d;
			const int h = (place / a.z.w % a.z.h * a.q.h + (p >> 8 & 255)) * a.t.h - a.p.h;
			const int w = (place % a.z.w * a.q.w + (p & 255)) * a.t.w - a.p.w;
			const bool inside = (d | h | w) >= 0 && d + (a.k.d - 1) * a.l.d < a.s.d && h + (a.k.h - 1) * a.l.h < a.s.h && w + (a.k.w - 1) * a.l.w < a.s.w;
			places[j * gradOut + o] = inside ? (d * a.s.h + h) * a.s.w + w : -1 - p;
		}
		SYNC();
		if (t > all) continue;
		for (int j = 0; j < count; j++) {
			const float *g = grads + j * gradOut;
			if (t == all) {
#pragma unroll
				for (int i = 0; i < gradOut; i++) acc[i] += g[i];
				continue;
			}
			const long long at = first + j;
			const int n = at / plane, place = at % plane;
			const int zw = place % a.z.w, zh = place / a.z.w % a.z.h, zd = place / (a.z.w * a.z.h);
			const float *x = a.x + ((long long)n * a.c + c) * volume;
#pragma unroll
			for (int i = 0; i < gradOut; i++) {
				if (g[i] == 0) continue; // the same in all threads
				int p = places[j * gradOut + i];
				if (p >= 0) {
					acc[i] += g[i] * x[p + off];
					continue;
				}
				p = -1 - p;
				const int d = (zd * a.q.d + (p >> 16)) * a.t.d + kd;
				const int h = (zh * a.q.h + (p >> 8 & 255)) * a.t.h + kh;
				const int w = (zw * a.q.w + (p & 255)) * a.t.w + kw;
				if ((unsigned)d < (unsigned)a.s.d && (unsigned)h < (unsigned)a.s.h && (unsigned)w < (unsigned)a.s.w)
					acc[i] += g[i] * x[(d * a.s.h + h) * a.s.w + w];
			}
		}
	}
	if (t > all) return;
#pragma unroll
	for (int i = 0; i < gradOut; i++) {
		const long long o = o0 + i;
		if (o < a.o) a.part[(long long)blockIdx.x * a.o * (all + 1) + (t < all ? o * all + t : (long long)a.o * all + o)] = acc[i];
	}
}

// SumArgs adds chunks of partial sums in order: the first na go to a, the others to b.
struct SumArgs {
	const float *part; // [chunks, na + nb]
	float *a, *b;      // b may be null
	const float *bias; // added to a, repeated; may be null
	int na, nb, chunks, width, relu;
};

KERNEL(512, sum_chunks, SumArgs) {
	SHARED float sums[512];
	const int col = threadIdx.x % 32, seg = threadIdx.x / 32, i = blockIdx.x * 32 + col, all = a.na + a.nb;
	float s = 0;
	if (i < all)
		for (int k = seg; k < a.chunks; k += 16) s += a.part[(long long)k * all + i];
	sums[threadIdx.x] = s;
	SYNC();
	if (seg > 0 || i >= all) return;
	for (int k = 1; k < 16; k++) s += sums[k * 32 + col];
	if (i < a.na) {
		if (a.bias) s += a.bias[i % a.width];
		a.a[i] = a.relu && s < 0 ? 0 : s;
	} else if (a.b)
		a.b[i - a.na] = s;
}

// TransposeArgs writes weights [o, c, k] as [o, k, c rounded up to 8].
struct TransposeArgs {
	const float *w;
	float *to;
	int o, c, k;
};

KERNEL(256, transpose_weights, TransposeArgs) {
	const int wide = (a.c + 7) / 8 * 8, i = blockIdx.x * 256 + threadIdx.x;
	if (i >= a.o * a.k * wide) return;
	const int c = i % wide, k = i / wide % a.k, o = i / wide / a.k;
	a.to[i] = c < a.c ? a.w[((long long)o * a.c + c) * a.k + k] : 0;
}

// A thread of conv_pool_dx has one position and 8 channels. It gathers from all output positions that
// the input reaches, so that nothing is written twice. 8 warps share 32 positions: each has every
// eighth output channel, and the first adds what they found, in order.
enum { poolSplit = 8 };

DEVICE void addTap(float (&acc)[8], float g, const float *w) {
	const float4 u = ((const float4 *)w)[0], v = ((const float4 *)w)[1];
	acc[0] += g * u.x, acc[1] += g * u.y, acc[2] += g * u.z, acc[3] += g * u.w;
	acc[4] += g * v.x, acc[5] += g * v.y, acc[6] += g * v.z, acc[7] += g * v.w;
}

// tapOf returns which tap leads from input place i to output place p, or -1.
DEVICE int tapOf(int i, int p, int stride, int pad, int dilation, int kernel) {
	const int r = i + pad - p * stride;
	if (r < 0) return -1;
	if (dilation == 1) return r < kernel ? r : -1;
	return r % dilation == 0 && r / dilation < kernel ? r / dilation : -1;
}

// firstOf returns the first output place that reaches input place i.
DEVICE int firstOf(int i, int stride, int pad, int dilation, int kernel) {
	const int r = i + pad - dilation * (kernel - 1);
	return r <= 0 ? 0 : (r + stride - 1) / stride;
}

DEVICE void scatterOut(const ConvArgs &a, const float (&acc)[8], int n, int c0, int at) {
	const int volume = a.s.d * a.s.h * a.s.w;
#pragma unroll
	for (int i = 0; i < 8; i++)
		if (c0 + i < a.c) a.dx[((long long)n * a.c + c0 + i) * volume + at] = acc[i];
}

KERNEL(32 * poolSplit, conv_pool_dx, ConvArgs) {
	SHARED float sums[poolSplit * 32 * 9];
	const int groups = (a.c + 7) / 8, wide = groups * 8, taps = a.k.d * a.k.h * a.k.w;
	const int c0 = (int)(blockIdx.y % groups) * 8, n = blockIdx.y / groups;
	const int lane = threadIdx.x % 32, part = threadIdx.x / 32, volume = a.s.d * a.s.h * a.s.w;
	const int real = blockIdx.x * 32 + lane, at = min(real, volume - 1);
	const int iw = at % a.s.w, ih = at / a.s.w % a.s.h, id = at / (a.s.w * a.s.h);
	const int d0 = firstOf(id, a.t.d, a.p.d, a.l.d, a.k.d) / a.q.d, d1 = min((id + a.p.d) / a.t.d / a.q.d, a.z.d - 1);
	const int h0 = firstOf(ih, a.t.h, a.p.h, a.l.h, a.k.h) / a.q.h, h1 = min((ih + a.p.h) / a.t.h / a.q.h, a.z.h - 1);
	const int w0 = firstOf(iw, a.t.w, a.p.w, a.l.w, a.k.w) / a.q.w, w1 = min((iw + a.p.w) / a.t.w / a.q.w, a.z.w - 1);
	float acc[8] = {};
	for (int o = part; o < a.o; o += poolSplit) {
		const long long plane = ((long long)n * a.o + o) * (a.z.d * a.z.h * a.z.w);
		const float *w = a.w + (long long)o * taps * wide + c0;
		for (int zd = d0; zd <= d1; zd++)
			for (int zh = h0; zh <= h1; zh++)
				for (int zw = w0; zw <= w1; zw++) {
					const long long from = plane + (zd * a.z.h + zh) * a.z.w + zw;
					const int p = a.arg[from];
					const int kd = tapOf(id, zd * a.q.d + (p >> 16), a.t.d, a.p.d, a.l.d, a.k.d);
					const int kh = tapOf(ih, zh * a.q.h + (p >> 8 & 255), a.t.h, a.p.h, a.l.h, a.k.h);
					const int kw = tapOf(iw, zw * a.q.w + (p & 255), a.t.w, a.p.w, a.l.w, a.k.w);
					if ((kd | kh | kw) < 0) continue;
					addTap(acc, a.dy[from], w + ((kd * a.k.h + kh) * a.k.w + kw) * wide);
				}
	}
#pragma unroll
	for (int i = 0; i < 8; i++) sums[(part * 32 + lane) * 9 + i] = acc[i];
	SYNC();
	if (part > 0 || real >= volume) return;
	for (int k = 1; k < poolSplit; k++)
#pragma unroll
		for (int i = 0; i < 8; i++) acc[i] += sums[(k * 32 + lane) * 9 + i];
	scatterOut(a, acc, n, c0, at);
}
