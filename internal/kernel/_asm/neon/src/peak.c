#include "neon.h"

// peakNEON does n rounds of 24 independent multiply-adds of four numbers.
KERNEL peakNEON(int64_t n) {
	v4 sum[24], x = all(0);
	FOR(i, 24) sum[i] = all(0);
	for (; n > 0; n--)
		FOR(i, 24) {
			sum[i] = madd(sum[i], x, x);
			asm volatile("" : "+w"(sum[i]));
		}
}
