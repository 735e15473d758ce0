// Matrix products, for dense layers.
#include "common.h"

// GemmArgs is C = A·B, where A(i, k) is a[i·ai + k·ak] and B(k, j) is b[k·bk + j·bj]: one stride of
// each is 1. Of several parts of k, part z writes its sums to c + z·m·n.
struct GemmArgs {
	const float *a, *b, *bias; // bias [n] or null, only where parts is 1
	float *c;                  // [parts, m, n]
	int m, n, k, ai, ak, bk, bj, parts, relu;
};

// A block of 256 threads computes 16·T rows and columns, a thread T of each, 16 apart.
template <int T>
DEVICE void multiply(const GemmArgs &a, float *left, float *right) {
	enum { Size = 16 * T, Depth = 16, Pitch = Size + 1 };
	const int row = threadIdx.x / 16, col = threadIdx.x % 16;
	const int i0 = blockIdx.y * Size, j0 = blockIdx.x * Size;
	const int steps = (a.k + Depth - 1) / Depth;
	const int lo = (long long)steps * blockIdx.z / a.parts * Depth;
	const int hi = min(a.k, (int)((long long)steps * (blockIdx.z + 1) / a.parts * Depth));
	float acc[T][T];
#pragma unroll
	for (int i = 0; i < T; i++)
#pragma unroll
		for (int j = 0; j < T; j++) acc[i][j] = 0;
	for (int k0 = lo; k0 < hi; k0 += Depth) {
#pragma unroll
		for (int e = 0; e < T; e++) {
			const int at = e * 256 + threadIdx.x;
			// Neighbouring threads read along the stride that is 1.
			const int k = a.ak == 1 ? at % Depth : at / Size, i = a.ak == 1 ? at / Depth : at % Size;
			left[k * Pitch + i] = i0 + i < a.m && k0 + k < hi ? a.a[(long long)(i0 + i) * a.ai + (long long)(k0 + k) * a.ak] : 0;
			const int l = a.bk == 1 ? at % Depth : at / Size, j = a.bk == 1 ? at / Depth : at % Size;
			right[l * Pitch + j] = j0 + j < a.n && k0 + l < hi ? a.b[(long long)(k0 + l) * a.bk + (long long)(j0 + j) * a.bj] : 0;
		}
		SYNC();
#pragma unroll
		for (int k = 0; k < Depth; k++) {
			float u[T], v[T];
#pragma unroll
			for (int i = 0; i < T; i++) u[i] = left[k * Pitch + row + 16 * i], v[i] = right[k * Pitch + col + 16 * i];
#pragma unroll
			for (int i = 0; i < T; i++)
#pragma unroll
				for (int j = 0; j < T; j++) acc[i][j] += u[i] * v[j];
		}
		SYNC();
	}
	float *c = a.c + (long long)blockIdx.z * a.m * a.n;
#pragma unroll
	for (int i = 0; i < T; i++)
#pragma unroll
		for (int j = 0; j < T; j++) {
			const int r = i0 + row + 16 * i, s = j0 + col + 16 * j;
			if (r >= a.m || s >= a.n) continue;
			const float v = a.bias ? acc[i][j] + a.bias[s] : acc[i][j];
			c[(long long)r * a.n + s] = a.relu && v < 0 ? 0 : v;
		}
}

#define GEMM(name, t)                                                      \
	KERNEL(256, name, GemmArgs) {                                          \
		SHARED float left[16 * (16 * t + 1)], right[16 * (16 * t + 1)];    \
		multiply<t>(a, left, right);                                       \
	}

GEMM(gemm_16, 1)
GEMM(gemm_32, 2)
GEMM(gemm_64, 4)

// ColumnArgs sums the columns of x [n, width].
struct ColumnArgs {
	const float *x;
	float *sum;
	int n, width;
};

KERNEL(256, column_sums, ColumnArgs) {
	SHARED float sums[256];
	const int col = threadIdx.x % 32, seg = threadIdx.x / 32, i = blockIdx.x * 32 + col;
	float s = 0;
	if (i < a.width)
		for (int j = seg; j < a.n; j += 8) s += a.x[(long long)j * a.width + i];
	sums[threadIdx.x] = s;
	SYNC();
	if (seg > 0 || i >= a.width) return;
	for (int k = 1; k < 8; k++) s += sums[k * 32 + col];
	a.sum[i] = s;
}
