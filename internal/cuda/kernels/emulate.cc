// The part of the CUDA driver that package cuda calls, on the CPU, and the kernels compiled for it: so
// that tests run the very sources of the kernels, and all that launches them, without a GPU.
//
//	g++ -O2 -shared -fPIC -o libemulate.so emulate.cc
//	CREDENCE_CUDA_LIBRARY=libemulate.so credence-gpu …
//
// The threads of a block are fibers that take turns at barriers and shuffles. All is done when it is called, one
// call at a time.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <ucontext.h>
#include <vector>

#define EMULATE
#define INLINE inline
#define DEVICE static inline
#define SHARED static
#define SYNC() barrier()
#define SHUFFLE(value, mask) exchange(value, mask)
#define __restrict__

struct Index {
	unsigned x, y, z;
};
static Index blockIdx, threadIdx;
struct alignas(16) float4 {
	float x, y, z, w;
};
struct alignas(8) float2 {
	float x, y;
};
struct alignas(16) int4 {
	int x, y, z, w;
};
static inline int min(int a, int b) { return a < b ? a : b; }
static inline int max(int a, int b) { return a > b ? a : b; }
static inline long long min(long long a, long long b) { return a < b ? a : b; }

struct Kernel {
	void (*run)(const void *);
	size_t size; // of its arguments
};
static std::map<std::string, Kernel> &kernels() {
	static std::map<std::string, Kernel> all;
	return all;
}

static void barrier();
template <typename T> static T exchange(T value, int mask);

#define KERNEL(threads, name, Args)                                                                          \
	static void name(const Args a);                                                                          \
	static const bool name##_known = (kernels()[#name] = {[](const void *p) { name(*(const Args *)p); }, sizeof(Args)}, true); \
	static void name(const Args a)

#define KERNEL_ALONE KERNEL

#include "all.cu"

// Fibers: those of one block, and the loop that lets each run to its next barrier. Where the
// registers that a function keeps are known, a switch saves those alone: swapcontext asks the
// kernel for signal masks each time.
enum { stackSize = 64 << 10, maxThreads = 1024 };
static bool ended[maxThreads];
static char *stacks;
static int running;
static const Kernel *kernel;
static const void *arguments;

static void fiber();

#ifdef __x86_64__
typedef void *Context;
extern "C" void switchContext(Context *from, Context to);
asm(R"(
.local switchContext
switchContext:
	push %rbx
	push %rbp
	push %r12
	push %r13
	push %r14
	push %r15
	mov %rsp, (%rdi)
	mov %rsi, %rsp
	pop %r15
	pop %r14
	pop %r13
	pop %r12
	pop %rbp
	pop %rbx
	ret
)");
static Context loop, fibers[maxThreads];

static void enter(int t) { switchContext(&loop, fibers[t]); }
static void yield() { switchContext(&fibers[running], loop); }

static void prepare(int t) {
	void **top = (void **)(stacks + (size_t)(t + 1) * stackSize) - 3; // aligned as at the start of a function
	top[0] = 0;
	top[-1] = (void *)fiber;
	fibers[t] = top - 7;
}
#else
static ucontext_t loop, fibers[maxThreads];

static void enter(int t) { swapcontext(&loop, &fibers[t]); }
static void yield() { swapcontext(&fibers[running], &loop); }

static void prepare(int t) {
	getcontext(&fibers[t]);
	fibers[t].uc_stack.ss_sp = stacks + (size_t)t * stackSize;
	fibers[t].uc_stack.ss_size = stackSize;
	makecontext(&fibers[t], fiber, 0);
}
#endif

static void fiber() {
	kernel->run(arguments);
	ended[running] = true;
	yield();
}

// exchange returns the value of another thread of the warp. Two places take turns, so that nobody
// writes the next value before all have read the last.
template <typename T> static T exchange(T value, int mask) {
	static T values[2][maxThreads];
	static bool turn[maxThreads];
	const int t = running, side = turn[t] = !turn[t];
	values[side][t] = value;
	yield();
	return values[side][t ^ mask];
}

