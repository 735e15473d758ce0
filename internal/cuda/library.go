package cuda

import "strings"

// function is a function of the driver's library.
type function struct {
	symbol string
	at     uintptr
}

// functions are all that the library has to have.
var functions []*function

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
	fnMemGetInfo         = newFunction("cuMemGetInfo_v2")
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
	fnEventSynchronize   = newFunction("cuEventSynchronize")
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

// call calls the function and makes an error of what it returns. Go values whose addresses
// are among the arguments stay where they are until it returns.
//
//go:uintptrescapes
func (f *function) call(args ...uintptr) error {
	if code := invoke(f.at, args...); code != 0 {
		return &Error{Call: f.name(), Code: int(code)}
	}
	return nil
}
