// A whole training step of a network that is so small that what an item needs fits into the shared
// memory of a block: one kernel from the inputs to the gradients of all layers' outputs, and one that
// sums the gradients of the weights over the items and moves them. A step that is thirty kernels
// otherwise spends most of its time between them.
#include "common.h"

enum { itemThreads = 512, itemRoom = 11776, itemLayers = 10, itemWide = 8, itemScratch = 192 };

// ItemLayer is a dense layer (taps 0) or a convolution with a max-pool, whose windows may have one
// position. Numbers ending in At are places in shared memory.
struct ItemLayer {
	const float *w, *bias; // bias may be null
	float *x, *dy;         // of a dense layer, [n, in] and [n, out]: what the sums over items need
	float *part;           // of a convolution, [n·slices, o·(c·taps + 1)]
	int relu, in, out, taps;
	int plain;             // nothing is padded
	int xAt;               // its input; of a convolution, padded
	int argAt;             // where in the padded input the first tap of a window's maximum lies: packed, or
	                       // of the first layer, as of all once dx is there, the place in a channel
	int wAt;               // weights of a convolution
	int c, o, slices;      // parts of the windows for the gradient of the weights
	int plane, pitch;      // sizes of a channel and of a row of the padded input
	Three s, k, t, p, l;   // s without padding
	Three q, z;
};

struct ItemArgs {
	const float *x; // [n, inputs of the first layer]
	LossArgs loss;
	int n, layers, outAt, votesAt, gradAt, otherAt, spareAt, spare;
	ItemLayer layer[itemLayers];
};

// rectify and passes are a ReLU and its slope, or nothing.
DEVICE float rectify(int relu, float x) { return relu && x < 0 ? 0 : x; }
DEVICE float passes(int relu, float y) { return relu && !(y > 0) ? 0 : 1; }

DEVICE int packed(int d, int h, int w) { return d << 20 | h << 10 | w; }

// unpacked is the place in a channel of a packed one.
DEVICE int unpacked(const ItemLayer &l, int p) { return ((p >> 20) * (l.s.h + 2 * l.p.h) + (p >> 10 & 1023)) * l.pitch + (p & 1023); }

// itemPlace is where value i of a layer's input lies behind xAt.
DEVICE int itemPlace(const ItemLayer &l, int i) {
	if (l.plain) return i;
	const int w = i % l.s.w, h = i / l.s.w % l.s.h, cd = i / (l.s.w * l.s.h), d = cd % l.s.d, c = cd / l.s.d;
	return c * l.plane + ((d + l.p.d) * (l.s.h + 2 * l.p.h) + h + l.p.h) * l.pitch + w + l.p.w;
}

// itemOut is where value j of layer i's output lies.
DEVICE int itemOut(const ItemArgs &a, int i, int j) {
	return i + 1 < a.layers ? a.layer[i + 1].xAt + itemPlace(a.layer[i + 1], j) : a.outAt + j;
}

