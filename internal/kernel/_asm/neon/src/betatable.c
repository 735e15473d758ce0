#include "neon64.h"

// The rows of a block of eight terms: the fields of betaBlock.
enum { rowA, rowB, rowC, rowEdges, rowSteps = rowEdges + 6, rowCount = rowSteps + 5 };

// The fields of ZoneRule.
enum { ruleLogMissing, ruleLogNarrow, ruleLogTerms, ruleEnd, ruleStep, ruleLongest, rulePower, ruleMild, ruleFar, ruleTail, ruleBend };

INLINE v2 least(v2 a, v2 b) { return vminq_f64(a, b); }
INLINE v2 most(v2 a, v2 b) { return vmaxq_f64(a, b); }

// betaZonesNEON computes betaZonesGeneric for n > 0 blocks; terms are the addresses of the slices of BetaTerms.
KERNEL betaZonesNEON(double *least3, double *blocks, int64_t n, double **terms, const double *rule) {
	for (int64_t lane = 0; lane < 8; lane += 2) {
		const v2 infinite = two(__builtin_inf()), zero = two(0), one = two(1);
		v2 lows = infinite, highs = infinite, widths = infinite;
		double *block = blocks + lane;
		for (int64_t i = lane, left = n; left > 0; left--, i += 8, block += 8 * rowCount) {
			v2 a = vld1q_f64(terms[0] + i), b = vld1q_f64(terms[1] + i), logA = vld1q_f64(terms[2] + i), logB = vld1q_f64(terms[3] + i);
			v2 logSum = vld1q_f64(terms[4] + i), logW = vld1q_f64(terms[5] + i), c = logW - vld1q_f64(terms[6] + i);
			v2 missing = two(rule[ruleLogMissing]);
			uint64x2_t out = vcleq_f64(logW, missing);
			v2 r = one / a, s = one / b;
			missing = msub2(missing, two(3), most(zero, two(rule[ruleLogNarrow]) + logA + logB - logSum));
			v2 drop = logW - missing + two(0.7), width = vsqrtq_f64(two(2) * drop * (r + s)), peak = logA - logB, end = two(rule[ruleEnd]);
			v2 lo = most(most(msub2(peak - width, drop, r), (missing + logA - c) * r), -end);
			v2 hi = least(least(madd2(peak + width, drop, s), (c - missing - logB) * s), end);
			v2 first = vbslq_f64(out, infinite, lo), last = vbslq_f64(out, infinite, -hi);
			lows = least(lows, first);
			highs = least(highs, last);
			widths = least(widths, vbslq_f64(out, infinite, hi - lo));
			v2 tail = two(rule[ruleTail]) - logSum, bend = two(rule[ruleBend]);
			v2 left1 = least(most(lo, tail), hi), right = most(least(hi, -tail), lo);
			v2 edges[6] = {first, vbslq_f64(out, zero, most(lo, left1 - bend)), vbslq_f64(out, zero, left1),
				       vbslq_f64(out, zero, right), vbslq_f64(out, zero, least(hi, right + bend)), -last};
			v2 light = least(most((logW + two(rule[ruleLogTerms])) * two(-1. / 12), zero), one);
			v2 middle = two(rule[ruleStep]) * vsqrtq_f64(least(r, one) + least(s, one)) * madd2(one, light, madd2(one, two(0.5), light));
			v2 power = two(rule[rulePower]), mild = two(rule[ruleMild]), far = two(rule[ruleFar]);
			v2 steps[5] = {least(far, power * r), least(mild, power * r), least(middle, two(rule[ruleLongest])), least(mild, power * s),
				       least(far, power * s)};
			vst1q_f64(block + 8 * rowA, a);
			vst1q_f64(block + 8 * rowB, b);
			vst1q_f64(block + 8 * rowC, c);
			FOR(j, 6) vst1q_f64(block + 8 * (rowEdges + j), edges[j]);
			FOR(j, 5) vst1q_f64(block + 8 * (rowSteps + j), steps[j]);
		}
		vst1q_f64(least3 + lane, lows);
		vst1q_f64(least3 + 8 + lane, highs);
		vst1q_f64(least3 + 16 + lane, widths);
	}
}

// betaBeyondNEON computes betaBeyondGeneric for n > 0 blocks of terms: a and edges are the rows of the parameter and the edge at
// that end in the first of them, both is that of A, and sign times an edge is at least end where a term matters.
KERNEL betaBeyondNEON(double *dst, const double *a, const double *both, const double *edges, int64_t n, double sign, double end, double small) {
	for (; n > 0; n--, dst += 8, a += 8 * rowCount, both += 8 * rowCount, edges += 8 * rowCount)
		for (int64_t lane = 0; lane < 8; lane += 2) {
			v2 power = vld1q_f64(a + lane), s = (vld1q_f64(both + lane) + vld1q_f64(both + 8 + lane)) * two(small);
			v2 f = exponential(msub2(vld1q_f64(both + 16 + lane), power, two(end)) - s), above = power + two(1);
			f = f * ((above + s) / (above * power));
			uint64x2_t inside = vcltq_f64(vld1q_f64(edges + lane) * two(sign), two(end));
			vst1q_f64(dst + lane, vreinterpretq_f64_u64(vbicq_u64(vreinterpretq_u64_f64(f), inside)));
		}
}

