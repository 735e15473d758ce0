// Batch norm and layer norm. Sums are float64, as on the CPU.
#include "common.h"

enum { normThreads = 256 };

// NormArgs is a batch norm of c channels of s values in each of n items, with or without a ReLU.
struct NormArgs {
	const float *x, *gamma, *beta;
	float *y;
	float *mean, *inv;          // [c] as used
	float *runMean, *runVar;    // [c] running statistics
	double *part;               // [c, parts, 2]
	const float *dy;
	float *dx, *dgamma, *dbeta; // dx may be null
	int n, c, s, train, parts, relu;
	float epsilon, momentum;
};

// blockSums adds two numbers of all threads, for all of them. A kernel calls it once.
DEVICE void blockSums(double &a, double &b, double *shared) {
	enum { warps = normThreads / 32 };
	const int warp = threadIdx.x / 32;
#pragma unroll
	for (int mask = 16; mask > 0; mask /= 2) a += SHUFFLE(a, mask), b += SHUFFLE(b, mask);
	if (threadIdx.x % 32 == 0) shared[warp] = a, shared[warps + warp] = b;
	SYNC();
	a = 0, b = 0;
#pragma unroll
	for (int w = 0; w < warps; w++) a += shared[w], b += shared[warps + w];
}

// normEach calls f with the index of each V values of part blockIdx.y of channel blockIdx.x.
template <int V, typename F>
DEVICE void normEach(const NormArgs &a, F f) {
	const int c = blockIdx.x;
	const long long total = (long long)a.n * a.s / V;
	const long long lo = total * blockIdx.y / a.parts * V;
	const int count = (int)(total * (blockIdx.y + 1) / a.parts * V - lo), first = lo % a.s;
	const long long row = lo / a.s;
	for (int i = threadIdx.x * V; i < count; i += normThreads * V) {
		const int at = first + i;
		f(((row + at / a.s) * a.c + c) * a.s + at % a.s);
	}
}

// normed is the result of a value x.
DEVICE float normed(float x, float mean, float scale, float beta) { return (x - mean) * scale + beta; }

// normGrad is the gradient of the norm's result, before a ReLU.
DEVICE float normGrad(int relu, float g, float x, float mean, float scale, float beta) {
	return relu && !(normed(x, mean, scale, beta) > 0) ? 0 : g;
}

// batch_norm_sums: block (channel, part) sums values and squares, or, with dy, dy and dy·(x − mean).
KERNEL(normThreads, batch_norm_sums, NormArgs) {
	SHARED double shared[2 * normThreads / 32];
	const int c = blockIdx.x, relu = a.relu;
	const float mean = a.dy ? a.mean[c] : 0, scale = a.dy ? a.inv[c] * a.gamma[c] : 0, beta = a.beta[c];
	double p = 0, q = 0;
	const auto add = [&](float x) { p += x, q += (double)x * (double)x; };
	const auto addGrad = [&](float g, float x) {
		g = normGrad(relu, g, x, mean, scale, beta);
		p += g, q += (double)g * (double)(x - mean);
	};
	if (a.s % 4 != 0)
		normEach<1>(a, [&](long long i) {
			if (a.dy)
				addGrad(a.dy[i], a.x[i]);
			else
				add(a.x[i]);
		});
	else
		normEach<4>(a, [&](long long i) {
			const float4 x = *(const float4 *)(a.x + i);
			if (!a.dy) {
				add(x.x), add(x.y), add(x.z), add(x.w);
				return;
			}
			const float4 g = *(const float4 *)(a.dy + i);
			addGrad(g.x, x.x), addGrad(g.y, x.y), addGrad(g.z, x.z), addGrad(g.w, x.w);
		});
	blockSums(p, q, shared);
	if (threadIdx.x == 0) a.part[(c * a.parts + blockIdx.y) * 2] = p, a.part[(c * a.parts + blockIdx.y) * 2 + 1] = q;
}

// normSums adds the parts of the block's channel, of which there are at most normThreads.
DEVICE void normSums(const NormArgs &a, double &p, double &q, double *shared) {
	const int at = (blockIdx.x * a.parts + threadIdx.x) * 2;
	p = 0, q = 0;
	if (threadIdx.x < a.parts) p = a.part[at], q = a.part[at + 1];
	blockSums(p, q, shared);
}

