package cuda

import (
	"errors"
	"fmt"
	"runtime"
	"unsafe"
)

// Memory is a place in the memory of a device; zero is none.
type Memory uintptr

// At returns the place so many 32-bit values further on.
func (m Memory) At(values int) Memory {
	if m == 0 {
		return 0
	}
	return m + Memory(4*values)
}

// Arena is memory of a device that is freed together: a network's weights, gradients and buffers.
type Arena struct {
	device *Device
	blocks []block
	hosts  []unsafe.Pointer
}

type block struct {
	at    Memory
	bytes int
}

// NewArena returns an empty arena.
func (d *Device) NewArena() *Arena { return &Arena{device: d} }

// Values returns memory for n 32-bit values, all zero.
func (a *Arena) Values(n int) (Memory, error) {
	bytes := (max(n, 1)*4 + 511) / 512 * 512
	at, err := a.device.alloc(bytes)
	if err != nil {
		return 0, fmt.Errorf("%d bytes: %w", bytes, err)
	}
	a.blocks = append(a.blocks, block{at, bytes})
	return at, a.device.do(func() error {
		if err := fnMemsetD32Async.call(uintptr(at), 0, uintptr(bytes/4), 0); err != nil {
			return err
		}
		return fnStreamSynchronize.call(0) // streams do not wait for it
	})
}

// Pinned returns host memory for n values, which the device copies from and to by itself.
func (a *Arena) Pinned(n int) ([]float32, error) {
	var p unsafe.Pointer
	const portable = 1
	err := a.device.call(fnMemHostAlloc, uintptr(unsafe.Pointer(&p)), uintptr(max(n, 1)*4), portable)
	if err != nil {
		return nil, fmt.Errorf("%d bytes of host memory for the GPU: %w", n*4, err)
	}
	a.hosts = append(a.hosts, p)
	s := unsafe.Slice((*float32)(p), max(n, 1))[:n]
	clear(s)
	return s, nil
}

// Host is the place of pinned memory, which kernels reach by themselves.
func Host(x []float32) Memory { return Memory(unsafe.Pointer(unsafe.SliceData(x))) }

// Free gives all memory back, the device's to those to come. Nothing may be using it.
func (a *Arena) Free() {
	d := a.device
	d.mu.Lock()
	for _, b := range a.blocks {
		d.spare[b.bytes] = append(d.spare[b.bytes], b.at)
	}
	d.mu.Unlock()
	for _, p := range a.hosts {
		_ = d.call(fnMemFreeHost, uintptr(p))
	}
	a.blocks, a.hosts = nil, nil
}

// alloc returns a block that was freed, or a new one. Where memory is short, it waits for what the
// garbage collector finds and gives all spare blocks back to the driver.
func (d *Device) alloc(bytes int) (Memory, error) {
	if at, ok := d.reuse(bytes); ok {
		return at, nil
	}
	at, err := d.allocNew(bytes)
	if !errors.Is(err, ErrMemory) {
		return at, err
	}
	runtime.GC()
	runtime.GC() // cleanups run after the first
	d.trim()
	return d.allocNew(bytes)
}

func (d *Device) reuse(bytes int) (Memory, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	list := d.spare[bytes]
	if len(list) == 0 {
		return 0, false
	}
	d.spare[bytes] = list[:len(list)-1]
	return list[len(list)-1], true
}

func (d *Device) allocNew(bytes int) (at Memory, err error) {
	err = d.call(fnMemAlloc, uintptr(unsafe.Pointer(&at)), uintptr(bytes))
	return at, err
}

// trim gives spare blocks back to the driver.
func (d *Device) trim() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, list := range d.spare {
		for _, at := range list {
			_ = d.call(fnMemFree, uintptr(at))
		}
	}
	clear(d.spare)
}
