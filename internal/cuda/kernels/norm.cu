// Batch norm and layer norm. Sums are float64, as on the CPU.
#include "common.h"

enum { normThreads = 256, normParts = 16 };

// NormArgs is a batch norm of c channels of s values in each of n items.
struct NormArgs {
	const float *x, *gamma, *beta;
	float *y;
	float *mean, *inv;          // [c] as used
	float *runMean, *runVar;    // [c] running statistics
	double *part;               // [c, normParts, 2]
	const float *dy;
	float *dx, *dgamma, *dbeta; // dx may be null
	int n, c, s, train;
	float epsilon, momentum;
};

// blockSums adds two numbers of all threads; the result is the first thread's.
DEVICE void blockSums(double &a, double &b, double *shared) {
	const int t = threadIdx.x;
	shared[t] = a, shared[normThreads + t] = b;
	for (int half = normThreads / 2; half > 0; half /= 2) {
		SYNC();
		if (t < half) shared[t] += shared[t + half], shared[normThreads + t] += shared[normThreads + t + half];
	}
	SYNC();
	a = shared[0], b = shared[normThreads];
}

// batch_norm_sums: block (channel, part) sums values and squares, or, with dy, dy and dy·(x − mean).
KERNEL(normThreads, batch_norm_sums, NormArgs) {
	SHARED double shared[2 * normThreads];
	const int c = blockIdx.x, part = blockIdx.y;
	const long long total = (long long)a.n * a.s;
	const long long lo = total * part / normParts, hi = total * (part + 1) / normParts;
	const float mean = a.dy ? a.mean[c] : 0;
	double p = 0, q = 0;
	for (long long i = lo + threadIdx.x; i < hi; i += normThreads) {
		const long long at = (i / a.s * a.c + c) * a.s + i % a.s;
		const float x = a.x[at];
		if (a.dy) {
			const float g = a.dy[at];
			p += g, q += (double)g * (double)(x - mean);
		} else {
			p += x, q += (double)x * (double)x;
		}
	}
	blockSums(p, q, shared);
	if (threadIdx.x == 0) a.part[(c * normParts + part) * 2] = p, a.part[(c * normParts + part) * 2 + 1] = q;
}

// normSums adds the parts of a channel.
DEVICE void normSums(const NormArgs &a, int c, double &p, double &q) {
	p = 0, q = 0;
	for (int i = 0; i < normParts; i++) p += a.part[(c * normParts + i) * 2], q += a.part[(c * normParts + i) * 2 + 1];
}

// batch_norm_statistics: a thread per channel sets mean and inv, and in training the running ones.
KERNEL(normThreads, batch_norm_statistics, NormArgs) {
	const int c = blockIdx.x * normThreads + threadIdx.x;
	if (c >= a.c) return;
	if (!a.train) {
		a.mean[c] = a.runMean[c];
		a.inv[c] = (float)(1 / sqrt((double)a.runVar[c] + (double)a.epsilon));
		return;
	}
	double sum, sq;
	normSums(a, c, sum, sq);
	const double n = (double)a.n * a.s, mean = sum / n, m = (double)a.momentum;
	sq = fmax(sq - sum * sum / n, 0.0);
	a.mean[c] = (float)mean;
	a.inv[c] = (float)(1 / sqrt(sq / n + (double)a.epsilon));
	a.runMean[c] = (float)((1 - m) * (double)a.runMean[c] + m * mean);
	a.runVar[c] = (float)((1 - m) * (double)a.runVar[c] + m * (sq / fmax(n - 1, 1.0)));
}

KERNEL(normThreads, batch_norm, NormArgs) {
	const long long i = (long long)blockIdx.x * normThreads + threadIdx.x;
	if (i >= (long long)a.n * a.c * a.s) return;
	const int c = i / a.s % a.c;
	a.y[i] = (a.x[i] - a.mean[c]) * (a.inv[c] * a.gamma[c]) + a.beta[c];
}

// batch_norm_dx also writes the gradients of gamma and beta, by the threads of the first values.
KERNEL(normThreads, batch_norm_dx, NormArgs) {
	const long long i = (long long)blockIdx.x * normThreads + threadIdx.x;
	if (i < a.c) {
		double sum, dot;
		normSums(a, (int)i, sum, dot);
		a.dgamma[i] = (float)(dot * (double)a.inv[i]);
		a.dbeta[i] = (float)sum;
	}
	if (!a.dx || i >= (long long)a.n * a.c * a.s) return;
	const int c = i / a.s % a.c;
	const float inv = a.inv[c];
	float p = 0, q = 0;
	if (a.train) {
		double sum, dot;
		normSums(a, c, sum, dot);
		const double n = (double)a.n * a.s;
		p = (float)(sum / n), q = (float)(dot * (double)inv / n);
	}
	a.dx[i] = inv * a.gamma[c] * (a.dy[i] - p - (a.x[i] - a.mean[c]) * inv * q);
}

// Layer norm: c is 1, s the values of an item, mean and inv are [n]; a block has an item.
KERNEL(normThreads, layer_norm, NormArgs) {
	SHARED double shared[2 * normThreads];
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
	SHARED double shared[2 * normThreads];
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
