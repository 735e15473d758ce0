// Convolutions as products of matrices, for kernels whose sizes add up to at most 31: one factor is the
// weights, the other is gathered from the input and never written to memory. The kernels know no
// geometry. Two tables that package gpu computes (gather.go) describe it: the value of place p that
// meets tap k is x[p.x + k.x], and counts as 0 where p.bad and k.bit have a bit in common. A kernel
// tap has a bit of its own along each dimension, a place those of the taps that lie outside the input
// there; bit 31, which each place has, is for taps that fill a table up.
#include "common.h"

struct Tap {
	int x, w; // offsets in an item's input and in a row of weights
	unsigned bit;
	int none;
};

struct Place {
	int x;
	unsigned bad;
	int y; // offset in a channel of the result
	int none;
};

// Group is a set of places that have the same taps: all of a forward pass; in gradients of inputs, those that
// are alike modulo the stride.
struct Group {
	int tap, taps, place, places; // first and number; the table is filled up to a multiple of 32 taps
};

// GatherArgs: y[n, row, p.y] = Σ_k w[row·ws + k.w]·x[n·xs + p.x + k.x] + bias[row]. Of every q places in a
// row, the largest alone is written, through the activation.
struct GatherArgs {
	const float *x, *w, *bias; // bias may be null
	float *y;                  // [n, rows, plane]
	int *arg;                  // [n, rows, plane] which of q places is the largest; may be null
	const Group *groups;
	const Tap *taps;
	const Place *places;
	const float *dy;           // [n, rows, plane], of gather_dw
	float *part;               // [chunks, rows·(columns+1)], of gather_dw
	int n, rows, xs, ws, plane, q, act;
	int together;              // eight places from a multiple of eight are neighbours in y
	int chunks, columns;       // of gather_dw
};

enum { gatherThreads = 128, gatherDepth = 8, gatherTable = 512 };

DEVICE float dot(float sum, const float4 &a, const float4 &b) {
	sum += a.x * b.x;
	sum += a.y * b.y;
	sum += a.z * b.z;
	return sum + a.w * b.w;
}

// A block has BM rows and BN columns, which are places of all items in turn, and 128 threads for each of
// Split parts of the taps, which go through every Split-th step of 8 taps. A thread has TM rows and TN
// columns. A step's factors lie in shared memory as [8][row] and [8][column], twice, so that the next
// step's are stored while this one's are used. Of 8 columns of a thread, the second four lie half a row
// further, and 16 words, so that neither storing nor reading meets in a bank.
template <int BM, int BN, int TM, int TN, int Split>
struct Gather {
	static constexpr int Half = TN == 8 ? BN / 2 + 16 : 0, Wide = BN + (TN == 8 ? 16 : 0), High = BM + 4;
	static constexpr int Buffer = gatherDepth * (Wide + High);
	static constexpr int Sums = Split > 1 ? BM * BN : 0;
	static constexpr int Room = 2 * Split * Buffer > Sums ? 2 * Split * Buffer : Sums;
	static constexpr int Columns = BN > gatherThreads ? BN / gatherThreads : 1; // that a thread loads
	static constexpr int Apart = BN < gatherThreads ? gatherThreads / BN : 1;   // taps that are loaded at once
	static constexpr int Loads = gatherDepth / Apart;
	static constexpr int Weights = BM / 16;

	const float *from[Columns];
	unsigned bad[Columns];
	float xs[Columns][Loads], ws[Weights];

	static INLINE int slot(int column) { return TN == 8 ? column / 8 * 4 + column % 8 / 4 * Half + column % 4 : column; }
};

// gatherLoad reads what a thread stores of the step with the given taps.
template <int BM, int BN, int TM, int TN, int Split>
DEVICE void gatherLoad(Gather<BM, BN, TM, TN, Split> &g, const GatherArgs &a, const Tap *taps, int t, int row0) {
	typedef Gather<BM, BN, TM, TN, Split> G;
#pragma unroll
	for (int i = 0; i < G::Loads; i++) {
		const Tap tap = taps[i * G::Apart + t / BN % G::Apart];
#pragma unroll
		for (int c = 0; c < G::Columns; c++) g.xs[c][i] = g.bad[c] & tap.bit ? 0 : g.from[c][tap.x];
	}
	const Tap tap = taps[t % gatherDepth];
#pragma unroll
	for (int i = 0; i < G::Weights; i++) {
		const int row = row0 + t / gatherDepth + 16 * i;
		g.ws[i] = row < a.rows && !(tap.bit >> 31) ? a.w[(long long)row * a.ws + tap.w] : 0;
	}
}

