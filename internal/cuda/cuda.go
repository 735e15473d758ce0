// Package cuda runs kernels on NVIDIA GPUs through the driver's own library, libcuda.so.1: nothing
// else has to be installed. The kernels, CUDA C in the folder kernels, are embedded as PTX,
// which the driver compiles for the GPU in use.
//
// The library is loaded by purego, which makes a program dynamically linked. So only a build with the tag
// cuda can load it; in any other, [Open] fails with [ErrBuild].
//
// A [Device] may be used from any goroutine: each call runs in the device's context, on a locked
// thread. Work submitted to a [Stream] runs in order; errors of kernels are reported by a later call,
// usually Synchronize.
package cuda

import (
	"bytes"
	"cmp"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"runtime"
	"sync"
	"unsafe"
)

//go:embed kernels.ptx
var ptx []byte

// ErrBuild is the error of a build without GPUs.
var ErrBuild = errors.New("this build has no GPUs: it is the static one; credence-gpu, built with -tags cuda, has")

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
	Capability int   // major and minor, such as 90
	Memory     int64 // bytes

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
		return fmt.Errorf("%w: %s has compute capability %d.%d, want at least %d.%d", ErrNoDevice, d.Name, major, minor,
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

// loadKernels compiles the PTX and looks all kernels up.
func (d *Device) loadKernels() error {
	text := append(ptx[:len(ptx):len(ptx)], 0)
	if err := fnModuleLoadData.call(uintptr(unsafe.Pointer(&d.module)), uintptr(unsafe.Pointer(&text[0]))); err != nil {
		return fmt.Errorf("compiling the kernels: %w", err)
	}
	runtime.KeepAlive(text)
	d.kernels = map[string]uintptr{}
	for _, name := range entries(ptx) {
		var f uintptr
		c := append([]byte(name), 0)
		if err := fnModuleGetFunction.call(uintptr(unsafe.Pointer(&f)), d.module, uintptr(unsafe.Pointer(&c[0]))); err != nil {
			return fmt.Errorf("kernel %s: %w", name, err)
		}
		d.kernels[name] = f
	}
	return nil
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

// entries returns the names of the kernels in PTX: ".visible .entry name(".
func entries(ptx []byte) []string {
	var list []string
	for _, rest := range bytes.Split(ptx, []byte(".entry "))[1:] {
		name, _, _ := bytes.Cut(rest, []byte("("))
		list = append(list, string(bytes.TrimSpace(name)))
	}
	return list
}
