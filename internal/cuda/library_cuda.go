//go:build cuda && linux && (amd64 || arm64)

package cuda

import (
	"fmt"

	"github.com/ebitengine/purego"
)

// library is the driver's library.
type library struct{ at [functions]uintptr }

// load opens the library and looks all functions up.
func load(path string) (library, error) {
	var l library
	handle, err := purego.Dlopen(path, purego.RTLD_NOW|purego.RTLD_GLOBAL)
	if err != nil {
		return l, fmt.Errorf("the NVIDIA driver is not installed: %w", err)
	}
	for f, name := range symbols {
		if l.at[f], err = purego.Dlsym(handle, name); err != nil {
			return l, fmt.Errorf("%s has no %s: the NVIDIA driver is too old, want 450 or later", path, name)
		}
	}
	return l, nil
}

// call calls a function. Go values whose addresses are among the arguments stay where they are
// until it returns.
//
//go:uintptrescapes
func (l *library) call(f function, args ...uintptr) uintptr {
	r, _, _ := purego.SyscallN(l.at[f], args...)
	return r & 0xffffffff
}

// symbols are their names in the library.
var symbols = [functions]string{
	fnInit: "cuInit", fnDeviceGetCount: "cuDeviceGetCount", fnDeviceGet: "cuDeviceGet",
	fnDeviceGetName: "cuDeviceGetName", fnDeviceGetAttribute: "cuDeviceGetAttribute",
	fnDeviceTotalMem: "cuDeviceTotalMem_v2", fnCtxRetain: "cuDevicePrimaryCtxRetain",
	fnCtxSetCurrent: "cuCtxSetCurrent", fnModuleLoadData: "cuModuleLoadData",
	fnModuleGetFunction: "cuModuleGetFunction", fnMemGetInfo: "cuMemGetInfo_v2",
	fnMemAlloc: "cuMemAlloc_v2", fnMemFree: "cuMemFree_v2", fnMemHostAlloc: "cuMemHostAlloc",
	fnMemFreeHost: "cuMemFreeHost", fnMemcpyHtoDAsync: "cuMemcpyHtoDAsync_v2",
	fnMemcpyDtoHAsync: "cuMemcpyDtoHAsync_v2", fnMemcpyDtoDAsync: "cuMemcpyDtoDAsync_v2",
	fnMemsetD32Async: "cuMemsetD32Async", fnStreamCreate: "cuStreamCreate", fnStreamDestroy: "cuStreamDestroy_v2",
	fnStreamSynchronize: "cuStreamSynchronize", fnStreamWaitEvent: "cuStreamWaitEvent",
	fnStreamBeginCapture: "cuStreamBeginCapture_v2", fnStreamEndCapture: "cuStreamEndCapture",
	fnEventCreate: "cuEventCreate", fnEventDestroy: "cuEventDestroy_v2", fnEventRecord: "cuEventRecord",
	fnEventSynchronize: "cuEventSynchronize", fnEventElapsedTime: "cuEventElapsedTime",
	fnGraphInstantiate: "cuGraphInstantiateWithFlags", fnGraphLaunch: "cuGraphLaunch",
	fnGraphDestroy: "cuGraphDestroy", fnGraphExecDestroy: "cuGraphExecDestroy", fnLaunchKernel: "cuLaunchKernel",
}
