// Optimizers over all parameters of a network at once.
#include "common.h"

enum { stepThreads = 256, squareBlocks = 64 };

// StepArgs moves weights w by their gradients. numbers are [rate, c1, c2], those of the step: c1 and
// c2 correct the moments of Adam. squares [parts] sum to the squared norm of the gradient.
struct StepArgs {
	float *w, *m, *v;
	float *d;
	const float *numbers;
	double *squares;
	int count, sgd, decoupled, nesterov, parts;
	float beta1, beta2, epsilon, decay, clip, momentum;
};

// blockSum adds a number of all threads, in an order that is always the same, for all of them.
DEVICE double blockSum(double s, double *sums) {
	sums[threadIdx.x] = s;
	for (int half = stepThreads / 2; half > 0; half /= 2) {
		SYNC();
		if (threadIdx.x < half) sums[threadIdx.x] += sums[threadIdx.x + half];
	}
	SYNC();
	return sums[0];
}

KERNEL(stepThreads, sum_squares, StepArgs) {
	SHARED double sums[stepThreads];
	double s = 0;
	for (int i = blockIdx.x * stepThreads + threadIdx.x; i < a.count; i += squareBlocks * stepThreads)
		s += (double)a.d[i] * (double)a.d[i];
	s = blockSum(s, sums);
	if (threadIdx.x == 0) a.squares[blockIdx.x] = s;
}

// gradScale is what clipping multiplies gradients with.
DEVICE float gradScale(const StepArgs &a, double *sums) {
	if (!(a.clip > 0)) return 1;
	double s = 0;
	for (int i = threadIdx.x; i < a.parts; i += stepThreads) s += a.squares[i];
	const double norm = sqrt(blockSum(s, sums));
	return norm > (double)a.clip ? (float)((double)a.clip / norm) : 1;
}

// update moves weight i by its gradient g, which was scaled.
DEVICE void update(const StepArgs &a, int i, float g) {
	const float rate = a.numbers[0];
	float w = a.w[i];
	if (a.sgd) {
		g += a.decay * w;
		const float v = a.momentum * a.m[i] + g;
		a.m[i] = v;
		a.w[i] = w - (a.nesterov ? rate * a.momentum * v + rate * g : rate * v);
		return;
	}
	const float c1 = a.numbers[1], c2 = a.numbers[2];
	if (!a.decoupled) g += a.decay * w;
	const float m = a.beta1 * a.m[i] + (1 - a.beta1) * g;
	const float v = a.beta2 * a.v[i] + (1 - a.beta2) * g * g;
	a.m[i] = m, a.v[i] = v;
	if (a.decoupled) w -= rate * a.decay * w;
	a.w[i] = w - rate / c1 * m / (sqrtf(v / c2) + a.epsilon);
}

KERNEL(stepThreads, optimize, StepArgs) {
	SHARED double sums[stepThreads];
	const int i = blockIdx.x * stepThreads + threadIdx.x;
	const float scale = gradScale(a, sums);
	if (i < a.count) update(a, i, scale * a.d[i]);
}