// itemConv computes a convolution with windows of 2×2 and a kernel of K², a thread for a window and
// two channels; rows of the input begin at even places, and pairs of them are read at once.
template <int K>
DEVICE void itemConv(const ItemArgs &a, int i, float *m) {
	const ItemLayer &l = a.layer[i];
	const int windows = l.z.h * l.z.w, groups = (l.o + 1) / 2, all = l.c * K * K;
	for (int task = threadIdx.x; task < windows * groups; task += itemThreads) {
		const int at = task % windows, o0 = task / windows * 2, o1 = min(o0 + 1, l.o - 1), zw = at % l.z.w, zh = at / l.z.w;
		const float *x = m + l.xAt + zh * 2 * l.pitch + zw * 2, *w0 = m + l.wAt + o0 * all, *w1 = m + l.wAt + o1 * all;
		float acc[2][4] = {};
		for (int c = 0; c < l.c; c++, x += l.plane, w0 += K * K, w1 += K * K) {
			float v[K + 1][K + 1];
#pragma unroll
			for (int h = 0; h < K + 1; h++)
#pragma unroll
				for (int w = 0; w < K + 1; w += 2) {
					const float2 pair = *(const float2 *)(x + h * l.pitch + w);
					v[h][w] = pair.x, v[h][w + 1] = pair.y;
				}
#pragma unroll
			for (int tap = 0; tap < K * K; tap++) {
				const float f = w0[tap], g = w1[tap];
#pragma unroll
				for (int q = 0; q < 4; q++) {
					acc[0][q] += f * v[tap / K + q / 2][tap % K + q % 2];
					acc[1][q] += g * v[tap / K + q / 2][tap % K + q % 2];
				}
			}
		}
#pragma unroll
		for (int e = 0; e < 2; e++) {
			if (o0 + e >= l.o) break;
			float best = 0;
			int arg = 0;
#pragma unroll
			for (int q = 0; q < 4; q++)
				if (q == 0 || larger(acc[e][q], best)) best = acc[e][q], arg = packed(0, zh * 2 + q / 2, zw * 2 + q % 2);
			const int y = (o0 + e) * windows + at;
			m[itemOut(a, i, y)] = rectify(l.relu, best + (l.bias ? l.bias[o0 + e] : 0));
			((int *)m)[l.argAt + y] = i == 0 ? unpacked(l, arg) : arg;
		}
	}
}

// itemConvAny is for kernels and windows of any size: a thread for a window and a channel.
DEVICE void itemConvAny(const ItemArgs &a, int i, float *m) {
	const ItemLayer &l = a.layer[i];
	const int windows = l.z.d * l.z.h * l.z.w, high = l.s.h + 2 * l.p.h;
	for (int task = threadIdx.x; task < windows * l.o; task += itemThreads) {
		const int at = task % windows, zw = at % l.z.w, zh = at / l.z.w % l.z.h, zd = at / (l.z.w * l.z.h);
		float best = 0;
		int arg = 0;
		for (int q = 0; q < l.q.d * l.q.h * l.q.w; q++) {
			const int d = (zd * l.q.d + q / (l.q.w * l.q.h)) * l.t.d, h = (zh * l.q.h + q / l.q.w % l.q.h) * l.t.h;
			const int w = (zw * l.q.w + q % l.q.w) * l.t.w;
			const float *f = m + l.wAt + task / windows * l.c * l.taps;
			float v = 0;
			for (int c = 0; c < l.c; c++)
				for (int kd = 0; kd < l.k.d; kd++)
					for (int kh = 0; kh < l.k.h; kh++) {
						const float *x = m + l.xAt + c * l.plane + ((d + kd * l.l.d) * high + h + kh * l.l.h) * l.pitch + w;
						for (int kw = 0; kw < l.k.w; kw++) v += *f++ * x[kw * l.l.w];
					}
			if (q == 0 || larger(v, best)) best = v, arg = packed(d, h, w);
		}
		const float bias = l.bias ? l.bias[task / windows] : 0;
		m[itemOut(a, i, task)] = rectify(l.relu, best + bias);
		((int *)m)[l.argAt + task] = i == 0 ? unpacked(l, arg) : arg;
	}
}

