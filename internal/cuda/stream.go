package cuda

import (
	"fmt"
	"runtime"
	"unsafe"
)

// Stream is work of a device that is done in order.
type Stream struct {
	device *Device
	handle uintptr
}

// NewStream returns a stream that runs beside others.
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

// Do calls f, whose calls of the stream are then made with fewer switches of context.
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

// Launch runs a kernel on a grid of blocks with so many threads each. args points to the structure
// that it takes.
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

// Graph is work that was recorded, to be done as one.
type Graph struct {
	device *Device
	exec   uintptr
}

// Record makes a graph of what f gives to the stream, which does not do it.
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

// Run does what was recorded.
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

// Mark makes e the moment when all that was given to the stream so far is done.
func (s *Stream) Mark(e *Event) error { return s.device.call(fnEventRecord, e.handle, s.handle) }

// Wait lets what comes next in the stream wait for e.
func (s *Stream) Wait(e *Event) error { return s.device.call(fnStreamWaitEvent, s.handle, e.handle, 0) }

// Synchronize waits for the event.
func (e *Event) Synchronize() error { return e.device.call(fnEventSynchronize, e.handle) }

// Since returns the milliseconds from an earlier event, both of which have passed.
func (e *Event) Since(before *Event) (ms float32, err error) {
	err = e.device.call(fnEventElapsedTime, uintptr(unsafe.Pointer(&ms)), before.handle, e.handle)
	return ms, err
}

// Close frees the event.
func (e *Event) Close() { _ = e.device.call(fnEventDestroy, e.handle) }
