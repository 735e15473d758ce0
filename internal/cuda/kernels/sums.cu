// The second kernel of a training step of a small network (items.cu): gradients of the weights, summed
// over the items, and the weights moved by them.
#include "common.h"

// SumLayer is a layer's share of item_sums: tiles of a dense layer's weights, or parts of those of a
// convolution. at and biasAt are places among all parameters, biasAt −1 for none.
struct SumLayer {
	const float *x, *dy, *part;
	int in, out, at, biasAt, chunks; // of part
};

struct SumsArgs {
	StepArgs step;
	int n, layers;
	int first[itemLayers]; // blocks of layers
	SumLayer layer[itemLayers];
};

// moved takes the gradient of parameter i: weights move at once unless it is clipped, which needs its norm.
DEVICE double moved(const SumsArgs &a, int i, float g) {
	if (a.step.clip > 0)
		a.step.d[i] = g;
	else
		update(a.step, i, g);
	return (double)g * (double)g;
}

// item_sums: a block has 32² weights of a dense layer, whose bias is the weight of an input that is
// always 1, or 32 of a convolution.
KERNEL(stepThreads, item_sums, SumsArgs) {
	SHARED double sums[stepThreads];
	SHARED float4 left[32 * 8];
	SHARED float right[32 * 33];
	int i = 0;
	for (int k = 1; k < a.layers; k++) i += (int)blockIdx.x >= a.first[k];
	const SumLayer &l = a.layer[i];
	const int block = blockIdx.x - a.first[i], col = threadIdx.x % 32, seg = threadIdx.x / 32;
	double squares = 0;
	if (l.part) {
		const int na = l.in * l.out, all = na + l.out, j = block * 32 + col;
		float s = 0;
		if (j < all)
#pragma unroll 8
			for (int k = seg; k < l.chunks; k += 8) s += l.part[(long long)k * all + j];
		right[seg * 33 + col] = s;
		SYNC();
		if (seg == 0 && j < all) {
			for (int k = 1; k < 8; k++) s += right[k * 33 + col];
			if (j < na)
				squares = moved(a, l.at + j, s);
			else if (l.biasAt >= 0)
				squares = moved(a, l.biasAt + j - na, s);
		}
	} else {
		const int across = (l.in + 32) / 32, j = block % across * 32 + col, o0 = block / across * 32;
		float acc[4] = {};
		for (int first = 0; first < a.n; first += 32) {
			SYNC();
#pragma unroll
			for (int r = seg; r < 32; r += 8) {
				const long long item = first + r;
				const bool in = item < a.n;
				((float *)left)[r * 32 + col] = in && o0 + col < l.out ? l.dy[item * l.out + o0 + col] : 0;
				right[r * 33 + col] = in && j < l.in ? l.x[item * l.in + j] : in && j == l.in ? 1 : 0;
			}
			SYNC();
#pragma unroll 8
			for (int r = 0; r < 32; r++) {
				const float x = right[r * 33 + col];
				const float4 g = left[r * 8 + seg];
				acc[0] += g.x * x, acc[1] += g.y * x, acc[2] += g.z * x, acc[3] += g.w * x;
			}
		}
#pragma unroll
		for (int k = 0; k < 4; k++) {
			const int o = o0 + seg * 4 + k;
			if (o >= l.out) break;
			if (j < l.in)
				squares += moved(a, l.at + o * l.in + j, acc[k]);
			else if (j == l.in && l.biasAt >= 0)
				squares += moved(a, l.biasAt + o, acc[k]);
		}
	}
	if (!(a.step.clip > 0)) return;
	squares = blockSum(squares, sums);
	if (threadIdx.x == 0) a.step.squares[blockIdx.x] = squares;
}
