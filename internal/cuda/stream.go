package cuda

import (
	"errors"
	"fmt"
	"runtime"
	"unsafe"
)

// Memory is an address in the memory of a device; zero is none.
type Memory uintptr

// At returns the address of the 32-bit value with the given index.
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

// Host returns the address of pinned memory, which kernels can access directly.
func Host(x []float32) Memory { return Memory(unsafe.Pointer(unsafe.SliceData(x))) }

// Free releases all memory; the device's blocks are kept for reuse. Nothing may be using it.
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

// alloc returns a block that was freed, or a new one. If memory is short, it runs the garbage
// collector and returns all spare blocks to the driver.
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

// reuse returns a spare block of a size, if there is one.
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

// allocNew allocates a block.
func (d *Device) allocNew(bytes int) (at Memory, err error) {
	err = d.call(fnMemAlloc, uintptr(unsafe.Pointer(&at)), uintptr(bytes))
	return at, err
}

// trim returns spare blocks to the driver.
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

// Stream is a queue of work that a device runs in order.
type Stream struct {
	device *Device
	handle uintptr
}

// NewStream returns a stream that runs concurrently with others.
func (d *Device) NewStream() (*Stream, error) {
	s := &Stream{device: d}
	const nonBlocking = 1
	err := d.call(fnStreamCreate, uintptr(unsafe.Pointer(&s.handle)), nonBlocking)
	return s, err
}

// Synchronize waits until all work is done.
func (s *Stream) Synchronize() error { return s.device.call(fnStreamSynchronize, s.handle) }

// Close ends the stream once its work is done.
func (s *Stream) Close() { _ = s.device.call(fnStreamDestroy, s.handle) }

// Do calls f; calls of the stream inside it need fewer switches of context.
func (s *Stream) Do(f func() error) error { return s.device.do(f) }

// Upload copies values to the device. The copy may be made later if they are pinned.
func (s *Stream) Upload(to Memory, from []float32) error {
	if len(from) == 0 {
		return nil
	}
	err := s.device.call(fnMemcpyHtoDAsync, uintptr(to), uintptr(unsafe.Pointer(&from[0])), uintptr(4*len(from)), s.handle)
	runtime.KeepAlive(from)
	return err
}

// Download copies values from the device, where they are after the next Synchronize.
func (s *Stream) Download(to []float32, from Memory) error {
	if len(to) == 0 {
		return nil
	}
	return s.device.call(fnMemcpyDtoHAsync, uintptr(unsafe.Pointer(&to[0])), uintptr(from), uintptr(4*len(to)), s.handle)
}

// Copy copies n values within the device.
func (s *Stream) Copy(to, from Memory, n int) error {
	return s.device.call(fnMemcpyDtoDAsync, uintptr(to), uintptr(from), uintptr(4*n), s.handle)
}

// Zero sets n values to zero.
func (s *Stream) Zero(at Memory, n int) error {
	return s.device.call(fnMemsetD32Async, uintptr(at), 0, uintptr(n), s.handle)
}

// Launch runs a kernel on a grid of blocks with the given number of threads each. args points to its
// argument structure.
func (s *Stream) Launch(kernel string, grid [3]int, threads int, args unsafe.Pointer) error {
	f, ok := s.device.kernels[kernel]
	if !ok {
		return fmt.Errorf("cuda: there is no kernel %s", kernel)
	}
	params := [1]unsafe.Pointer{args}
	err := s.device.call(fnLaunchKernel, f, uintptr(grid[0]), uintptr(grid[1]), uintptr(grid[2]),
		uintptr(threads), 1, 1, 0, s.handle, uintptr(unsafe.Pointer(&params)), 0)
	if err != nil {
		return fmt.Errorf("kernel %s, %v blocks: %w", kernel, grid, err)
	}
	return nil
}

// Graph is recorded work that runs as a unit.
type Graph struct {
	device *Device
	exec   uintptr
}

// Record returns a graph of the work that f submits to the stream, which does not run it.
func (s *Stream) Record(f func() error) (*Graph, error) {
	g := &Graph{device: s.device}
	err := s.device.do(func() error {
		const relaxed = 2 // other threads go on allocating
		if err := fnStreamBeginCapture.call(s.handle, relaxed); err != nil {
			return err
		}
		failed := f()
		var graph uintptr
		err := fnStreamEndCapture.call(s.handle, uintptr(unsafe.Pointer(&graph)))
		if failed != nil {
			return failed
		}
		if err != nil {
			return err
		}
		err = fnGraphInstantiate.call(uintptr(unsafe.Pointer(&g.exec)), graph, 0)
		_ = fnGraphDestroy.call(graph)
		return err
	})
	return g, err
}

// Run runs the recorded work.
func (s *Stream) Run(g *Graph) error { return s.device.call(fnGraphLaunch, g.exec, s.handle) }

// Close frees the graph.
func (g *Graph) Close() { _ = g.device.call(fnGraphExecDestroy, g.exec) }

// Event is a moment in the work of a stream.
type Event struct {
	device *Device
	handle uintptr
}

// NewEvent returns an event, which has passed until it is recorded.
func (d *Device) NewEvent() (*Event, error) {
	e := &Event{device: d}
	err := d.call(fnEventCreate, uintptr(unsafe.Pointer(&e.handle)), 0)
	return e, err
}

// Mark records e: it passes when all work submitted to the stream so far is done.
func (s *Stream) Mark(e *Event) error { return s.device.call(fnEventRecord, e.handle, s.handle) }

// Wait makes later work in the stream wait for e.
func (s *Stream) Wait(e *Event) error { return s.device.call(fnStreamWaitEvent, s.handle, e.handle, 0) }

// Since returns the milliseconds from an earlier event, both of which have passed.
func (e *Event) Since(before *Event) (ms float32, err error) {
	err = e.device.call(fnEventElapsedTime, uintptr(unsafe.Pointer(&ms)), before.handle, e.handle)
	return ms, err
}

// Close frees the event.
func (e *Event) Close() { _ = e.device.call(fnEventDestroy, e.handle) }
