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
	int n, k, d;
	float limit;
};

enum { lossComponents = 64, lossThreads = 64 };

// LossScratch is what the threads of an item share.
struct LossScratch {
	double logp[lossComponents], weight[lossComponents], mass[lossComponents];
};

// component returns log B(α+S)/B(α) of one component and sets q [d] to its derivative with respect to
// log α, whose raw values are x. With u_t = 1/(α₀+t) and m votes
//
//	∂/∂ log α_i = (α₀−α_i) Σ_{t<S_i} α_i/(α_i+t)·u_t − α_i Σ_{t=S_i}^{m−1} u_t,
//
// where α₀ − α_i of a large α_i is summed from the others, so that nothing cancels.
DEVICE double component(float *q, const float *x, const float *s, int d, float limit) {
	double a0 = 0, rest = 0;
	int m = 0, big = -1;
	for (int i = 0; i < d; i++) {
		q[i] = expf(x[i] > limit ? limit : x[i] < -limit ? -limit : x[i]); // α for now
		a0 += q[i];
		m += (int)s[i];
	}
	for (int i = 0; i < d; i++)
		if (q[i] > 0.5 * a0) big = i;
	for (int i = 0; i < d; i++)
		if (i != big) rest += q[i];
	double all = 0; // Σ u
	for (int t = 0; t < m; t++) all += 1 / (a0 + t);
	double logp = 0, p = 1;
	int vote = 0;
	for (int i = 0; i < d; i++) {
		const double a = q[i];
		double up = 0, before = 0;
		for (int t = 0; t < (int)s[i]; t++, vote++) {
			const double u = 1 / (a0 + t);
			before += u;
			up += t == 0 ? u : a / (a + t) * u;
			p *= (a + t) / (a0 + vote);
			if (vote % 8 == 7) logp += log(p), p = 1; // e^±40 each
		}
		q[i] = (float)((i == big ? rest : a0 - a) * up - a * (all - before));
	}
	return logp + log(p);
}

// mixtureLoss sets grad, for an item with raw outputs out and votes s, to scale times the derivative
// of its loss, which it returns to all threads of the block. All of them call it.
DEVICE double mixtureLoss(const LossArgs &a, const float *out, float *grad, const float *s, double scale, float weight, int threads,
                          LossScratch &x) {
	const int k = a.k, d = a.d;
	for (int c = threadIdx.x; c < k; c += threads)
		x.logp[c] = (double)out[c] + component(grad + k + c * d, out + k + c * d, s, d, a.limit);
	SYNC();
	double topW = out[0], topP = x.logp[0];
	for (int c = 1; c < k; c++) topW = fmax(topW, (double)out[c]), topP = fmax(topP, x.logp[c]);
	for (int c = threadIdx.x; c < k; c += threads) x.weight[c] = exp((double)out[c] - topW), x.mass[c] = exp(x.logp[c] - topP);
	SYNC();
	double weights = 0, masses = 0;
	for (int c = 0; c < k; c++) weights += x.weight[c], masses += x.mass[c];
	for (int c = threadIdx.x; c < k; c += threads) {
		double p = x.weight[c] / weights * scale, r = x.mass[c] / masses * scale;
		if (p < 1e-30) p = 0;
		if (r < 1e-30) r = 0;
		grad[c] = (float)(p - r) * weight;
		for (int i = 0; i < d; i++) {
			const float v = out[k + c * d + i];
			float g = (float)(-r * (double)grad[k + c * d + i]);
			if (v > a.limit && g < 0 || v < -a.limit && g > 0) g = 0; // a step leads further out
			grad[k + c * d + i] = g * weight;
		}
	}
	return topW - topP + log(weights / masses);
}

// itemLoss is mixtureLoss with what it leaves to the host; s are the item's votes, in shared memory.
DEVICE void itemLoss(const LossArgs &a, int n, const float *out, float *grad, const float *s, int threads, LossScratch &x) {
	float votes = 0;
	for (int i = 0; i < a.d; i++) votes += s[i];
	if (votes == 0) {
		for (int i = threadIdx.x; i < a.k * (a.d + 1); i += threads) grad[i] = 0;
		if (threadIdx.x == 0) a.nll[n] = 0;
	} else {
		const double nll = mixtureLoss(a, out, grad, s, (double)a.sent[3], a.weights[n], threads, x);
		if (threadIdx.x == 0) a.nll[n] = nll;
	}
	if (threadIdx.x == 32) {
		float clamped = 0;
		for (int i = a.k; i < a.k * (a.d + 1); i++) clamped += out[i] > a.limit || out[i] < -a.limit;
		a.clamped[n] = clamped;
	}
	if (n == 0 && threadIdx.x < 4) a.numbers[threadIdx.x] = a.sent[threadIdx.x];
}

// mixture_loss: a block has an item.
KERNEL(lossThreads, mixture_loss, LossArgs) {
	SHARED LossScratch scratch;
	SHARED float votes[lossComponents];
	const int n = blockIdx.x, width = a.k * (a.d + 1);
	for (int i = threadIdx.x; i < a.d; i += lossThreads) votes[i] = a.counts[n * a.d + i];
	SYNC();
	itemLoss(a, n, a.out + (long long)n * width, a.grad + (long long)n * width, votes, lossThreads, scratch);
}
