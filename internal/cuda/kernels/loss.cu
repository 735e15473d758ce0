// The loss of a mixture of Dirichlet distributions (package head): the negative logarithm of the exact
// likelihood of an item's votes, in float64, and its gradient.
#include "common.h"

// LossArgs are raw outputs, k logits and k·d values of log α of each item, and votes. What host says
// lies in pinned memory of the host, which kernels reach by themselves.
struct LossArgs {
	const float *out;     // [n, k·(d+1)]
	float *grad;          // the same
	const float *counts;  // [n, d] host: whole numbers
	const float *weights; // [n] host: of gradients
	const float *sent;    // [4] host: rate, c1, c2 (see StepArgs) and what gradients are multiplied with
	float *numbers;       // [4] the same on the device, for kernels that follow
	double *nll;          // [n] host
	float *clamped;       // [n] host: how many log α are beyond the limit
	const double *voters; // [n, raterVotes, 2] host: see Voter in raters.cu; null without raters
	const double *shifts; // [n] host: how far raters move the likelihood along z
	double *scores;       // [n, raterVotes, 2] host: what scoreVote returns
	const double *grids;  // [3, nodes] log p, log(1−p) and p/(1−p) on all grids
	int n, k, d;
	float limit;
	int nodes;
};

enum { lossComponents = 64, lossScratch = 4352, lossThreads = 128 };

// lossTerm is what class i of a component with raw values x of log α adds to the logarithm of the
// likelihood of votes s, and its derivative q with respect to log α_i; class d is what all take from it:
//
//	log B(α+S)/B(α) = Σ_i Σ_{t<S_i} log(α_i+t) − Σ_{t<m} log(α₀+t)
//	∂/∂ log α_i = (α₀−α_i) Σ_{t<S_i} α_i/((α_i+t)(α₀+t)) − α_i Σ_{t=S_i}^{m−1} 1/(α₀+t),
//
// where α₀ − α_i is summed from the others, so that nothing cancels.
DEVICE double lossTerm(float *q, const float *x, const float *s, int i, int d, float limit) {
	double a = 0, rest = 0;
	int m = 0;
	for (int j = 0; j < d; j++) {
		const double v = expf(x[j] > limit ? limit : x[j] < -limit ? -limit : x[j]);
		if (j == i)
			a = v;
		else
			rest += v;
		m += (int)s[j];
	}
	const double a0 = a + rest;
	const int votes = i < d ? (int)s[i] : m;
	double log_ = 0, p = 1, up = 0, down = 0;
	for (int t = 0; t < m; t++) {
		if (t < votes) p *= a + t + (i < d ? 0 : rest);
		if (t % 8 == 7) log_ += log(p), p = 1; // e^±21 each
		if (i == d) continue;
		if (t < votes)
			up += a / ((a + t) * (a0 + t));
		else
			down += 1 / (a0 + t);
	}
	if (p != 1) log_ += log(p);
	if (i == d) return -log_;
	*q = (float)(rest * up - a * down);
	return log_;
}

// mixtureLoss sets grad, for an item with raw outputs out and votes s, to scale times weight times the
// derivative of its loss, which it returns to all threads of the block. All of them call it; x is for
// k·(d+4) numbers that they share.
DEVICE double mixtureLoss(const LossArgs &a, const float *out, float *grad, const float *s, double scale, float weight, int threads, double *x) {
	const int k = a.k, d = a.d;
	double *logp = x, *weights = x + k, *masses = x + 2 * k, *terms = x + 3 * k;
	for (int j = threadIdx.x; j < k * (d + 1); j += threads) {
		const int c = j / (d + 1), i = j % (d + 1);
		terms[j] = lossTerm(grad + k + c * d + i, out + k + c * d, s, i, d, a.limit);
	}
	SYNC();
	for (int c = threadIdx.x; c < k; c += threads) {
		double sum = out[c];
		for (int i = 0; i <= d; i++) sum += terms[c * (d + 1) + i];
		logp[c] = sum;
	}
	SYNC();
	double topW = out[0], topP = logp[0];
	for (int c = 1; c < k; c++) topW = fmax(topW, (double)out[c]), topP = fmax(topP, logp[c]);
	for (int c = threadIdx.x; c < 2 * k; c += threads) {
		const bool w = c < k;
		weights[c] = exp((w ? (double)out[c] : logp[c - k]) - (w ? topW : topP)); // masses behind weights
	}
	SYNC();
	double sumW = 0, sumP = 0;
	for (int c = 0; c < k; c++) sumW += weights[c], sumP += masses[c];
	for (int j = threadIdx.x; j < k * (d + 1); j += threads) {
		const int c = j < k ? j : (j - k) / d;
		double r = masses[c] / sumP * scale;
		if (r < 1e-30) r = 0;
		if (j < k) {
			double p = weights[c] / sumW * scale;
			if (p < 1e-30) p = 0;
			grad[j] = (float)(p - r) * weight;
			continue;
		}
		float g = (float)(-r * (double)grad[j]);
		if (out[j] > a.limit && g < 0 || out[j] < -a.limit && g > 0) g = 0; // a step leads further out
		grad[j] = g * weight;
	}
	return topW - topP + log(sumW / sumP);
}

#include "raters.cu"

// itemLoss is mixtureLoss, or raterLoss, with what it leaves to the host; s are the item's votes, in shared memory.
DEVICE void itemLoss(const LossArgs &a, int n, const float *out, float *grad, const float *s, int threads, double *x) {
	float votes = 0;
	for (int i = 0; i < a.d; i++) votes += s[i];
	double nll = 0;
	if (votes == 0)
		for (int i = threadIdx.x; i < a.k * (a.d + 1); i += threads) grad[i] = 0;
	else if (a.voters)
		nll = raterLoss(a, n, out, grad, s, (double)a.sent[3], a.weights[n], threads, x);
	else
		nll = mixtureLoss(a, out, grad, s, (double)a.sent[3], a.weights[n], threads, x);
	if (threadIdx.x == 0) a.nll[n] = nll;
	if (threadIdx.x == 32) {
		float clamped = 0;
		for (int i = a.k; i < a.k * (a.d + 1); i++) clamped += out[i] > a.limit || out[i] < -a.limit;
		a.clamped[n] = clamped;
	}
	if (n == 0 && threadIdx.x < 4) a.numbers[threadIdx.x] = a.sent[threadIdx.x];
}

// mixture_loss: a block has an item.
KERNEL(lossThreads, mixture_loss, LossArgs) {
	SHARED double scratch[lossScratch];
	SHARED float votes[lossComponents];
	const int n = blockIdx.x, width = a.k * (a.d + 1);
	for (int i = threadIdx.x; i < a.d; i += lossThreads) votes[i] = a.counts[n * a.d + i];
	SYNC();
	itemLoss(a, n, a.out + (long long)n * width, a.grad + (long long)n * width, votes, lossThreads, scratch);
}
