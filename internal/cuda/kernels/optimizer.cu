// Optimizers over all parameters of a network at once.
#include "common.h"

enum { stepThreads = 256, squareBlocks = 64 };

// StepArgs moves weights w by their gradients. numbers are [rate, c1, c2], those of the step: c1 and
// c2 correct the moments of Adam. squares [squareBlocks] sum to the squared norm of the gradient.
struct StepArgs {
	float *w, *m, *v;
	const float *d, *numbers;
	double *squares;
	int count, decoupled, nesterov;
	float beta1, beta2, epsilon, decay, clip, momentum;
};

KERNEL(stepThreads, sum_squares, StepArgs) {
	SHARED double sums[stepThreads];
	double s = 0;
	for (int i = blockIdx.x * stepThreads + threadIdx.x; i < a.count; i += squareBlocks * stepThreads)
		s += (double)a.d[i] * (double)a.d[i];
	sums[threadIdx.x] = s;
	for (int half = stepThreads / 2; half > 0; half /= 2) {
		SYNC();
		if (threadIdx.x < half) sums[threadIdx.x] += sums[threadIdx.x + half];
	}
	if (threadIdx.x == 0) a.squares[blockIdx.x] = sums[0];
}

// gradScale is what clipping multiplies gradients with.
DEVICE float gradScale(const StepArgs &a) {
	if (!(a.clip > 0)) return 1;
	double sum = 0;
	for (int i = 0; i < squareBlocks; i++) sum += a.squares[i];
	const double norm = sqrt(sum);
	return norm > (double)a.clip ? (float)((double)a.clip / norm) : 1;
}

KERNEL(stepThreads, adam, StepArgs) {
	const int i = blockIdx.x * stepThreads + threadIdx.x;
	if (i >= a.count) return;
	const float rate = a.numbers[0], c1 = a.numbers[1], c2 = a.numbers[2];
	float w = a.w[i], g = gradScale(a) * a.d[i];
	if (!a.decoupled) g += a.decay * w;
	const float m = a.beta1 * a.m[i] + (1 - a.beta1) * g;
	const float v = a.beta2 * a.v[i] + (1 - a.beta2) * g * g;
	a.m[i] = m, a.v[i] = v;
	if (a.decoupled) w -= rate * a.decay * w;
	a.w[i] = w - rate / c1 * m / (sqrtf(v / c2) + a.epsilon);
}

KERNEL(stepThreads, sgd, StepArgs) {
	const int i = blockIdx.x * stepThreads + threadIdx.x;
	if (i >= a.count) return;
	const float rate = a.numbers[0], g = gradScale(a) * a.d[i] + a.decay * a.w[i];
	const float v = a.momentum * a.m[i] + g;
	a.m[i] = v;
	a.w[i] -= a.nesterov ? rate * a.momentum * v + rate * g : rate * v;
}