// cellMassesNEON computes cellMassesGeneric for n cells, a multiple of 8, and sets least to the smallest integral of each of 2 lanes.
KERNEL cellMassesNEON(double *mass, const double *f, int64_t stride, const double *step, int64_t n, double *smallest) {
	v2 lowest = two(0);
	for (; n > 0; n -= 2, mass += 2, f += 2, step += 2) {
		v2 h = vld1q_f64(step), sum = two(0);
		const double *row = f + 5 * stride;
		constants c = CONSTANTS(1. / 665280, 1. / 15840, 1. / 792, 1. / 66, 5. / 44, 0.5);
		FOR(d, 6) {
			v2 x = vld1q_f64(row), y = vld1q_f64(row + 1);
			sum = madd2((d % 2 ? x + y : x - y) * take(&c), h, sum);
			row -= stride;
		}
		sum *= h;
		lowest = least(lowest, sum);
		vst1q_f64(mass, most(sum, two(0)));
	}
	vst1q_f64(smallest, lowest);
}

// The rows of cells: the fields of BetaCells.
enum { cellRight = 6, cellLength = 12, cellAt, cellWhole };

// cellPolynomial sets c to the coefficients of the polynomials of two cells, as BetaCells.polynomial does.
INLINE void cellPolynomial(v2 *c, const double *cells) {
	v2 h = vld1q_f64(cells + 8 * cellLength), scale = h, r[6];
	FOR(d, 6) {
		c[d] = scale * vld1q_f64(cells + 8 * d);
		r[d] = scale * vld1q_f64(cells + 8 * (cellRight + d));
		scale *= h * two(1. / (d + 1));
	}
	r[0] -= c[0] + c[1] + c[2] + c[3] + c[4] + c[5];
	r[1] -= c[1] + two(2) * c[2] + two(3) * c[3] + two(4) * c[4] + two(5) * c[5];
	r[2] -= c[2] + two(3) * c[3] + two(6) * c[4] + two(10) * c[5];
	r[3] -= c[3] + two(4) * c[4] + two(10) * c[5];
	r[4] -= c[4] + two(5) * c[5];
	r[5] -= c[5];
	r[1] -= two(6) * r[0];
	r[2] -= two(6) * r[1] + two(15) * r[0];
	r[3] -= two(6) * r[2] + two(15) * r[1] + two(20) * r[0];
	r[4] -= two(6) * r[3] + two(15) * r[2] + two(20) * r[1] + two(15) * r[0];
	r[5] -= two(6) * r[4] + two(15) * r[3] + two(20) * r[2] + two(15) * r[1] + two(6) * r[0];
	c[6] = r[0] - r[1] + r[2] - r[3] + r[4] - r[5];
	c[7] = r[1] - two(2) * r[2] + two(3) * r[3] - two(4) * r[4] + two(5) * r[5];
	c[8] = r[2] - two(3) * r[3] + two(6) * r[4] - two(10) * r[5];
	c[9] = r[3] - two(4) * r[4] + two(10) * r[5];
	c[10] = r[4] - two(5) * r[5];
	c[11] = r[5];
}

// horner is the polynomial with 12 coefficients at t.
INLINE v2 horner(const v2 *c, v2 t) {
	v2 s = c[11];
	FOR(d, 11) s = madd2(c[10 - d], s, t);
	return s;
}

// cellIntegralsNEON computes BetaCells.Integrals.
KERNEL cellIntegralsNEON(double *dst, const double *cells) {
	for (int64_t lane = 0; lane < 8; lane += 2) {
		v2 c[12], t = vld1q_f64(cells + 8 * cellAt + lane);
		cellPolynomial(c, cells + lane);
		FOR(d, 12) c[d] *= two(1. / (d + 1));
		vst1q_f64(dst + lane, horner(c, t) * t);
	}
}

// cellRootsNEON computes BetaCells.Roots.
KERNEL cellRootsNEON(double *dst, const double *cells) {
	for (int64_t lane = 0; lane < 8; lane += 2) {
		v2 c[12], integral[12], want = vld1q_f64(cells + 8 * cellAt + lane);
		cellPolynomial(c, cells + lane);
		FOR(d, 12) integral[d] = c[d] * two(1. / (d + 1));
		v2 zero = two(0), one = two(1), t = want / vld1q_f64(cells + 8 * cellWhole + lane), lo = zero, hi = one, root = two(__builtin_nan(""));
		uint64x2_t active = vcltq_f64(zero, one);
		for (int64_t steps = 40; steps > 0; steps--) {
			v2 f = horner(c, t), left = msub2(want, horner(integral, t), t);
			active &= vcltq_f64(zero, f);
			uint64x2_t above = vcltq_f64(zero, left);
			lo = vbslq_f64(above, t, lo);
			hi = vbslq_f64(above, hi, t);
			v2 step = left / f, next = t + step;
			uint64x2_t last = active & vcltq_f64(vabsq_f64(step), two(1e-7));
			root = vbslq_f64(last, least(most(next, zero), one), root);
			active = vbicq_u64(active, last);
			t = vbslq_f64(vcltq_f64(lo, next) & vcltq_f64(next, hi), next, madd2(lo, hi - lo, two(0.5)));
			if ((vgetq_lane_u64(active, 0) | vgetq_lane_u64(active, 1)) == 0)
				break;
		}
		vst1q_f64(dst + lane, root);
	}
}
