// Package cuda runs kernels on NVIDIA GPUs through the driver's own library, libcuda.so.1: nothing
// else has to be installed. The kernels, CUDA C in the folder kernels, are embedded as
// machine code, and as PTX, which the driver compiles for GPUs and drivers that the code is not for.
//
// The library is loaded by purego, which makes a program dynamically linked. So only a build with the tag
// full, or cuda, can load it; in any other, [Open] fails with [ErrBuild].
//
// A [Device] may be used from any goroutine: each call runs in the device's context, on a locked
// thread. Work submitted to a [Stream] runs in order; errors of kernels are reported by a later call,
// usually Synchronize.
package cuda

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync"
	"unsafe"
)

// ErrBuild is the error of a build without GPUs.
var ErrBuild = errors.New("this build has no GPUs: it is the static one; credence-full, built with -tags full, has")

// ErrNoDevice is the error if there is no driver or no GPU, or none with the requested number.
var ErrNoDevice = errors.New("no GPU can be used")

// LibraryEnv is the environment variable that names another file than libcuda.so.1.
const LibraryEnv = "CREDENCE_CUDA_LIBRARY"

// leastCapability is that of the oldest GPUs that the PTX is for.
const leastCapability = 75

// Device is a GPU with the kernels loaded.
type Device struct {
	Number     int
	Name       string
	Capability int    // major and minor, such as 90
	Memory     int64  // bytes
	Image      string // of the kernels: sm_90 is machine code, kernels.ptx was compiled by the driver

	context uintptr
	kernels map[string]uintptr
	module  uintptr
	mu      sync.Mutex
	spare   map[int][]Memory // blocks that were freed, by size
}

var (
	devices   = map[int]*Device{}
	devicesMu sync.Mutex
)

// start loads the driver once.
var start = sync.OnceValue(func() error {
	err := load(cmp.Or(os.Getenv(LibraryEnv), "libcuda.so.1"))
	if err == nil {
		err = fnInit.call(0)
	}
	if err != nil && !errors.Is(err, ErrBuild) {
		err = fmt.Errorf("%w: %w", ErrNoDevice, err)
	}
	return err
})

// Count returns the number of GPUs.
func Count() (int, error) {
	if err := start(); err != nil {
		return 0, err
	}
	var n int32
	err := fnDeviceGetCount.call(uintptr(unsafe.Pointer(&n)))
	return int(n), err
}

// Open returns GPU number i, from 0, with its kernels. Calls with the same number return the same
// device.
func Open(i int) (*Device, error) {
	n, err := Count()
	if err != nil {
		return nil, err
	}
	if i < 0 || i >= n {
		return nil, fmt.Errorf("%w: number %d of %d", ErrNoDevice, i, n)
	}
	devicesMu.Lock()
	defer devicesMu.Unlock()
	if d := devices[i]; d != nil {
		return d, nil
	}
	d := &Device{Number: i, spare: map[int][]Memory{}}
	if err := d.open(); err != nil {
		return nil, fmt.Errorf("GPU %d: %w", i, err)
	}
	devices[i] = d
	return d, nil
}

func (d *Device) open() error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var handle, major, minor int32
	if err := fnDeviceGet.call(uintptr(unsafe.Pointer(&handle)), uintptr(d.Number)); err != nil {
		return err
	}
	var name [256]byte
	const attributeMajor, attributeMinor = 75, 76
	if err := cmp.Or(
		fnDeviceGetName.call(uintptr(unsafe.Pointer(&name)), uintptr(len(name)), uintptr(handle)),
		fnDeviceGetAttribute.call(uintptr(unsafe.Pointer(&major)), attributeMajor, uintptr(handle)),
		fnDeviceGetAttribute.call(uintptr(unsafe.Pointer(&minor)), attributeMinor, uintptr(handle)),
		fnDeviceTotalMem.call(uintptr(unsafe.Pointer(&d.Memory)), uintptr(handle)),
	); err != nil {
		return err
	}
	text, _, _ := bytes.Cut(name[:], []byte{0})
	d.Name = string(text)
	d.Capability = int(major*10 + minor)
	if d.Capability < leastCapability {
		return fmt.Errorf("%w: %s: found compute capability %d.%d, expected at least %d.%d", ErrNoDevice, d.Name, major, minor,
			leastCapability/10, leastCapability%10)
	}
	if err := fnCtxRetain.call(uintptr(unsafe.Pointer(&d.context)), uintptr(handle)); err != nil {
		return err
	}
	if err := fnCtxSetCurrent.call(d.context); err != nil {
		return err
	}
	return d.loadKernels()
}

