// Layers that go through values one by one, and pools.
#include "common.h"

enum { pointThreads = 256 };

// PointArgs: y = f(x, z) for count values.
struct PointArgs {
	const float *x, *z;
	float *y;
	int count, act;
};

KERNEL(pointThreads, activation, PointArgs) {
	const int i = blockIdx.x * pointThreads + threadIdx.x;
	if (i < a.count) a.y[i] = activate(a.act, a.x[i]);
}

// activation_dx: y = x·a′(z); z is the output, of GELU the input.
KERNEL(pointThreads, activation_dx, PointArgs) {
	const int i = blockIdx.x * pointThreads + threadIdx.x;
	if (i < a.count) a.y[i] = a.x[i] * slope(a.act, a.z[i]);
}

KERNEL(pointThreads, add, PointArgs) {
	const int i = blockIdx.x * pointThreads + threadIdx.x;
	if (i < a.count) a.y[i] = activate(a.act, a.x[i] + a.z[i]);
}

KERNEL(pointThreads, multiply_each, PointArgs) {
	const int i = blockIdx.x * pointThreads + threadIdx.x;
	if (i < a.count) a.y[i] = a.x[i] * a.z[i];
}

// CopyArgs copies width columns of n rows between matrices of other strides; with add, it adds.
struct CopyArgs {
	const float *x;
	float *y;
	int n, width, xs, ys, add;
};

KERNEL(pointThreads, copy_columns, CopyArgs) {
	const long long i = (long long)blockIdx.x * pointThreads + threadIdx.x;
	if (i >= (long long)a.n * a.width) return;
	const long long j = i / a.width, k = i % a.width;
	float *y = a.y + j * a.ys + k;
	const float x = a.x[j * a.xs + k];
	*y = a.add ? *y + x : x;
}

// DropArgs draws what is kept with the random numbers of the CPU: Philox 4×32-10 with a key and the
// upper half of a counter for each item.
struct DropArgs {
	const float *x;
	const unsigned *keys; // [n, 4]
	float *keep, *y;      // keep [n, size]: 0 or scale
	int n, size;
	unsigned limit;
	float scale;
};

DEVICE unsigned high(unsigned a, unsigned b) { return (unsigned)((unsigned long long)a * b >> 32); }

// A thread has the four values of one block of random bits.
KERNEL(pointThreads, dropout, DropArgs) {
	const int blocks = (a.size + 3) / 4;
	const long long i = (long long)blockIdx.x * pointThreads + threadIdx.x;
	if (i >= (long long)a.n * blocks) return;
	const int item = i / blocks, at = i % blocks;
	const unsigned *key = a.keys + item * 4;
	unsigned k0 = key[0], k1 = key[1], c0 = at, c1 = 0, c2 = key[2], c3 = key[3];
	for (int round = 0; round < 10; round++) {
		const unsigned h0 = high(0xD2511F53u, c0), l0 = 0xD2511F53u * c0;
		const unsigned h1 = high(0xCD9E8D57u, c2), l1 = 0xCD9E8D57u * c2;
		c0 = h1 ^ c1 ^ k0, c1 = l1, c2 = h0 ^ c3 ^ k1, c3 = l0;
		k0 += 0x9E3779B9u, k1 += 0xBB67AE85u;
	}
	const unsigned bits[4] = {c1, c0, c3, c2};
	for (int j = 0; j < 4 && at * 4 + j < a.size; j++) {
		const long long to = (long long)item * a.size + at * 4 + j;
		const float keep = bits[j] >= a.limit ? a.scale : 0;
		a.keep[to] = keep;
		a.y[to] = keep * a.x[to];
	}
}

// PoolArgs is a pool of windows that may overlap and be padded; arg is the place in the channel.
struct PoolArgs {
	const float *x;
	float *y;
	int *arg; // null means the mean
	const float *dy;
	float *dx;
	int planes; // items and channels
	Three s, q, t, p, z;
};

KERNEL(pointThreads, pool, PoolArgs) {
	const long long i = (long long)blockIdx.x * pointThreads + threadIdx.x;
	const int plane = a.z.d * a.z.h * a.z.w;
	if (i >= (long long)a.planes * plane) return;
	const int at = i % plane, zw = at % a.z.w, zh = at / a.z.w % a.z.h, zd = at / (a.z.w * a.z.h);
	const float *x = a.x + i / plane * (a.s.d * a.s.h * a.s.w);
	const int d0 = zd * a.t.d - a.p.d, h0 = zh * a.t.h - a.p.h, w0 = zw * a.t.w - a.p.w;
	float best = 0, sum = 0;
	int arg = -1;
	for (int d = max(d0, 0); d < min(d0 + a.q.d, a.s.d); d++)
		for (int h = max(h0, 0); h < min(h0 + a.q.h, a.s.h); h++)
			for (int w = max(w0, 0); w < min(w0 + a.q.w, a.s.w); w++) {
				const int from = (d * a.s.h + h) * a.s.w + w;
				const float v = x[from];
				sum += v;
				if (arg < 0 || larger(v, best)) best = v, arg = from;
			}
	if (a.arg)
		a.y[i] = best, a.arg[i] = arg;
	else
		a.y[i] = sum / (a.q.d * a.q.h * a.q.w);
}