static bool waiting[maxThreads]; // at a barrier

static void barrier() {
	waiting[running] = true;
	yield();
}

static void runBlock(int threads) {
	for (int t = 0; t < threads; t++) {
		prepare(t);
		ended[t] = waiting[t] = false;
	}
	for (int left = threads; left > 0;) {
		bool all = true; // wait or have ended
		left = 0;
		for (int t = 0; t < threads; t++) {
			if (ended[t]) continue;
			if (!waiting[t]) {
				running = t, threadIdx = {(unsigned)t, 0, 0};
				enter(t);
			}
			left += !ended[t];
			all = all && (ended[t] || waiting[t]);
		}
		if (all) std::fill_n(waiting, threads, false);
	}
}

static void runGrid(const Kernel &k, Index grid, int threads, const void *args) {
	if (!stacks) stacks = (char *)aligned_alloc(64, (size_t)maxThreads * stackSize);
	kernel = &k, arguments = args;
	for (unsigned z = 0; z < grid.z; z++)
		for (unsigned y = 0; y < grid.y; y++)
			for (unsigned x = 0; x < grid.x; x++) {
				blockIdx = {x, y, z};
				runBlock(threads);
			}
}

// The driver. A stream that records keeps what it is given.
static std::recursive_mutex busy;
struct Stream {
	bool recording = false;
	std::vector<std::function<void()>> work;
};
struct Graph {
	std::vector<std::function<void()>> work;
};
static Stream none;
static size_t taken, limit = [] {
	const char *s = getenv("EMULATE_MEMORY");
	return s ? strtoull(s, 0, 10) : (size_t)8 << 30;
}();
static std::map<void *, size_t> sizes;
static int failAfter = [] {
	const char *s = getenv("EMULATE_FAIL"); // launches until the device is lost
	return s ? atoi(s) : -1;
}();

enum { OK, InvalidValue, OutOfMemory, NoBinary = 209, NotFound = 500, LaunchFailed = 719 };

static int give(Stream *s, std::function<void()> f) {
	std::lock_guard<std::recursive_mutex> lock(busy);
	if (!s) s = &none;
	if (s->recording)
		s->work.push_back(std::move(f));
	else
		f();
	return failAfter == 0 ? LaunchFailed : OK;
}

// failure returns what a function shall return: EMULATE_ERRORS is a list such as cuInit=100,cuMemAlloc=2.
static int failure(const char *name) {
	const char *list = getenv("EMULATE_ERRORS"), *at = list ? strstr(list, name) : 0;
	return at && at[strlen(name)] == '=' ? atoi(at + strlen(name) + 1) : OK;
}

#define API extern "C" __attribute__((visibility("default"))) int

