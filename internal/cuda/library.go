package cuda

import (
	"errors"
	"fmt"
	"strings"
)

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
