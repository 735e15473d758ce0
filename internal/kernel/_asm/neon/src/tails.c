#include "neon64.h"

// A BetaTailTerm has eight values each of A, B, C and W.
enum { tailA = 0, tailB = 8, tailC = 16, tailW = 24, tailSize = 32 };

// fraction is one of the two vectors that fractions computes at a time.
typedef struct {
	v2 a, b, x, l;                   // parameters; l is 1 + λ
	v2 r, n0, d0, n1, d1;            // 1/(a+2m+1) and the last two convergents
	v2 keptN, keptD;                 // of lanes that are done
	uint64x2_t done;
} fraction;

// next takes one more term.
INLINE void next(fraction *f, v2 m, v2 a) {
	v2 r = f->r * f->x, t = m * (f->b - m) * r, alpha = (f->b + a) * a * (r * t);
	a += two(1);
	f->r = two(1) / (a + two(1) + m);
	v2 beta = madd2(t + m, a * madd2(f->l, m, two(2) - f->x), f->r);
	v2 n = madd2(alpha * f->n0, f->n1, beta), d = madd2(alpha * f->d0, f->d1, beta), cross = n * f->d1;
	uint64x2_t exact = vcleq_f64(vabsq_f64(msub2(cross, f->n1, d)), vabsq_f64(cross) * two(0x1p-53)), fresh = vbicq_u64(exact, f->done);
	f->keptN = vbslq_f64(fresh, n, f->keptN);
	f->keptD = vbslq_f64(fresh, d, f->keptD);
	f->done |= exact;
	f->n0 = f->n1;
	f->d0 = f->d1;
	f->n1 = n;
	f->d1 = d;
}

// fractions computes betaFraction by the forward recurrence of its convergents n/d, NaN in lanes where it takes too many
// terms. A lane keeps the first convergent that is exact, so that its value does not depend on the others.
INLINE void fractions(fraction f[2], v2 ratio[2]) {
	v2 one = two(1), zero = two(0), m = one, a[2];
	FOR(k, 2) {
		a[k] = f[k].a;
		f[k].r = one / (a[k] + one);
		f[k].n0 = zero;
		f[k].n1 = f[k].d0 = one;
		f[k].d1 = f[k].l * a[k] * f[k].r;
		f[k].keptN = f[k].keptD = zero;
		f[k].done = vdupq_n_u64(0);
	}
	for (int left = 64; left > 0; left--) { // BetaTailLimit
		FOR(k, 2) {
			next(&f[k], m, a[k]);
			a[k] += one;
		}
		m += one;
		if (vminvq_u32(vreinterpretq_u32_u64(f[0].done & f[1].done)) != 0)
			break;
	}
	FOR(k, 2) ratio[k] = f[k].keptN / f[k].keptD;
}

// step replaces the mass and its derivatives by what root finding takes: with h = ln(mass/q), h itself, d = −h/h′, d h″/(2h′) and
// d² h‴/(6h′).
INLINE void step(double *dst, v2 q, v2 sum[4]) {
	v2 one = two(1), r = one / sum[0], h1 = sum[1] * r, r2 = sum[2] * r, h2 = msub2(r2, h1, h1);
	v2 h3 = msub2(sum[3] * r, h1, h2 + h2 + r2), h = logarithm(vmaxq_f64(sum[0] / q, two(0x1p-1000)));
	v2 inverse = one / h1, d = -(h * inverse);
	vst1q_f64(dst, h);
	vst1q_f64(dst + 8, d);
	vst1q_f64(dst + 16, h2 * inverse * d * two(0.5));
	vst1q_f64(dst + 24, h3 * inverse * d * d * two(1. / 6));
}