// do calls f on a thread whose context is the device's.
func (d *Device) do(f func() error) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := fnCtxSetCurrent.call(d.context); err != nil {
		return err
	}
	return f()
}

// call calls a function of the driver on a thread whose context is the device's.
//
//go:uintptrescapes
func (d *Device) call(f *function, args ...uintptr) error {
	return d.do(func() error { return f.call(args...) })
}

// function is a function of the driver's library.
type function struct {
	symbol string
	at     uintptr
}

// functions are all functions that the library must provide.
var functions []*function

// newFunction declares a function of the library, which load looks up.
func newFunction(symbol string) *function {
	f := &function{symbol: symbol}
	functions = append(functions, f)
	return f
}

var (
	fnInit               = newFunction("cuInit")
	fnDeviceGetCount     = newFunction("cuDeviceGetCount")
	fnDeviceGet          = newFunction("cuDeviceGet")
	fnDeviceGetName      = newFunction("cuDeviceGetName")
	fnDeviceGetAttribute = newFunction("cuDeviceGetAttribute")
	fnDeviceTotalMem     = newFunction("cuDeviceTotalMem_v2")
	fnCtxRetain          = newFunction("cuDevicePrimaryCtxRetain")
	fnCtxSetCurrent      = newFunction("cuCtxSetCurrent")
	fnModuleLoadData     = newFunction("cuModuleLoadData")
	fnModuleGetFunction  = newFunction("cuModuleGetFunction")
	fnMemAlloc           = newFunction("cuMemAlloc_v2")
	fnMemFree            = newFunction("cuMemFree_v2")
	fnMemHostAlloc       = newFunction("cuMemHostAlloc")
	fnMemFreeHost        = newFunction("cuMemFreeHost")
	fnMemcpyHtoDAsync    = newFunction("cuMemcpyHtoDAsync_v2")
	fnMemcpyDtoHAsync    = newFunction("cuMemcpyDtoHAsync_v2")
	fnMemcpyDtoDAsync    = newFunction("cuMemcpyDtoDAsync_v2")
	fnMemsetD32Async     = newFunction("cuMemsetD32Async")
	fnStreamCreate       = newFunction("cuStreamCreate")
	fnStreamDestroy      = newFunction("cuStreamDestroy_v2")
	fnStreamSynchronize  = newFunction("cuStreamSynchronize")
	fnStreamWaitEvent    = newFunction("cuStreamWaitEvent")
	fnStreamBeginCapture = newFunction("cuStreamBeginCapture_v2")
	fnStreamEndCapture   = newFunction("cuStreamEndCapture")
	fnEventCreate        = newFunction("cuEventCreate")
	fnEventDestroy       = newFunction("cuEventDestroy_v2")
	fnEventRecord        = newFunction("cuEventRecord")
	fnEventElapsedTime   = newFunction("cuEventElapsedTime")
	fnGraphInstantiate   = newFunction("cuGraphInstantiateWithFlags")
	fnGraphLaunch        = newFunction("cuGraphLaunch")
	fnGraphDestroy       = newFunction("cuGraphDestroy")
	fnGraphExecDestroy   = newFunction("cuGraphExecDestroy")
	fnLaunchKernel       = newFunction("cuLaunchKernel")
)

// name is that of the function in NVIDIA's manual, without the version of its interface.
func (f *function) name() string {
	return strings.TrimSuffix(strings.TrimSuffix(f.symbol, "_v2"), "WithFlags")
}

// call calls the function and converts its result to an error. Go values whose addresses
// are among the arguments are not moved until it returns.
//
//go:uintptrescapes
func (f *function) call(args ...uintptr) error {
	if code := invoke(f.at, args...); code != 0 {
		return &Error{Call: f.name(), Code: int(code)}
	}
	return nil
}

