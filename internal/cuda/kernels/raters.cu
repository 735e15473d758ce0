// The loss of a mixture of Beta distributions with raters (package head, raters_two.go): two classes, and each
// vote by a rater with a bias and a guess rate. The likelihood of a component is an integral over
// z = log(p/(1−p)) by the trapezoidal rule, on the grids of package special (logit.go), whose constants are
// repeated here.
#include "common.h"

enum { raterVotes = 16 }; // the most of an item

// Window is the part of a grid that a component is integrated over, its two ends beyond, and what comes of it.
struct Window {
	double a, b;   // parameters; a is the second class's
	double top;    // logarithm of the largest density
	double zero, zeroSlope, one, oneSlope;
	double weight, like, mass, slope0, slope1;
	int grid, lo, hi, none; // where its grid begins in the table; nodes there
};

enum { windowDoubles = sizeof(Window) / sizeof(double) };

// Voter is a rater's e^b, negative for a vote for the first class, and guess rate.
struct Voter {
	double odds, guess;
};

// followed returns the first node towards end at which the density of Beta(a, b) has fallen by drop, or one at
// or beyond end.
DEVICE int followed(const double *logP, const double *logQ, int node, int end, int step, double a, double b, double drop) {
	double best = -1e300;
	for (; (end - node) * step > 0; node += step) {
		const double x = a * logP[node] + b * logQ[node];
		if (x < best - drop) break;
		best = fmax(best, x);
	}
	return node;
}

// placed sets the lower end of a window (side 0), and what both sides have in common, or its upper end.
DEVICE void placed(Window &w, const LossArgs &l, const float *x, const float *s, double shift, int side) {
	const float log0 = fminf(fmaxf(x[0], -l.limit), l.limit), log1 = fminf(fmaxf(x[1], -l.limit), l.limit);
	double a = expf(log1), b = expf(log0), drop = 13, step = 1 / 1.05;
	const double mode = (double)(log1 - log0), for0 = s[0], for1 = s[1], inverse = 1 / a + 1 / b;
	const double narrowest = 1.0 / 512 / 1.3;
	if (inverse < narrowest * narrowest) {
		const double t = inverse / (narrowest * narrowest);
		a *= t, b *= t;
	}
	if (inverse < 0.2 * 0.2) step = 1 / 1.3, drop = 11;
	const double width = 1 / (a + for1) + 1 / (b + for0);
	int level = 0;
	if (fmax(a + for1, b + for0) > 4) step /= 2, level++;
	for (; step * step > width && level < 9; step /= 2) level++;
	const int middle = 33 << level, last = 2 * middle, grid = 66 * ((1 << level) - 1) + level;
	const double fine = 1 << level, flat = 11 + shift; // nodes per unit of z
	const double *logP = l.grids + grid, *logQ = logP + l.nodes;
	const int top = min(max((int)(middle + mode * fine + 0.5), 0), last);
	if (side == 0) {
		const int end = max((int)(middle + (fmin(mode, 0.0) - flat) * fine), 0);
		const int lo = followed(logP, logQ, top, end, -2, a, b + for0, drop);
		const double e = expm1(a / fine);
		w.zero = w.zeroSlope = 0;
		if (lo <= end && e < 1e300) w.zero = 1 / e, w.zeroSlope = -(1 + 1 / e) / fine;
		w.a = a, w.b = b, w.top = a * logP[top] + b * logQ[top];
		w.grid = grid, w.lo = max(lo, min(end, top));
	} else {
		const int end = min((int)(middle + (fmax(mode, 0.0) + flat) * fine), last);
		const int hi = followed(logP, logQ, top, end, 2, a + for1, b, drop);
		const double e = expm1(b / fine);
		w.one = w.oneSlope = 0;
		if (hi >= end && e < 1e300) w.one = 1 / e, w.oneSlope = -(1 + 1 / e) / fine;
		w.hi = min(hi, max(end, top));
	}
}

// chance is the probability of a vote where p/(1−p) is odds.
DEVICE double chance(const Voter &v, double odds) {
	const double sure = 1 - v.guess, half = v.guess / 2, o = odds * fabs(v.odds);
	return v.odds > 0 ? sure * (o / (1 + o)) + half : sure / (1 + o) + half;
}

// chanceEnd is the same where p is 0 or 1.
DEVICE double chanceEnd(const Voter &v, bool one) { return (v.odds > 0) == one ? 1 - v.guess / 2 : v.guess / 2; }

DEVICE double likelihood(const Voter *voters, int votes, double odds) {
	double p = 1;
	for (int i = 0; i < votes; i++) p *= chance(voters[i], odds);
	return p;
}

DEVICE double likelihoodEnd(const Voter *voters, int votes, bool one) {
	double p = 1;
	for (int i = 0; i < votes; i++) p *= chanceEnd(voters[i], one);
	return p;
}

DEVICE double warpSum(double x) {
#pragma unroll
	for (int mask = 16; mask > 0; mask /= 2) x += SHUFFLE(x, mask);
	return x;
}

// nodeWeight is the density at a node, relative to its largest.
DEVICE double nodeWeight(const LossArgs &l, const Window &w, int node) {
	const double *logP = l.grids + w.grid;
	return expf((float)(w.a * logP[node] + w.b * logP[l.nodes + node] - w.top));
}