// itemDense: a warp has four outputs at a time, and its lanes cut the inputs.
DEVICE void itemDense(const ItemLayer &l, float *m, int yAt) {
	const int lane = threadIdx.x % 32, warps = itemThreads / 32;
	const float *x = m + l.xAt;
	for (int o0 = threadIdx.x / 32 * 4; o0 < l.out; o0 += warps * 4) {
		float acc[4] = {};
		const float *w[4];
#pragma unroll
		for (int i = 0; i < 4; i++) w[i] = l.w + (long long)min(o0 + i, l.out - 1) * l.in;
		if (l.in % 4 == 0)
			for (int k = lane * 4; k < l.in; k += 128) {
				const float4 v = *(const float4 *)(x + k);
#pragma unroll
				for (int i = 0; i < 4; i++) {
					const float4 f = *(const float4 *)(w[i] + k);
					acc[i] += f.x * v.x + f.y * v.y + f.z * v.z + f.w * v.w;
				}
			}
		else
			for (int k = lane; k < l.in; k += 32)
#pragma unroll
				for (int i = 0; i < 4; i++) acc[i] += w[i][k] * x[k];
#pragma unroll
		for (int i = 0; i < 4; i++)
			for (int half = 16; half > 0; half /= 2) acc[i] += SHUFFLE(acc[i], half);
		if (lane < 4 && o0 + lane < l.out) {
			const float v = lane == 0 ? acc[0] : lane == 1 ? acc[1] : lane == 2 ? acc[2] : acc[3];
			m[yAt + o0 + lane] = rectify(l.relu, v + (l.bias ? l.bias[o0 + lane] : 0));
		}
	}
}

// itemDenseDx adds dy·W for slices of the outputs, four inputs at a time where rows allow it; part k
// goes to dx + k·in.
DEVICE int itemDenseDx(const ItemLayer &l, const float *dy, float *dx, int room) {
	const int step = l.in % 4 == 0 ? 4 : 1, tasks = l.in / step;
	const int slices = max(1, min(min(itemThreads / tasks, l.out / 4), room / l.in));
	for (int task = threadIdx.x; task < tasks * slices; task += itemThreads) {
		const int i = task % tasks * step, k = task / tasks, lo = l.out * k / slices, hi = l.out * (k + 1) / slices;
		const float *w = l.w + i;
		float *to = dx + k * l.in + i;
		if (step == 1) {
			float s = 0;
#pragma unroll 8
			for (int o = lo; o < hi; o++) s += dy[o] * w[(long long)o * l.in];
			*to = s;
			continue;
		}
		float4 s = {0, 0, 0, 0};
#pragma unroll 8
		for (int o = lo; o < hi; o++) {
			const float4 f = *(const float4 *)(w + (long long)o * l.in);
			const float g = dy[o];
			s.x += g * f.x, s.y += g * f.y, s.z += g * f.z, s.w += g * f.w;
		}
		to[0] = s.x, to[1] = s.y, to[2] = s.z, to[3] = s.w;
	}
	return slices;
}

// itemConvDx gathers for every input from the windows whose maximum saw it, with slices of the output
// channels; a thread has one position and up to itemWide channels at a time. Flat is for images whose
// kernels have no gaps.
template <bool Flat>
DEVICE int itemConvDx(const ItemLayer &l, const float *m, const float *dy, float *dx, int room) {
	const int places = l.s.d * l.s.h * l.s.w, all = l.c * l.taps, windows = l.z.d * l.z.h * l.z.w;
	const int slices = max(1, min(min(itemThreads / places, l.o), room / l.in));
	for (int task = threadIdx.x; task < places * slices; task += itemThreads) {
		const int at = task % places, k = task / places;
		const int iw = at % l.s.w + l.p.w, ih = at / l.s.w % l.s.h + l.p.h, id = Flat ? 0 : at / (l.s.w * l.s.h) + l.p.d;
		const int d0 = Flat ? 0 : firstOf(id, l.t.d, 0, l.l.d, l.k.d) / l.q.d, d1 = Flat ? 0 : min(id / l.t.d / l.q.d, l.z.d - 1);
		const int h0 = firstOf(ih, l.t.h, 0, l.l.h, l.k.h) / l.q.h, h1 = min(ih / l.t.h / l.q.h, l.z.h - 1);
		const int w0 = firstOf(iw, l.t.w, 0, l.l.w, l.k.w) / l.q.w, w1 = min(iw / l.t.w / l.q.w, l.z.w - 1);
		for (int c0 = 0; c0 < l.c; c0 += itemWide) {
			float acc[itemWide] = {};
			for (int o = l.o * k / slices; o < l.o * (k + 1) / slices; o++)
				for (int zd = d0; zd <= d1; zd++)
					for (int zh = h0; zh <= h1; zh++)
						for (int zw = w0; zw <= w1; zw++) {
							const int from = o * windows + (zd * l.z.h + zh) * l.z.w + zw, p = ((const int *)m)[l.argAt + from];
							const float g = dy[from];
							int tap;
							if (Flat) {
								const int kh = ih - (p >> 10), kw = iw - (p & 1023);
								if ((unsigned)kh >= (unsigned)l.k.h || (unsigned)kw >= (unsigned)l.k.w || g == 0) continue;
								tap = kh * l.k.w + kw;
							} else {
								const int kd = tapOf(id, p >> 20, 1, 0, l.l.d, l.k.d), kh = tapOf(ih, p >> 10 & 1023, 1, 0, l.l.h, l.k.h);
								const int kw = tapOf(iw, p & 1023, 1, 0, l.l.w, l.k.w);
								if ((kd | kh | kw) < 0 || g == 0) continue;
								tap = (kd * l.k.h + kh) * l.k.w + kw;
							}
							const float *w = m + l.wAt + o * all + c0 * l.taps + tap;
#pragma unroll
							for (int c = 0; c < itemWide; c++, w += l.taps)
								if (c0 + c < l.c) acc[c] += g * *w;
						}
#pragma unroll
			for (int c = 0; c < itemWide; c++)
				if (c0 + c < l.c) dx[k * l.in + (c0 + c) * places + at] = acc[c];
		}
	}
	return slices;
}