// batch_norm: the first block of a channel also writes its statistics, and in training the running ones.
KERNEL(normThreads, batch_norm, NormArgs) {
	SHARED double shared[2 * normThreads / 32];
	const int c = blockIdx.x, relu = a.relu;
	const bool first = blockIdx.y == 0 && threadIdx.x == 0;
	double mean = a.runMean[c], var = a.runVar[c];
	if (a.train) {
		double sum, sq;
		normSums(a, sum, sq, shared);
		const double n = (double)a.n * a.s, m = (double)a.momentum;
		mean = sum / n;
		sq = fmax(sq - sum * sum / n, 0.0);
		var = sq / n;
		if (first) {
			a.runMean[c] = (float)((1 - m) * (double)a.runMean[c] + m * mean);
			a.runVar[c] = (float)((1 - m) * (double)a.runVar[c] + m * (sq / fmax(n - 1, 1.0)));
		}
	}
	const float center = (float)mean, inv = (float)(1 / sqrt(var + (double)a.epsilon)), scale = inv * a.gamma[c], beta = a.beta[c];
	if (first) a.mean[c] = center, a.inv[c] = inv;
	const auto result = [&](float x) {
		const float y = normed(x, center, scale, beta);
		return relu && y < 0 ? 0 : y;
	};
	if (a.s % 4 != 0)
		normEach<1>(a, [&](long long i) { a.y[i] = result(a.x[i]); });
	else
		normEach<4>(a, [&](long long i) {
			const float4 x = *(const float4 *)(a.x + i);
			*(float4 *)(a.y + i) = float4{result(x.x), result(x.y), result(x.z), result(x.w)};
		});
}

// batch_norm_dx: the first block of a channel also writes the gradients of gamma and beta.
KERNEL(normThreads, batch_norm_dx, NormArgs) {
	SHARED double shared[2 * normThreads / 32];
	const int c = blockIdx.x, relu = a.relu;
	double sum, dot;
	normSums(a, sum, dot, shared);
	const float inv = a.inv[c], mean = a.mean[c], scale = inv * a.gamma[c], beta = a.beta[c];
	if (blockIdx.y == 0 && threadIdx.x == 0) {
		a.dgamma[c] = (float)(dot * (double)inv);
		a.dbeta[c] = (float)sum;
	}
	if (!a.dx) return;
	const double n = (double)a.n * a.s;
	const float p = (float)(sum / n), q = (float)(dot * (double)inv / n);
	const auto result = [&](float g, float x) {
		g = normGrad(relu, g, x, mean, scale, beta);
		return scale * (g - p - (x - mean) * inv * q);
	};
	if (a.s % 4 != 0)
		normEach<1>(a, [&](long long i) { a.dx[i] = result(a.dy[i], a.x[i]); });
	else
		normEach<4>(a, [&](long long i) {
			const float4 x = *(const float4 *)(a.x + i), g = *(const float4 *)(a.dy + i);
			*(float4 *)(a.dx + i) = float4{result(g.x, x.x), result(g.y, x.y), result(g.z, x.z), result(g.w, x.w)};
		});
}

// Layer norm: c is 1, s the values of an item, mean and inv are [n]; a block has an item.
KERNEL(normThreads, layer_norm, NormArgs) {
	SHARED double shared[2 * normThreads / 32];
	const float *x = a.x + (long long)blockIdx.x * a.s;
	float *y = a.y + (long long)blockIdx.x * a.s;
	double sum = 0, sq = 0;
	for (int i = threadIdx.x; i < a.s; i += normThreads) sum += x[i], sq += (double)x[i] * (double)x[i];
	blockSums(sum, sq, shared);
	const float mean = (float)(sum / a.s);
	const float inv = (float)(1 / sqrt(fmax(sq - sum * sum / a.s, 0.0) / a.s + (double)a.epsilon));
	for (int i = threadIdx.x; i < a.s; i += normThreads) y[i] = (x[i] - mean) * inv * a.gamma[i] + a.beta[i];
	if (threadIdx.x == 0) a.mean[blockIdx.x] = mean, a.inv[blockIdx.x] = inv;
}

KERNEL(normThreads, layer_norm_dx, NormArgs) {
	SHARED double shared[2 * normThreads / 32];
	const long long row = (long long)blockIdx.x * a.s;
	const float mean = a.mean[blockIdx.x], inv = a.inv[blockIdx.x];
	double sum = 0, dot = 0;
	for (int i = threadIdx.x; i < a.s; i += normThreads) {
		const double g = (double)(a.dy[row + i] * a.gamma[i]);
		sum += g, dot += g * (double)((a.x[row + i] - mean) * inv);
	}
	blockSums(sum, dot, shared);
	const float p = (float)(sum / a.s), q = (float)(dot / a.s);
	for (int i = threadIdx.x; i < a.s; i += normThreads)
		a.dx[row + i] = inv * (a.dy[row + i] * a.gamma[i] - p - (a.x[row + i] - mean) * inv * q);
}

// layer_norm_dw: a thread per value goes through the items.
KERNEL(normThreads, layer_norm_dw, NormArgs) {
	const int i = blockIdx.x * normThreads + threadIdx.x;
	if (i >= a.s) return;
	float dgamma = 0, dbeta = 0;
	for (int j = 0; j < a.n; j++) {
		const long long at = (long long)j * a.s + i;
		dgamma += a.dy[at] * (a.x[at] - a.mean[j]) * a.inv[j];
		dbeta += a.dy[at];
	}
	a.dgamma[i] = dgamma, a.dbeta[i] = dbeta;
}
