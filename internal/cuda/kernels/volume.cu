// The first layer of cnn3d: a convolution of one channel with kernels of 5³, an activation, and a
// max-pool of windows of 5³. Nearly all arithmetic of the network is here.
#include "common.h"

// A block has 2·15 windows of one item and 16 channels: a warp for 4 channels each, a lane for a
// window (30 of 32). It goes through the window plane by plane; 5·5 positions of 4 channels are sums
// in registers. The slab of the input that the windows see, 9·14·80 values, lies in shared memory:
// neighbouring lanes are 5 words apart, and the two rows of windows 400, so that no two lanes meet in
// a bank. Weights lie beside it as [tap][16], of which a warp reads 4 at once.
enum { slabD = 9, slabH = 14, slabW = 80, volumeThreads = 128 };

KERNEL(volumeThreads, volume_pool, ConvArgs) {
	SHARED float slab[slabD * slabH * slabW];
	SHARED float weights[125 * 16];
	const int across = (a.z.w + 14) / 15;
	const int x0 = (int)(blockIdx.x % across) * 15, y0 = (int)(blockIdx.x / across) * 2;
	const int zd = blockIdx.y, groups = (a.o + 15) / 16;
	const int n = blockIdx.z / groups, o0 = (int)(blockIdx.z % groups) * 16;
	const float *x = a.x + (long long)n * a.s.d * a.s.h * a.s.w;
	for (int i = threadIdx.x; i < slabD * slabH * slabW / 4; i += volumeThreads) {
		const int w = i % (slabW / 4) * 4, h = i / (slabW / 4) % slabH, d = i / (slabW / 4 * slabH);
		const int xh = y0 * 5 + h, xw = x0 * 5 + w;
		const float *from = x + ((long long)(zd * 5 + d) * a.s.h + xh) * a.s.w + xw;
#pragma unroll
		for (int j = 0; j < 4; j++) slab[i * 4 + j] = xh < a.s.h && xw + j < a.s.w ? from[j] : 0;
	}
	for (int i = threadIdx.x; i < 125 * 16; i += volumeThreads) {
		const int o = i / 125, tap = i % 125;
		weights[tap * 16 + o] = o0 + o < a.o ? a.w[(o0 + o) * 125 + tap] : 0;
	}
	SYNC();
	const int lane = threadIdx.x % 32, group = threadIdx.x / 32 * 4;
	const int zx = x0 + lane % 15, zy = y0 + lane / 15;
	if (lane >= 30 || zx >= a.z.w || zy >= a.z.h) return;
	float bias[4], best[4];
	int arg[4];
#pragma unroll
	for (int i = 0; i < 4; i++) bias[i] = a.bias && o0 + group + i < a.o ? a.bias[o0 + group + i] : 0, best[i] = 0, arg[i] = 0;
#pragma unroll 1
	for (int qd = 0; qd < 5; qd++) {
		float acc[25][4];
#pragma unroll
		for (int q = 0; q < 25; q++)
#pragma unroll
			for (int i = 0; i < 4; i++) acc[q][i] = 0;
#pragma unroll 1
		for (int kd = 0; kd < 5; kd++) {
			const float *rows = slab + ((qd + kd) * slabH + lane / 15 * 5) * slabW + lane % 15 * 5;
			const float *taps = weights + kd * 25 * 16 + group;
#pragma unroll 1
			for (int kh = 0; kh < 5; kh++, rows += slabW, taps += 5 * 16) {
				float v[5][9];
#pragma unroll
				for (int h = 0; h < 5; h++)
#pragma unroll
					for (int w = 0; w < 9; w++) v[h][w] = rows[h * slabW + w];
#pragma unroll
				for (int kw = 0; kw < 5; kw++) {
					const float4 f = *(const float4 *)(taps + kw * 16);
#pragma unroll
					for (int q = 0; q < 25; q++) {
						acc[q][0] += f.x * v[q / 5][q % 5 + kw];
						acc[q][1] += f.y * v[q / 5][q % 5 + kw];
						acc[q][2] += f.z * v[q / 5][q % 5 + kw];
						acc[q][3] += f.w * v[q / 5][q % 5 + kw];
					}
				}
			}
		}
#pragma unroll
		for (int q = 0; q < 25; q++)
#pragma unroll
			for (int i = 0; i < 4; i++) {
				const float v = acc[q][i] + bias[i];
				if (qd + q == 0 || larger(v, best[i])) best[i] = v, arg[i] = pack(qd, q / 5, q % 5);
			}
	}
	const int plane = a.z.d * a.z.h * a.z.w, at = (zd * a.z.h + zy) * a.z.w + zx;
#pragma unroll
	for (int i = 0; i < 4; i++) {
		if (o0 + group + i >= a.o) break;
		const long long to = ((long long)n * a.o + o0 + group + i) * plane + at;
		a.y[to] = activate(a.act, best[i]);
		if (a.arg) a.arg[to] = arg[i];
	}
}