template <int BM, int BN, int TM, int TN, int Split>
DEVICE void gatherStore(const Gather<BM, BN, TM, TN, Split> &g, float *buffer, int t) {
	typedef Gather<BM, BN, TM, TN, Split> G;
#pragma unroll
	for (int i = 0; i < G::Loads; i++)
#pragma unroll
		for (int c = 0; c < G::Columns; c++)
			buffer[(i * G::Apart + t / BN % G::Apart) * G::Wide + G::slot(t % BN + c * gatherThreads)] = g.xs[c][i];
#pragma unroll
	for (int i = 0; i < G::Weights; i++)
		buffer[gatherDepth * G::Wide + t % gatherDepth * G::High + t / gatherDepth + 16 * i] = g.ws[i];
}

template <int BM, int BN, int TM, int TN, int Split>
DEVICE void gather(const GatherArgs &a, float *room, int4 *room4) {
	typedef Gather<BM, BN, TM, TN, Split> Parts;
	const Group group = a.groups[blockIdx.z];
	const long long first = (long long)blockIdx.x * BN, total = (long long)a.n * group.places;
	if (first >= total) return; // the whole block: groups differ in size
	const int t = threadIdx.x % gatherThreads, part = threadIdx.x / gatherThreads, row0 = blockIdx.y * BM;
	const int n0 = first / group.places, p0 = first % group.places;
	const Place *places = a.places + group.place;
	Tap *table = (Tap *)room4;
	Parts g;
#pragma unroll
	for (int c = 0; c < Parts::Columns; c++) {
		const int at = p0 + t % BN + c * gatherThreads, n = n0 + at / group.places;
		g.bad[c] = ~0u, g.from[c] = a.x;
		if (n < a.n) {
			const Place p = places[at % group.places];
			g.bad[c] = p.bad, g.from[c] = a.x + ((long long)n * a.xs + p.x);
		}
	}
	constexpr int Down = BM / TM / 4; // warps; a warp has 4 threads below each other and 8 side by side
	const int warp = t / 32, down = (warp % Down * 4 + t % 32 / 8) * TM, across = warp / Down * 8 + t % 8;
	float acc[TM][TN];
#pragma unroll
	for (int i = 0; i < TM; i++)
#pragma unroll
		for (int j = 0; j < TN; j++) acc[i][j] = 0;
	float *buffers = room + 2 * part * Parts::Buffer;
	for (int begin = 0; begin < group.taps; begin += gatherTable) {
		constexpr int Round = gatherDepth * Split;
		const int taps = min(gatherTable, (group.taps - begin + Round - 1) / Round * Round);
		SYNC();
		for (int i = threadIdx.x; i < taps; i += gatherThreads * Split) table[i] = a.taps[group.tap + begin + i];
		SYNC();
		int k = part * gatherDepth, turn = 0;
		gatherLoad(g, a, table + k, t, row0);
		gatherStore(g, buffers, t);
		SYNC();
		for (;; turn ^= 1) {
			k += gatherDepth * Split;
			const bool more = k - part * gatherDepth < taps;
			if (more) gatherLoad(g, a, table + k, t, row0);
			const float *right = buffers + turn * Parts::Buffer + across * 4;
			const float *left = buffers + turn * Parts::Buffer + gatherDepth * Parts::Wide + down;
#pragma unroll
			for (int i = 0; i < gatherDepth; i++) {
				float u[TM], v[TN];
#pragma unroll
				for (int r = 0; r < TM; r += 4) *(float4 *)(u + r) = *(const float4 *)(left + i * Parts::High + r);
#pragma unroll
				for (int c = 0; c < TN; c += 4) *(float4 *)(v + c) = *(const float4 *)(right + i * Parts::Wide + c / 4 * Parts::Half);
#pragma unroll
				for (int r = 0; r < TM; r++)
#pragma unroll
					for (int c = 0; c < TN; c++) acc[r][c] += u[r] * v[c];
			}
			if (!more) break;
			gatherStore(g, buffers + (turn ^ 1) * Parts::Buffer, t);
			SYNC();
		}
	}
	for (int p = 1; p < Split; p++) { // in order
		SYNC();
		if (part == p)
#pragma unroll
			for (int r = 0; r < TM; r++)
#pragma unroll
				for (int c = 0; c < TN; c++) room[(r * TN + c) * gatherThreads + t] = acc[r][c];
		SYNC();
		if (part == 0)
#pragma unroll
			for (int r = 0; r < TM; r++)
#pragma unroll
				for (int c = 0; c < TN; c++) acc[r][c] += room[(r * TN + c) * gatherThreads + t];
	}
	if (part > 0) return;
	float bias[TM];
#pragma unroll
	for (int r = 0; r < TM; r++) bias[r] = a.bias && row0 + down + r < a.rows ? a.bias[row0 + down + r] : 0;
	const int at = p0 + across * TN;
	if (a.together) {
		const int n = n0 + at / group.places;
		if (n >= a.n) return;
		float *y = a.y + ((long long)n * a.rows + row0 + down) * a.plane + places[at % group.places].y;
#pragma unroll
		for (int r = 0; r < TM; r++)
			if (row0 + down + r < a.rows)
#pragma unroll
				for (int c = 0; c < TN; c += 4)
					*(float4 *)(y + (long long)r * a.plane + c) = float4{acc[r][c] + bias[r], acc[r][c + 1] + bias[r], acc[r][c + 2] + bias[r], acc[r][c + 3] + bias[r]};
		return;
	}
	const int last = a.q - 1; // q is a power of two that divides TN
	float best[TM];
	int arg[TM];
#pragma unroll
	for (int c = 0; c < TN; c++) {
#pragma unroll
		for (int r = 0; r < TM; r++) {
			const float v = acc[r][c] + bias[r];
			if ((c & last) == 0 || larger(v, best[r])) best[r] = v, arg[r] = c & last;
		}
		const int n = n0 + (at + c) / group.places;
		if ((c & last) < last || n >= a.n) continue;
		const long long to = ((long long)n * a.rows + row0 + down) * a.plane + places[(at + c) % group.places].y;
#pragma unroll
		for (int r = 0; r < TM; r++) {
			if (row0 + down + r >= a.rows) break;
			a.y[to + (long long)r * a.plane] = activate(a.act, best[r]);
			if (a.arg) a.arg[to + (long long)r * a.plane] = arg[r];
		}
	}
}

