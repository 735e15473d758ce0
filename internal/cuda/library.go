package cuda

// function is a function of the driver.
type function int

const (
	fnInit function = iota
	fnDeviceGetCount
	fnDeviceGet
	fnDeviceGetName
	fnDeviceGetAttribute
	fnDeviceTotalMem
	fnCtxRetain
	fnCtxSetCurrent
	fnModuleLoadData
	fnModuleGetFunction
	fnMemGetInfo
	fnMemAlloc
	fnMemFree
	fnMemHostAlloc
	fnMemFreeHost
	fnMemcpyHtoDAsync
	fnMemcpyDtoHAsync
	fnMemcpyDtoDAsync
	fnMemsetD32Async
	fnStreamCreate
	fnStreamDestroy
	fnStreamSynchronize
	fnStreamWaitEvent
	fnStreamBeginCapture
	fnStreamEndCapture
	fnEventCreate
	fnEventDestroy
	fnEventRecord
	fnEventSynchronize
	fnEventElapsedTime
	fnGraphInstantiate
	fnGraphLaunch
	fnGraphDestroy
	fnGraphExecDestroy
	fnLaunchKernel
	functions
)

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