// integrate sets like, mass and slopes of a window; the threads of a warp call it.
DEVICE void integrate(const LossArgs &l, Window &w, const Voter *voters, int votes) {
	const double *logP = l.grids + w.grid, *logQ = logP + l.nodes, *odds = logQ + l.nodes;
	double m = 0, mp = 0, mq = 0, t = 0, tp = 0, tq = 0;
	const auto add = [&](double y, double like, double p, double q) {
		m += y, mp += y * p, mq += y * q;
		y *= like;
		t += y, tp += y * p, tq += y * q;
	};
	for (int i = w.lo + threadIdx.x % 32; i <= w.hi; i += 32)
		add(nodeWeight(l, w, i), likelihood(voters, votes, odds[i]), logP[i], logQ[i]);
	m = warpSum(m), mp = warpSum(mp), mq = warpSum(mq), t = warpSum(t), tp = warpSum(tp), tq = warpSum(tq);
	if (threadIdx.x % 32 > 0) return;
	// At an end only one of the logarithms has a slope, as p or 1 − p is 1.
	if (w.zero > 0) add(w.zero * nodeWeight(l, w, w.lo), likelihoodEnd(voters, votes, false), logP[w.lo] + w.zeroSlope, 0);
	if (w.one > 0) add(w.one * nodeWeight(l, w, w.hi), likelihoodEnd(voters, votes, true), 0, logQ[w.hi] + w.oneSlope);
	w.mass = m, w.like = t / m;
	const double over = t > 1e-300 ? 1 / t : 0; // no slope
	w.slope0 = w.b * (tq * over - mq / m), w.slope1 = w.a * (tp * over - mp / m);
}

// scoreVote returns the scores of vote v: of its rater's bias, and the probability that it was a guess. The
// threads of a warp call it.
DEVICE void scoreVote(const LossArgs &l, const Window *windows, const Voter *voters, int votes, int v, double like, double *to) {
	const Voter voter = voters[v];
	const double sure = 1 - voter.guess, half = voter.guess / 2;
	double slope = 0, inverse = 0;
	for (int c = 0; c < l.k; c++) {
		const Window &w = windows[c];
		const double f = w.weight / (w.mass * like), *odds = l.grids + w.grid + 2 * l.nodes;
		for (int i = w.lo + threadIdx.x % 32; i <= w.hi; i += 32) {
			const double p = chance(voter, odds[i]), y = p - half;
			const double rest = f * nodeWeight(l, w, i) * likelihood(voters, votes, odds[i]) / p;
			inverse += rest, slope += rest * y * (sure - y);
		}
		if (threadIdx.x % 32 > 0) continue;
		if (w.zero > 0) inverse += f * w.zero * nodeWeight(l, w, w.lo) * likelihoodEnd(voters, votes, false) / chanceEnd(voter, false);
		if (w.one > 0) inverse += f * w.one * nodeWeight(l, w, w.hi) * likelihoodEnd(voters, votes, true) / chanceEnd(voter, true);
	}
	slope = warpSum(slope) / sure, inverse = warpSum(inverse);
	if (threadIdx.x % 32 == 0) to[0] = voter.odds > 0 ? slope : -slope, to[1] = inverse * half;
}

// raterLoss is mixtureLoss for votes by raters; x is for k·windowDoubles + 2·raterVotes numbers.
DEVICE double raterLoss(const LossArgs &a, int n, const float *out, float *grad, const float *s, double scale, float weight, int threads, double *x) {
	const int k = a.k, votes = (int)(s[0] + s[1]);
	Voter *voters = (Voter *)x;
	Window *windows = (Window *)(voters + raterVotes);
	for (int i = threadIdx.x; i < 2 * votes; i += threads) x[i] = a.voters[n * 2 * raterVotes + i];
	const double shift = a.shifts[n];
	for (int i = threadIdx.x; i < 2 * k; i += threads) placed(windows[i / 2], a, out + k + i / 2 * 2, s, shift, i % 2);
	SYNC();
	double top = out[0], sum = 0, like = 0;
	for (int c = 1; c < k; c++) top = fmax(top, (double)out[c]);
	for (int c = 0; c < k; c++) sum += exp((double)out[c] - top);
	for (int c = threadIdx.x / 32; c < k; c += threads / 32) {
		integrate(a, windows[c], voters, votes);
		if (threadIdx.x % 32 == 0) windows[c].weight = exp((double)out[c] - top) / sum;
	}
	SYNC();
	for (int c = 0; c < k; c++) like += windows[c].weight * windows[c].like;
	like = fmax(like, 1e-300);
	for (int c = threadIdx.x; c < k; c += threads) {
		const Window &w = windows[c];
		const double r = w.weight * w.like / like;
		grad[c] = (float)(scale * (w.weight - r)) * weight;
		for (int i = 0; i < 2; i++) {
			const int j = k + 2 * c + i;
			double g = -scale * r * (i ? w.slope1 : w.slope0);
			if (fabs(g) < 1e-30 || out[j] > a.limit && g < 0 || out[j] < -a.limit && g > 0) g = 0; // a step leads further out
			grad[j] = (float)g * weight;
		}
	}
	for (int v = threadIdx.x / 32; v < votes; v += threads / 32)
		scoreVote(a, windows, voters, votes, v, like, a.scores + (n * raterVotes + v) * 2);
	return -log(like);
}