#define GATHER(name, bm, bn, tm, tn, split)                                      \
	KERNEL(gatherThreads * split, name, GatherArgs) {                            \
		SHARED int4 table[gatherTable];                                          \
		SHARED float4 room[Gather<bm, bn, tm, tn, split>::Room / 4];             \
		gather<bm, bn, tm, tn, split>(a, (float *)room, table);                  \
	}

GATHER(gather_16x256, 16, 256, 4, 8, 1)
GATHER(gather_16x128, 16, 128, 4, 4, 1)
GATHER(gather_32x128, 32, 128, 4, 8, 1)
GATHER(gather_32x128_split2, 32, 128, 4, 8, 2)
GATHER(gather_64x128, 64, 128, 8, 8, 1)
GATHER(gather_32x64_split2, 32, 64, 4, 4, 2)
GATHER(gather_32x64_split4, 32, 64, 4, 4, 4)

// Gradients of weights: part[chunk, row, k] = Σ_p dy[n, row, p.y]·x[n·xs + p.x + k.x] over the places of
// a chunk of all items. Column number columns is the sum of dy alone, for the bias.
//
// A block has BM rows and BN columns. 32 places at a time lie in shared memory, as [row][36] and
// [column][36], twice: a lane loads a place, and a warp every fourth row and column. Each warp
// sums 8 of the places for all rows and columns, a lane for every fourth and every eighth of them.
enum { dwPlaces = 32, dwPitch = 36 };