// volume_dw is the gradient of its weights: only the position that won its window counts. A block
// goes through a chunk of the rows of windows; the slab of the input that a row sees lies in shared
// memory, with rows and planes so far apart that the taps of a warp rarely meet in a bank. A thread
// has one tap (the 126th sums dy for the bias) of 8 channels.
enum { rowW = 101, rowD = 921, dwThreads = 256 };

KERNEL(dwThreads, volume_dw, ConvArgs) {
	SHARED float slab[9 * rowD];
	SHARED float4 grads[15 * 4];
	SHARED int4 places[15 * 4];
	const int across = (a.z.w + 14) / 15, rows = a.n * a.z.d * a.z.h * across;
	const int o0 = blockIdx.y * 16, tap = threadIdx.x % 128, half = threadIdx.x / 128 * 2;
	const float *x0 = slab + tap / 25 * rowD + tap / 5 % 5 * rowW + tap % 5;
	const int plane = a.z.d * a.z.h * a.z.w;
	float acc[8] = {};
	const int lo = (long long)rows * blockIdx.x / a.chunks, hi = (long long)rows * (blockIdx.x + 1) / a.chunks;
	for (int row = lo; row < hi; row++) {
		const int first = row % across * 15, zy = row / across % a.z.h, zd = row / across / a.z.h % a.z.d;
		const int n = row / across / a.z.h / a.z.d, count = min(15, a.z.w - first);
		const float *x = a.x + (((long long)n * a.s.d + zd * 5) * a.s.h + zy * 5) * a.s.w + first * 5;
		const int wide = count * 5 + 4, lane = threadIdx.x % 32;
		SYNC();
		for (int i = threadIdx.x / 32; i < 81; i += dwThreads / 32) { // a warp reads a row
			const float *from = x + ((long long)(i / 9) * a.s.h + i % 9) * a.s.w;
			float *to = slab + i / 9 * rowD + i % 9 * rowW;
			for (int w = lane; w < wide; w += 32) to[w] = from[w];
		}
		if (threadIdx.x < 16 * 15) {
			const int w = threadIdx.x % 15, o = threadIdx.x / 15;
			float g = 0;
			int place = 0;
			if (w < count && o0 + o < a.o) {
				const long long from = ((long long)n * a.o + o0 + o) * plane + (zd * a.z.h + zy) * a.z.w + first + w;
				const int p = a.arg[from];
				g = a.dy[from];
				place = (p >> 16) * rowD + (p >> 8 & 255) * rowW + (p & 255) + w * 5;
			}
			((float *)grads)[w * 16 + o] = g, ((int *)places)[w * 16 + o] = place;
		}
		SYNC();
		if (tap < 125)
			for (int w = 0; w < count; w++) {
				const float4 g = grads[w * 4 + half], h = grads[w * 4 + half + 1];
				const int4 p = places[w * 4 + half], q = places[w * 4 + half + 1];
				acc[0] += g.x * x0[p.x], acc[1] += g.y * x0[p.y], acc[2] += g.z * x0[p.z], acc[3] += g.w * x0[p.w];
				acc[4] += h.x * x0[q.x], acc[5] += h.y * x0[q.y], acc[6] += h.z * x0[q.z], acc[7] += h.w * x0[q.w];
			}
		else if (tap == 125)
			for (int w = 0; w < count; w++) {
				const float4 g = grads[w * 4 + half], h = grads[w * 4 + half + 1];
				acc[0] += g.x, acc[1] += g.y, acc[2] += g.z, acc[3] += g.w;
				acc[4] += h.x, acc[5] += h.y, acc[6] += h.z, acc[7] += h.w;
			}
	}
	if (tap > 125) return;
#pragma unroll
	for (int i = 0; i < 8; i++) {
		const int o = o0 + half * 4 + i;
		if (o < a.o) a.part[(long long)blockIdx.x * a.o * 126 + (tap < 125 ? o * 125 + tap : a.o * 125 + o)] = acc[i];
	}
}