// betaTailsNEON computes BetaTails for n > 0 terms of four times eight numbers each, at least in the first lanes.
KERNEL betaTailsNEON(double *dst, const double *z, const double *q, const double *terms, int64_t n, int64_t lanes) {
	for (int64_t at = 0; at < lanes; at += 4) {
		point p[2];
		v2 sum[2][4], density[2], ratio[2];
		FOR(k, 2) {
			p[k] = pointAt(vld1q_f64(z + at + 2 * k), 1);
			FOR(d, 4) sum[k][d] = two(0);
		}
		const double *term = terms + at;
		for (int64_t i = 0; i < n; i++, term += tailSize) {
			fraction f[2];
			uint64x2_t above[2];
			FOR(k, 2) {
				v2 a = vld1q_f64(term + tailA + 2 * k), b = vld1q_f64(term + tailB + 2 * k), x = p[k].x, y = p[k].y;
				v2 e = exactExponential(madd2(madd2(vld1q_f64(term + tailC + 2 * k), a, p[k].logX), b, p[k].logY));
				v2 lambda = msub2(a * y, b, x);
				sum[k][1] += e;
				sum[k][2] = madd2(sum[k][2], e, lambda);
				sum[k][3] = madd2(sum[k][3], e, lambda * lambda - (a + b) * x * y);
				above[k] = vcltzq_f64(lambda); // above the mean a and b, x and y change places
				f[k].a = vbslq_f64(above[k], b, a);
				f[k].b = vbslq_f64(above[k], a, b);
				f[k].x = vbslq_f64(above[k], y, x);
				f[k].l = vabsq_f64(lambda) + two(1);
				density[k] = e;
			}
			fractions(f, ratio);
			FOR(k, 2) { // below the mean that is the mass, above it what the weight has more
				v2 tail = density[k] * ratio[k];
				sum[k][0] += vbslq_f64(above[k], vld1q_f64(term + tailW + 2 * k) - tail, tail);
			}
		}
		FOR(k, 2) step(dst + at + 2 * k, vld1q_f64(q + at + 2 * k), sum[k]);
	}
}

// stirling is the remainder of Stirling's formula for x ≥ 10.
INLINE v2 stirling(v2 x) {
	constants c = CONSTANTS(-3617. / 122400, 1. / 156, -691. / 360360, 1. / 1188, -1. / 1680, 1. / 1260, -1. / 360, 1. / 12);
	v2 r = two(1) / x;
	return r * polynomial(r * r, 8, &c);
}

// logBetasNEON computes LogBetas for n distributions, a multiple of 2,
// each as logBeta does.
KERNEL logBetasNEON(double *logW, double *logA, double *logB, double *beta, const double *w, const double *a, const double *b, int64_t n) {
	v2 one = two(1), half = two(0.5);
	for (int64_t i = 0; i < n; i += 2) {
		v2 x = vld1q_f64(a + i), y = vld1q_f64(b + i), sum = x + y;
		vst1q_f64(logW + i, logarithm(vld1q_f64(w + i)));
		vst1q_f64(logA + i, logarithm(x));
		vst1q_f64(logB + i, logarithm(y));
		uint64x2_t smallX = vcltq_f64(x, two(10)), smallY = vcltq_f64(y, two(10));
		v2 p = vbslq_f64(smallX, rising(x), one) * vbslq_f64(smallY, rising(y), one), ps = rising(sum), p20 = ps * rising(sum + two(10));
		p /= vbslq_f64(smallX, vbslq_f64(smallY, p20, ps), vbslq_f64(smallY, ps, one));
		x = vbslq_f64(smallX, x + two(10), x);
		y = vbslq_f64(smallY, y + two(10), y);
		v2 less = vminq_f64(x, y), more = vmaxq_f64(x, y), s = less + more, low = less - (s - more), r = less / more;
		v2 l = stirling(less) + stirling(more) - stirling(s) + two(HALF_LOG_2PI) - low - logarithm(p);
		l = msub2(msub2(l, half, logarithm(more)), s - half, logarithm1p(r));
		vst1q_f64(beta + i, madd2(l, less - half, logarithm(r)));
	}
}
