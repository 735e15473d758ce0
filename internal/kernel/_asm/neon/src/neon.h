// What all kernels share.
#include <arm_neon.h>
#include <stdint.h>

// KERNEL declares a function that Go calls: at most eight pointers and integers, and no need to keep
// any register.
#define KERNEL __attribute__((preserve_none)) void

// INLINE functions are compiled for the constants they are called with.
#define INLINE static inline __attribute__((always_inline))

// FOR is a loop that is unrolled.
#define FOR(i, n) _Pragma("unroll") for (int i = 0; i < (n); i++)

typedef float32x4_t v4;
typedef float64x2_t v2;

INLINE v4 all(float x) { return vdupq_n_f32(x); }
INLINE v4 load(const float *p) { return vld1q_f32(p); }
INLINE void store(float *p, v4 v) { vst1q_f32(p, v); }

// madd is c + a*b, msub c - a*b, rounded once.
INLINE v4 madd(v4 c, v4 a, v4 b) { return vfmaq_f32(c, a, b); }
INLINE v4 msub(v4 c, v4 a, v4 b) { return vfmsq_f32(c, a, b); }
INLINE v4 scaled(v4 c, v4 a, float b) { return vfmaq_n_f32(c, a, b); }

// scalar loads a factor of multiply-adds into a register of its own: clang would copy it to all lanes as it is
// loaded, which takes the units that multiply.
INLINE float scalar(const float *p) {
	float v = *p;
	asm("" : "+w"(v));
	return v;
}

// own keeps a pointer in a register instead of computing it from others each time.
INLINE const float *own(const float *p) {
	asm("" : "+r"(p));
	return p;
}

// get and put move n <= 4 elements, zeros behind them, and advance the pointer.
INLINE v4 get(const float **p, int64_t n) {
	const float *at = *p;
	*p += n;
	if (n == 4)
		return load(at);
	v4 v = vld1q_lane_f32(at, all(0), 0);
	if (n > 1)
		v = vld1q_lane_f32(at + 1, v, 1);
	if (n > 2)
		v = vld1q_lane_f32(at + 2, v, 2);
	return v;
}

INLINE void put(float **p, int64_t n, v4 v) {
	float *at = *p;
	*p += n;
	if (n == 4) {
		store(at, v);
		return;
	}
	vst1q_lane_f32(at, v, 0);
	if (n > 1)
		vst1q_lane_f32(at + 1, v, 1);
	if (n > 2)
		vst1q_lane_f32(at + 2, v, 2);
}

// EACH does something for every four of n elements, and once for what is left: an element is computed
// by the same instructions wherever it stands. m is how many there are, as get and put take it.
#define EACH(n, ...)                    \
	for (; n >= 4; n -= 4) {        \
		const int64_t m = 4;    \
		__VA_ARGS__             \
	}                               \
	if (n > 0) {                    \
		const int64_t m = n;    \
		__VA_ARGS__             \
	}