template <int BM, int BN>
DEVICE void gatherWeights(const GatherArgs &a, float *room) {
	constexpr int TM = BM / 4, TN = BN / 8, Rows = BM / 4, Columns = BN / 4, Buffer = (BM + BN) * dwPitch;
	const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
	const int row0 = blockIdx.z * BM, column0 = blockIdx.y * BN;
	const Group group = a.groups[0];
	const long long total = (long long)a.n * group.places, steps = (total + dwPlaces - 1) / dwPlaces;
	const long long lo = steps * blockIdx.x / a.chunks * dwPlaces;
	const int count = (int)(min(total, steps * (blockIdx.x + 1) / a.chunks * dwPlaces) - lo);
	int offset[Columns];
	unsigned bit[Columns];
#pragma unroll
	for (int i = 0; i < Columns; i++) {
		const int column = column0 + warp + 4 * i;
		offset[i] = 0, bit[i] = 1u << 31;
		if (column < a.columns) {
			const Tap tap = a.taps[group.tap + column];
			offset[i] = tap.x, bit[i] = tap.bit;
		} else
			for (int b = 0; b < 2; b++) room[b * Buffer + (BM + warp + 4 * i) * dwPitch + lane] = column == a.columns ? 1 : 0;
	}
	int n = lo / group.places, at = lo % group.places + lane;
	while (at >= group.places) at -= group.places, n++;
	float left[Rows], right[Columns];
	float acc[TM][TN];
#pragma unroll
	for (int i = 0; i < TM; i++)
#pragma unroll
		for (int j = 0; j < TN; j++) acc[i][j] = 0;

	Place place = {0, ~0u, 0, 0};
	if (lane < count) place = a.places[group.place + at];
	for (int first = 0, turn = 0; first < count + dwPlaces; first += dwPlaces, turn ^= 1) {
		if (first < count) { // load these places
			const bool in = first + lane < count;
			const float *x = a.x + (long long)n * a.xs + place.x;
			const float *dy = a.dy + ((long long)n * a.rows + row0 + warp) * a.plane + place.y;
			const unsigned bad = in ? place.bad : ~0u;
#pragma unroll
			for (int i = 0; i < Rows; i++) left[i] = in && row0 + warp + 4 * i < a.rows ? dy[(long long)(4 * i) * a.plane] : 0;
#pragma unroll
			for (int i = 0; i < Columns; i++) right[i] = bad & bit[i] ? 0 : x[offset[i]];
			at += dwPlaces;
			while (at >= group.places) at -= group.places, n++;
			if (first + dwPlaces + lane < count) place = a.places[group.place + at];
		}
		if (first > 0) { // add those before
			const float *from = room + (turn ^ 1) * Buffer + warp * 8;
#pragma unroll
			for (int k = 0; k < 8; k += 4) {
				float4 v[TN];
#pragma unroll
				for (int j = 0; j < TN; j++) v[j] = *(const float4 *)(from + (BM + lane % 8 + 8 * j) * dwPitch + k);
#pragma unroll
				for (int i = 0; i < TM; i++) {
					const float4 u = *(const float4 *)(from + (lane / 8 + 4 * i) * dwPitch + k);
#pragma unroll
					for (int j = 0; j < TN; j++) acc[i][j] = dot(acc[i][j], u, v[j]);
				}
			}
		}
		if (first < count) {
			float *to = room + turn * Buffer + warp * dwPitch + lane;
#pragma unroll
			for (int i = 0; i < Rows; i++) to[4 * i * dwPitch] = left[i];
#pragma unroll
			for (int i = 0; i < Columns; i++)
				if (!(bit[i] >> 31)) to[(BM + 4 * i) * dwPitch] = right[i];
		}
		SYNC();
	}
	for (int w = 0; w < 4; w++) { // in order
		if (warp == w)
#pragma unroll
			for (int i = 0; i < TM; i++)
#pragma unroll
				for (int j = 0; j < TN; j++) {
					float *sum = room + (lane / 8 + 4 * i) * BN + lane % 8 + 8 * j;
					*sum = w ? *sum + acc[i][j] : acc[i][j];
				}
		SYNC();
	}
	float *part = a.part + (long long)blockIdx.x * a.rows * (a.columns + 1);
	for (int i = threadIdx.x; i < BM * BN; i += gatherThreads) {
		const int row = row0 + i / BN, column = column0 + i % BN;
		if (row < a.rows && column < a.columns) part[(long long)row * a.columns + column] = room[i];
		if (row < a.rows && column == a.columns) part[(long long)a.rows * a.columns + row] = room[i];
	}
}

#define GATHER_DW(name, bm, bn)                                 \
	KERNEL(gatherThreads, name, GatherArgs) {                   \
		SHARED float4 room[2 * (bm + bn) * dwPitch / 4];        \
		gatherWeights<bm, bn>(a, (float *)room);                \
	}

GATHER_DW(gather_dw_16x32, 16, 32)
GATHER_DW(gather_dw_32x32, 32, 32)
GATHER_DW(gather_dw_32x64, 32, 64)

// UnpoolArgs spreads gradients of maxima over their windows, of at most 8 places, times the slope of the
// activation. What lies in no window is left as it is.
struct UnpoolArgs {
	const float *dy, *y; // [planes, z]
	const int *arg;
	float *to;           // [planes, out]
	int planes, act;
	Three out, q, z;
};

KERNEL(256, unpool, UnpoolArgs) {
	const int size = a.z.d * a.z.h * a.z.w;
	const long long first = (long long)blockIdx.x * 256;
	const int rest = first % size + threadIdx.x, plane = first / size + rest / size, at = rest % size;
	if (plane >= a.planes) return;
	const long long from = (long long)plane * size + at;
	const float g = a.dy[from] * slope(a.act, a.y[from]);
	const int best = a.arg[from], w = at % a.z.w * a.q.w, h = at / a.z.w % a.z.h * a.q.h, d = at / (a.z.w * a.z.h) * a.q.d;
	float *to = a.to + (long long)plane * (a.out.d * a.out.h * a.out.w) + (d * a.out.h + h) * a.out.w + w;
	int i = 0;
	if (a.q.w == 2 && a.out.w % 2 == 0) { // two neighbours at once
		for (int q = 0; q < a.q.d * a.q.h; q++, i += 2)
			*(float2 *)(to + (q / a.q.h * a.out.h + q % a.q.h) * a.out.w) = float2{i == best ? g : 0, i + 1 == best ? g : 0};
		return;
	}
	for (int qd = 0; qd < a.q.d; qd++)
		for (int qh = 0; qh < a.q.h; qh++)
			for (int qw = 0; qw < a.q.w; qw++, i++) to[(qd * a.out.h + qh) * a.out.w + qw] = i == best ? g : 0;
}