API cuInit(unsigned) { return failure("cuInit"); }
API cuDeviceGetCount(int *n) { return *n = getenv("EMULATE_DEVICES") ? atoi(getenv("EMULATE_DEVICES")) : 1, OK; }
API cuDeviceGet(int *d, int i) { return *d = i, OK; }
API cuDeviceGetName(char *name, int n, int) { return strncpy(name, "Emulator", n), OK; }
API cuDeviceGetAttribute(int *v, int which, int) {
	const char *s = getenv("EMULATE_CAPABILITY"); // such as 90
	const int capability = s ? atoi(s) : 90;
	return *v = which == 75 ? capability / 10 : capability % 10, OK;
}
API cuDeviceTotalMem_v2(size_t *n, int) { return *n = limit, OK; }
API cuDevicePrimaryCtxRetain(uintptr_t *c, int i) { return *c = i + 1, failure("cuDevicePrimaryCtxRetain"); }
API cuCtxSetCurrent(uintptr_t) { return OK; }
API cuModuleLoadData(uintptr_t *m, const char *image) {
	if (getenv("EMULATE_OLD") && !memcmp(image, "\177ELF", 4)) return NoBinary; // as a driver older than machine code
	return *m = 1, failure("cuModuleLoadData");
}
API cuModuleGetFunction(const Kernel **f, uintptr_t, const char *name) {
	auto k = kernels().find(name);
	if (k == kernels().end()) return NotFound;
	return *f = &k->second, OK;
}
API cuMemGetInfo_v2(size_t *left, size_t *total) { return *left = limit - taken, *total = limit, OK; }
API cuMemAlloc_v2(void **p, size_t n) {
	std::lock_guard<std::recursive_mutex> lock(busy);
	if (taken + n > limit) return OutOfMemory;
	*p = aligned_alloc(512, (n + 511) / 512 * 512);
	memset(*p, 0xff, n); // NaN
	return sizes[*p] = n, taken += n, OK;
}
API cuMemFree_v2(void *p) {
	std::lock_guard<std::recursive_mutex> lock(busy);
	auto s = sizes.find(p);
	if (s == sizes.end()) return InvalidValue;
	taken -= s->second, sizes.erase(s), free(p);
	return OK;
}
API cuMemHostAlloc(void **p, size_t n, unsigned) { return *p = malloc(n), OK; }
API cuMemFreeHost(void *p) { return free(p), OK; }
API cuMemcpyHtoDAsync_v2(void *to, const void *from, size_t n, Stream *s) { return give(s, [=] { memcpy(to, from, n); }); }
API cuMemcpyDtoHAsync_v2(void *to, const void *from, size_t n, Stream *s) { return give(s, [=] { memcpy(to, from, n); }); }
API cuMemcpyDtoDAsync_v2(void *to, const void *from, size_t n, Stream *s) { return give(s, [=] { memmove(to, from, n); }); }
API cuMemsetD32Async(void *p, unsigned v, size_t n, Stream *s) { return give(s, [=] { std::fill_n((unsigned *)p, n, v); }); }
API cuStreamCreate(Stream **s, unsigned) { return *s = new Stream, OK; }
API cuStreamDestroy_v2(Stream *s) { return delete s, OK; }
API cuStreamSynchronize(Stream *) { return failAfter == 0 ? LaunchFailed : OK; }
API cuStreamWaitEvent(Stream *, void *, unsigned) { return OK; }
API cuStreamBeginCapture_v2(Stream *s, int) { return s->recording = true, s->work.clear(), OK; }
API cuStreamEndCapture(Stream *s, Graph **g) { return s->recording = false, *g = new Graph{std::move(s->work)}, s->work.clear(), OK; }
API cuEventCreate(void **e, unsigned) { return *e = malloc(1), OK; }
API cuEventDestroy_v2(void *e) { return free(e), OK; }
API cuEventRecord(void *, Stream *) { return OK; }
API cuEventSynchronize(void *) { return OK; }
API cuEventElapsedTime(float *ms, void *, void *) { return *ms = 1, OK; }
#ifndef OLD_DRIVER
API cuGraphInstantiateWithFlags(Graph **e, Graph *g, unsigned long long) { return *e = new Graph(*g), OK; }
#endif
API cuGraphLaunch(Graph *e, Stream *s) {
	std::lock_guard<std::recursive_mutex> lock(busy);
	for (auto &f : e->work) give(s, f);
	return failAfter == 0 ? LaunchFailed : OK;
}
API cuGraphDestroy(Graph *g) { return delete g, OK; }
API cuGraphExecDestroy(Graph *e) { return delete e, OK; }
API cuLaunchKernel(const Kernel *k, unsigned x, unsigned y, unsigned z, unsigned threads, unsigned, unsigned, unsigned, Stream *s, void **params, void **) {
	if (!x || !y || !z || !threads || threads > maxThreads || y > 65535 || z > 65535) return InvalidValue;
	std::vector<char> args((char *)params[0], (char *)params[0] + k->size);
	return give(s, [=] {
		if (failAfter > 0) failAfter--;
		runGrid(*k, Index{x, y, z}, threads, args.data());
	});
}
