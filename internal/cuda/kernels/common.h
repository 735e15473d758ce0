// What all kernels share. A kernel takes one structure by value, whose layout package gpu
// repeats: pointers first, then 32-bit numbers. None uses atomics: sums are taken in an order
// that depends on shapes alone. The sources also compile for the CPU (emulate.cc): so shuffles only
// exchange values with the lane whose number differs by mask, in warps all of whose threads take part.
//
// Letters: n items, c input and o output channels, s input size, k kernel, t stride, p padding,
// l dilation, z output of a pool of windows q.
#pragma once

#ifndef EMULATE
#define KERNEL(threads, name, Args) extern "C" __global__ void __launch_bounds__(threads) name(const Args a)
// A kernel of which a multiprocessor has room for one block only, which may use all registers.
#define KERNEL_ALONE(threads, name, Args) extern "C" __global__ void __launch_bounds__(threads, 1) name(const Args a)
#define INLINE __device__ __forceinline__
#define DEVICE INLINE
#define SHARED __shared__
#define SYNC() __syncthreads()
#define SHUFFLE(value, mask) __shfl_xor_sync(~0u, value, mask)
#endif

struct Three {
	int d, h, w;
};

enum Activation { Identity, Relu, Tanh, Sigmoid, Gelu };

DEVICE float activate(int act, float x) {
	switch (act) {
	case Relu: return x < 0 ? 0 : x;
	case Tanh: return tanhf(x);
	case Sigmoid: return 1 / (1 + expf(-x));
	case Gelu: return 0.5f * x * (1 + erff(x * 0.70710678118654752f));
	}
	return x;
}

// slope is the derivative, from the output y of all but GELU, for which it is the input.
DEVICE float slope(int act, float y) {
	switch (act) {
	case Relu: return y > 0 ? 1 : 0;
	case Tanh: return 1 - y * y;
	case Sigmoid: return y * (1 - y);
	case Gelu: return 0.5f * (1 + erff(y * 0.70710678118654752f)) + y * 0.39894228040143268f * expf(-0.5f * y * y);
	}
	return 1;
}

// larger says whether v takes the place of the maximum so far: the first of equal values keeps it,
// and NaN stays.
DEVICE bool larger(float v, float best) { return v > best || v != v; }

// pack writes the place in a pool's window as one number.
DEVICE int pack(int d, int h, int w) { return d << 16 | h << 8 | w; }

// ConvArgs is a convolution with a max-pool of windows q, which may be 1.
struct ConvArgs {
	const float *x;    // [n, c, s]
	const float *w;    // [o, c, k]; of dx, [o, k, c rounded up to 8]
	const float *bias; // [o] or null
	float *y;          // [n, o, z]
	int *arg;          // [n, o, z] where in its window the maximum lies, packed
	const float *dy;   // [n, o, z]
	float *dx;         // [n, c, s]
	float *part;       // [chunks, o·(taps+1)] sums of dw and db
	int n, c, o;
	Three s, k, t, p, l;
	Three out;         // of the convolution
	Three q, z;
	int act;
	int chunks;        // into which items and windows are cut for dw
};