// Error is an error of the driver.
type Error struct {
	Call string // the function that returned it
	Code int
}

// ErrMemory matches an [Error] of too little memory; ErrLost one after which this process can no longer
// use the device.
var (
	ErrMemory = errors.New("the GPU has not enough free memory")
	ErrLost   = errors.New("the GPU was lost")
)

const (
	codeMemory         = 2
	codeNotInitialized = 3
)

// names are the names of the driver's errors, with an explanation where a user can act on it.
var names = map[int]struct{ name, meaning string }{
	1:   {"INVALID_VALUE", ""},
	2:   {"OUT_OF_MEMORY", "not enough free memory"},
	3:   {"NOT_INITIALIZED", ""},
	4:   {"DEINITIALIZED", "the driver is shutting down"},
	34:  {"STUB_LIBRARY", "libcuda.so.1 is a stub, not that of a driver"},
	36:  {"CALL_REQUIRES_NEWER_DRIVER", "the driver is too old"},
	46:  {"DEVICE_UNAVAILABLE", "another process has the GPU for itself"},
	100: {"NO_DEVICE", "there is no GPU"},
	101: {"INVALID_DEVICE", ""},
	200: {"INVALID_IMAGE", ""},
	201: {"INVALID_CONTEXT", ""},
	209: {"NO_BINARY_FOR_GPU", "the GPU is too old"},
	214: {"ECC_UNCORRECTABLE", "the memory of the GPU has failed"},
	218: {"INVALID_PTX", "the driver cannot compile the kernels"},
	220: {"NVLINK_UNCORRECTABLE", "a link of the GPU has failed"},
	221: {"JIT_COMPILER_NOT_FOUND", "the driver's compiler, libnvidia-ptxjitcompiler.so.1, is not installed"},
	222: {"UNSUPPORTED_PTX_VERSION", "the driver is too old"},
	304: {"OPERATING_SYSTEM", ""},
	400: {"INVALID_HANDLE", ""},
	500: {"NOT_FOUND", ""},
	600: {"NOT_READY", ""},
	700: {"ILLEGAL_ADDRESS", "a kernel went wrong"},
	701: {"LAUNCH_OUT_OF_RESOURCES", ""},
	702: {"LAUNCH_TIMEOUT", "the GPU is also used for a screen, which stops long kernels"},
	714: {"HARDWARE_STACK_ERROR", "a kernel went wrong"},
	715: {"ILLEGAL_INSTRUCTION", "a kernel went wrong"},
	716: {"MISALIGNED_ADDRESS", "a kernel went wrong"},
	718: {"INVALID_PC", "a kernel went wrong"},
	719: {"LAUNCH_FAILED", "a kernel went wrong"},
	800: {"NOT_PERMITTED", ""},
	801: {"NOT_SUPPORTED", ""},
	802: {"SYSTEM_NOT_READY", "the system's GPU services are not running yet"},
	803: {"SYSTEM_DRIVER_MISMATCH", "the kernel module and the driver's library are of other versions: restart after an update"},
	900: {"STREAM_CAPTURE_UNSUPPORTED", ""},
	901: {"STREAM_CAPTURE_INVALIDATED", ""},
	999: {"UNKNOWN", "see dmesg and nvidia-smi"},
}

// Error returns the driver's name of the error, and its meaning.
func (e *Error) Error() string {
	known, ok := names[e.Code]
	switch {
	case !ok:
		return fmt.Sprintf("%s: error %d", e.Call, e.Code)
	case known.meaning == "":
		return fmt.Sprintf("%s: CUDA_ERROR_%s (%d)", e.Call, known.name, e.Code)
	}
	return fmt.Sprintf("%s: %s (CUDA_ERROR_%s, %d)", e.Call, known.meaning, known.name, e.Code)
}

// Is reports whether it is one of ErrMemory, ErrLost and ErrNoDevice.
func (e *Error) Is(target error) bool {
	switch target {
	case ErrMemory:
		return e.Code == codeMemory
	case ErrLost:
		return e.Code == 4 || e.Code == 46 || e.Code == 214 || e.Code == 220 || e.Code >= 700 && e.Code < 800 && e.Code != 701
	case ErrNoDevice:
		return e.Code == 100
	}
	return false
}
