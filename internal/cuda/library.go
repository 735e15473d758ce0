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