// itemTap sums the gradient of one tap over windows lo … hi, of Wide input channels from x on.
template <int Wide>
DEVICE void itemTap(const ItemLayer &l, const float *x, const float *g, const int *places, int lo, int hi, float *to) {
	float acc[Wide] = {};
#pragma unroll 4
	for (int z = lo; z < hi; z++) {
		const float f = g[z], *from = x + places[z];
#pragma unroll
		for (int c = 0; c < Wide; c++, from += l.plane) acc[c] += f * *from;
	}
#pragma unroll
	for (int c = 0; c < Wide; c++) to[c * l.taps] = acc[c];
}

// itemConvDw writes an item's part of the gradient of the weights: a thread has a tap, or behind the
// last the bias, of an output channel, and a slice of the windows.
DEVICE void itemConvDw(const ItemLayer &l, const float *m, const float *dy, int n) {
	const int windows = l.z.d * l.z.h * l.z.w, tasks = l.o * (l.taps + 1), all = l.c * l.taps, high = l.s.h + 2 * l.p.h;
	for (int task = threadIdx.x; task < tasks * l.slices; task += itemThreads) {
		const int tap = task % (l.taps + 1), o = task / (l.taps + 1) % l.o, k = task / tasks;
		const int lo = windows * k / l.slices, hi = windows * (k + 1) / l.slices;
		const float *g = dy + o * windows;
		const int *places = (const int *)m + l.argAt + o * windows;
		float *to = l.part + (long long)(n * l.slices + k) * l.o * (all + 1);
		if (tap == l.taps) {
			float s = 0;
			for (int z = lo; z < hi; z++) s += g[z];
			to[l.o * all + o] = s;
			continue;
		}
		const float *x = m + l.xAt + (tap / (l.k.w * l.k.h) * l.l.d * high + tap / l.k.w % l.k.h * l.l.h) * l.pitch + tap % l.k.w * l.l.w;
		to += o * all + tap;
		int c = 0;
		for (; c + 4 <= l.c; c += 4) itemTap<4>(l, x + c * l.plane, g, places, lo, hi, to + c * l.taps);
		for (; c + 2 <= l.c; c += 2) itemTap<2>(l, x + c * l.plane, g, places, lo, hi, to + c * l.taps);
		if (c < l.c) itemTap<1>(l, x + c * l.plane, g, places, lo, hi, to + c * l.taps);
	}
}