// pool_dx: a thread per input gathers from the windows that hold it.
KERNEL(pointThreads, pool_dx, PoolArgs) {
	const long long i = (long long)blockIdx.x * pointThreads + threadIdx.x;
	const int volume = a.s.d * a.s.h * a.s.w, plane = a.z.d * a.z.h * a.z.w;
	if (i >= (long long)a.planes * volume) return;
	const int at = i % volume, w = at % a.s.w + a.p.w, h = at / a.s.w % a.s.h + a.p.h, d = at / (a.s.w * a.s.h) + a.p.d;
	const long long base = i / volume * plane;
	const float share = 1.0f / (a.q.d * a.q.h * a.q.w);
	float sum = 0;
	for (int zd = max(0, (d - a.q.d) / a.t.d); zd <= min(d / a.t.d, a.z.d - 1); zd++)
		for (int zh = max(0, (h - a.q.h) / a.t.h); zh <= min(h / a.t.h, a.z.h - 1); zh++)
			for (int zw = max(0, (w - a.q.w) / a.t.w); zw <= min(w / a.t.w, a.z.w - 1); zw++) {
				if (d - zd * a.t.d >= a.q.d || h - zh * a.t.h >= a.q.h || w - zw * a.t.w >= a.q.w) continue;
				const long long from = base + (zd * a.z.h + zh) * a.z.w + zw;
				if (!a.arg)
					sum += a.dy[from] * share;
				else if (a.arg[from] == at)
					sum += a.dy[from];
			}
	a.dx[i] = sum;
}

// GlobalArgs reduces rows of size values to their mean, or with arg to the largest.
struct GlobalArgs {
	const float *x;
	float *y;
	int *arg;
	const float *dy;
	float *dx;
	int rows, size;
};

// global_pool: a warp per row. The first of equal values is the largest.
KERNEL(pointThreads, global_pool, GlobalArgs) {
	const int lane = threadIdx.x % 32;
	const long long i = ((long long)blockIdx.x * pointThreads + threadIdx.x) / 32;
	if (i >= a.rows) return; // the whole warp
	const float *x = a.x + i * a.size;
	if (a.arg) {
		float best = lane == 0 ? x[0] : -INFINITY;
		int at = 0;
		for (int j = lane; j < a.size; j += 32)
			if (x[j] > best) best = x[j], at = j;
#pragma unroll
		for (int mask = 16; mask > 0; mask /= 2) {
			const float other = SHUFFLE(best, mask);
			const int from = SHUFFLE(at, mask);
			if (other > best || other == best && from < at) best = other, at = from;
		}
		if (lane == 0) a.y[i] = best, a.arg[i] = at;
		return;
	}
	double sum = 0;
	for (int j = lane; j < a.size; j += 32) sum += x[j];
#pragma unroll
	for (int mask = 16; mask > 0; mask /= 2) sum += SHUFFLE(sum, mask);
	if (lane == 0) a.y[i] = (float)(sum / a.size);
}

KERNEL(pointThreads, global_pool_dx, GlobalArgs) {
	const long long i = (long long)blockIdx.x * pointThreads + threadIdx.x;
	if (i >= (long long)a.rows * a.size) return;
	const int row = i / a.size, at = i % a.size;
	a.dx[i] = a.arg ? (a.arg[row] == at ? a.dy[row] : 0) : a.dy[row] / a.size;
}

// EmbedArgs maps codes x [n, fields] to rows of a table; first [fields+1] are the rows at which the
// fields begin.
struct EmbedArgs {
	const float *x, *table;
	const int *first;
	float *y;
	const float *dy;
	float *dtable;
	int n, fields, width;
};

DEVICE int embedRow(const EmbedArgs &a, int f, float v) {
	return v >= 0 && v < (float)(a.first[f + 1] - a.first[f]) ? a.first[f] + (int)v : -1;
}

KERNEL(pointThreads, embedding, EmbedArgs) {
	const long long i = (long long)blockIdx.x * pointThreads + threadIdx.x;
	if (i >= (long long)a.n * a.fields * a.width) return;
	const long long code = i / a.width;
	const int row = embedRow(a, code % a.fields, a.x[code]);
	a.y[i] = row >= 0 ? a.table[(long long)row * a.width + i % a.width] : 0;
}

// embedding_dw: a thread per value of the table goes through the items.
KERNEL(pointThreads, embedding_dw, EmbedArgs) {
	const long long i = (long long)blockIdx.x * pointThreads + threadIdx.x;
	if (i >= (long long)a.first[a.fields] * a.width) return;
	const int row = i / a.width, at = i % a.width;
	int f = 0;
	while (row >= a.first[f + 1]) f++;
	float sum = 0;
	for (int j = 0; j < a.n; j++)
		if (embedRow(a, f, a.x[(long long)j * a.fields + f]) == row)
			sum += a.dy[((long long)j * a.fields + f) * a.width + at];
	a.dtable[i] = sum;
}