KERNEL_ALONE(itemThreads, item_step, ItemArgs) {
	SHARED float4 room[itemRoom / 4];
	SHARED double scratch[itemScratch];
	float *m = (float *)room;
	const int n = blockIdx.x;
	// Borders of padded inputs are zero.
	for (int i = 0; i < a.layers; i++) {
		const ItemLayer &l = a.layer[i];
		if (l.taps == 0) continue;
		for (int j = threadIdx.x; j < l.o * l.c * l.taps; j += itemThreads) m[l.wAt + j] = l.w[j];
		if (l.p.d | l.p.h | l.p.w)
			for (int j = threadIdx.x; j < l.c * l.plane; j += itemThreads) m[l.xAt + j] = 0;
	}
	for (int i = threadIdx.x; i < a.loss.d; i += itemThreads) m[a.votesAt + i] = a.loss.counts[n * a.loss.d + i];
	SYNC();
	for (int i = threadIdx.x; i < a.layer[0].in; i += itemThreads)
		m[a.layer[0].xAt + itemPlace(a.layer[0], i)] = a.x[(long long)n * a.layer[0].in + i];
	for (int i = 0; i < a.layers; i++) {
		const ItemLayer &l = a.layer[i];
		SYNC();
		if (l.taps == 0) {
			for (int j = threadIdx.x; j < l.in; j += itemThreads) l.x[(long long)n * l.in + j] = m[l.xAt + j];
			itemDense(l, m, itemOut(a, i, 0));
			continue;
		}
		const bool plain = l.q.d == 1 && l.q.h == 2 && l.q.w == 2 && l.k.d == 1 && l.k.h == l.k.w && l.s.d == 1 && l.t.h == 1 &&
		                   l.t.w == 1 && l.l.h == 1 && l.l.w == 1;
		if (plain && l.k.w == 5)
			itemConv<5>(a, i, m);
		else if (plain && l.k.w == 3)
			itemConv<3>(a, i, m);
		else
			itemConvAny(a, i, m);
	}
	SYNC();
	float *dy = m + a.gradAt, *dx = m + a.otherAt;
	itemLoss(a.loss, n, m + a.outAt, dy, m + a.votesAt, itemThreads, scratch);
	SYNC();
	for (int i = threadIdx.x; i < a.layer[a.layers - 1].out; i += itemThreads)
		dy[i] *= passes(a.layer[a.layers - 1].relu, m[a.outAt + i]);
	for (int i = a.layers - 1; i >= 0; i--) {
		const ItemLayer &l = a.layer[i];
		SYNC();
		if (l.taps == 0)
			for (int j = threadIdx.x; j < l.out; j += itemThreads) l.dy[(long long)n * l.out + j] = dy[j];
		if (i > 0) {
			float *parts = m + a.spareAt;
			int slices;
			if (l.taps == 0)
				slices = itemDenseDx(l, dy, parts, a.spare);
			else if (l.s.d == 1 && l.k.d == 1 && l.p.d == 0 && l.l.h == 1 && l.l.w == 1)
				slices = itemConvDx<true>(l, m, dy, parts, a.spare);
			else
				slices = itemConvDx<false>(l, m, dy, parts, a.spare);
			SYNC();
			for (int j = threadIdx.x; j < l.in; j += itemThreads) {
				float s = parts[j];
				for (int k = 1; k < slices; k++) s += parts[k * l.in + j];
				dx[j] = s * passes(a.layer[i - 1].relu, m[l.xAt + itemPlace(l, j)]);
			}
			if (l.taps > 0) {
				int *places = (int *)m + l.argAt;
				for (int j = threadIdx.x; j < l.out; j += itemThreads) places[j] = unpacked(l, places[j]);
				SYNC();
			}
		}
		if (l.taps > 0) itemConvDw(l, m, dy, n);
		float *swap = dy;
		dy = dx, dx = swap;
	}
}
