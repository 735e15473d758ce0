package gpu

import (
	"cmp"
	"fmt"
	"slices"
	"sync"
	"unsafe"

	"credence/internal/cuda"
	"credence/internal/rng"
	"credence/nn"
)

// network is a network on a device.
type network struct {
	net    *nn.Network
	device *cuda.Device
	stream *cuda.Stream
	copies *cuda.Stream // transfers inputs
	arena  *cuda.Arena
	leave  func()

	batch    int
	ops      []nn.Op
	root     *sequence
	unpooled scratch   // gradients of the positions of a convolution before its pool
	drops    []uint64  // numbers of those with a rate
	keys     []float32 // pinned; bits of [drops, batch, 4] 32-bit numbers
	keysAt   cuda.Memory
	values   cuda.Memory
	states   map[*nn.Param]cuda.Memory
	out      cuda.Memory
	outHost  []float32 // pinned [batch, Out]
	all      []float32 // the outputs of more items than a batch

	mu     sync.Mutex
	slots  map[uintptr]*slot // of inputs that were loaded ahead, by their address in host memory
	staged *slot
	graphs map[graphKey]*cuda.Graph
	steps  *stepping // nil for a predictor

	scoring *scoring // of the loss that was last computed here
}

// slot is a place on the device for the inputs of a batch.
type slot struct {
	at          cuda.Memory
	values      int
	ready, done *cuda.Event
	ahead       bool // whether inputs were loaded ahead and no step has used them
}

// mode is the mode in which a network runs.
type mode int

const (
	predicting mode = iota
	sampling        // with dropout, without training
	training
)

// graphKey identifies a graph: one of a forward pass, one of the other half of a step, or one of a whole step
// with a loss that is computed here.
type graphKey struct {
	x     cuda.Memory
	items int
	mode  mode
	back  bool      // the half of a step after the loss
	loss  lossShape // of a whole step; else zero
}

func newNetwork(d *cuda.Device, net *nn.Network, batch int, o *nn.OptimizerOptions) (*network, error) {
	ops, err := net.Ops()
	if err != nil {
		return nil, fmt.Errorf("%w on this device", err)
	}
	n := &network{
		net: net, device: d, batch: batch, ops: ops, arena: d.NewArena(),
		states: map[*nn.Param]cuda.Memory{}, slots: map[uintptr]*slot{}, graphs: map[graphKey]*cuda.Graph{},
	}
	if err := n.allocate(ops, o); err != nil {
		n.arena.Free()
		return nil, fmt.Errorf("a network of %d parameters for batches of %d items: %w", net.Size(), batch, err)
	}
	return n, n.Push()
}

func (n *network) allocate(ops []nn.Op, o *nn.OptimizerOptions) (err error) {
	if n.stream, err = n.device.NewStream(); err != nil {
		return err
	}
	if n.copies, err = n.device.NewStream(); err != nil {
		return err
	}
	b := &builder{network: n, train: o != nil}
	n.values = b.values(len(n.net.Values))
	if o != nil {
		n.steps = newStepping(b, n.net, *o)
	}
	for _, s := range n.net.States {
		n.states[s] = b.values(s.Size())
	}
	n.root = newSequence(b, ops, n.net.In.Size())
	if n.unpooled.size > 0 {
		n.unpooled.at = b.perItem(n.unpooled.size)
	}
	n.out = b.values(n.batch * n.net.Out.Size())
	n.outHost = b.pinned(n.batch * n.net.Out.Size())
	if len(n.drops) > 0 {
		n.keys = b.pinned(len(n.drops) * n.batch * 4)
		n.keysAt = b.values(len(n.keys))
	}
	if b.err != nil {
		return b.err
	}
	n.staged, err = n.newSlot(n.batch * n.net.In.Size())
	return err
}

func (n *network) newSlot(values int) (s *slot, err error) {
	s = &slot{values: values}
	var errs [3]error
	s.at, errs[0] = n.arena.Values(values)
	s.ready, errs[1] = n.device.NewEvent()
	s.done, errs[2] = n.device.NewEvent()
	return s, cmp.Or(errs[:]...)
}

// close frees everything once the device is done with it.
func (n *network) close() {
	_ = n.stream.Synchronize()
	_ = n.copies.Synchronize()
	for _, g := range n.graphs {
		g.Close()
	}
	n.stream.Close()
	n.copies.Close()
	for _, s := range n.slots {
		s.ready.Close()
		s.done.Close()
	}
	n.arena.Free()
	n.leave()
}

// items checks the length of inputs and returns the number of items.
func (n *network) items(x []float32) (int, error) {
	in := n.net.In.Size()
	if len(x)%in != 0 || len(x) == 0 {
		return 0, fmt.Errorf("gpu: %d inputs are not those of items of %v", len(x), n.net.In)
	}
	return len(x) / in, nil
}

// Forward runs the network on any number of items, a batch at a time.
func (n *network) Forward(x []float32, p nn.Pass) ([]float32, error) {
	if len(x) == 0 {
		return nil, nil
	}
	items, err := n.items(x)
	if err != nil {
		return nil, err
	}
	if p.Sample != nil && len(p.Sample) != items {
		return nil, fmt.Errorf("gpu: %d keys for %d items", len(p.Sample), items)
	}
	m := predicting
	switch {
	case p.Train:
		return nil, fmt.Errorf("gpu: training is done by steps")
	case p.Sample != nil && len(n.drops) > 0:
		m = sampling
	}
	if items <= n.batch {
		return n.forward(x, p, m)
	}
	in, out := n.net.In.Size(), n.net.Out.Size()
	if len(n.all) < items*out {
		n.all = make([]float32, items*out)
	}
	for lo := 0; lo < items; lo += n.batch {
		hi, pass := min(lo+n.batch, items), p
		if p.Sample != nil {
			pass.Sample = p.Sample[lo:hi]
		}
		y, err := n.forward(x[lo*in:hi*in], pass, m)
		if err != nil {
			return nil, err
		}
		copy(n.all[lo*out:], y)
	}
	return n.all[:items*out], nil
}

// forward runs one batch and waits for its outputs.
func (n *network) forward(x []float32, p nn.Pass, m mode) ([]float32, error) {
	_, err := n.launch(x, p, m, lossShape{})
	if err == nil {
		err = n.stream.Synchronize()
	}
	items := len(x) / n.net.In.Size()
	return n.outHost[:items*n.net.Out.Size()], err
}

// launch starts a forward pass or, with the shape of a loss, a whole step. It returns the slot of its
// inputs.
func (n *network) launch(x []float32, p nn.Pass, m mode, loss lossShape) (at *slot, err error) {
	p.Items = len(x) / n.net.In.Size()
	if at, err = n.place(x); err != nil {
		return nil, err
	}
	if m != predicting {
		n.drawKeys(p)
	}
	return at, n.run(graphKey{x: at.at, items: p.Items, mode: m, loss: loss})
}

// place returns the slot of inputs that were loaded ahead, or copies them.
func (n *network) place(x []float32) (*slot, error) {
	n.mu.Lock()
	s := n.slots[start(x)]
	n.mu.Unlock()
	if s != nil && s.ahead {
		s.ahead = false
		return s, n.stream.Wait(s.ready)
	}
	return n.staged, n.stream.Upload(n.staged.at, x)
}

// Ahead implements [nn.Feeder].
func (n *network) Ahead(x []float32) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	s := n.slots[start(x)]
	if s == nil || s.values < len(x) {
		var err error
		if s, err = n.newSlot(max(len(x), n.batch*n.net.In.Size())); err != nil {
			return err
		}
		n.slots[start(x)] = s
	}
	s.ahead = true
	if err := n.copies.Wait(s.done); err != nil { // the step that used it before
		return err
	}
	if err := n.copies.Upload(s.at, x); err != nil {
		return err
	}
	return n.copies.Mark(s.ready)
}

// drawKeys sets the random keys of dropout.
func (n *network) drawKeys(p nn.Pass) {
	bits := unsafe.Slice((*uint32)(unsafe.Pointer(unsafe.SliceData(n.keys))), len(n.keys))
	for k, number := range n.drops {
		for j := range p.Items {
			var s rng.Stream
			if p.Sample == nil {
				s.Reset(p.At.Seed, "dropout", p.At.Member, p.At.Epoch, p.At.Step, number, uint64(j))
			} else {
				s.Reset(p.At.Seed, "dropout.sample", p.At.Member, p.At.Epoch, p.At.Step, number, p.Sample[j])
			}
			key, _, high := s.Skip(0)
			copy(bits[(k*n.batch+j)*4:], []uint32{uint32(key), uint32(key >> 32), uint32(high), uint32(high >> 32)})
		}
	}
}

// run starts a graph, which is recorded on first use.
func (n *network) run(k graphKey) error {
	g := n.graphs[k]
	if g == nil {
		var err error
		if g, err = n.stream.Record(func() error { return n.record(k) }); err != nil {
			return err
		}
		n.graphs[k] = g
	}
	return n.stream.Run(g)
}

// record submits the kernels of a graph to the stream.
func (n *network) record(k graphKey) error {
	r := &recorder{stream: n.stream, items: k.items, mode: k.mode}
	if k.back {
		n.steps.backward(r, n, k.x)
		return r.err
	}
	if k.mode != predicting && len(n.drops) > 0 {
		r.check(n.stream.Upload(n.keysAt, n.keys))
	}
	if k.loss != (lossShape{}) {
		n.scoring.record(r, n, k.x)
		return r.err
	}
	n.root.forward(r, n.out, k.x)
	r.check(n.stream.Download(n.outHost[:k.items*n.net.Out.Size()], n.out))
	if k.mode == training {
		n.steps.download(r, n)
	}
	return r.err
}

// Pull copies values and states from the device to the network.
func (n *network) Pull() error {
	return n.exchange(func(host []float32, device cuda.Memory, own bool) error {
		if own { // a state of the loss, which the device never changes
			return nil
		}
		return n.stream.Download(host, device)
	})
}

// Push copies the network's values and states to the device.
func (n *network) Push() error {
	return n.exchange(func(host []float32, device cuda.Memory, _ bool) error { return n.stream.Upload(device, host) })
}

// exchange copies the values, the states and the moments between the network and the device; own reports
// whether a state belongs to the loss.
func (n *network) exchange(move func(host []float32, device cuda.Memory, own bool) error) error {
	if err := move(n.net.Values, n.values, false); err != nil {
		return err
	}
	for s, at := range n.states {
		if err := move(s.Value, at, slices.Contains(n.net.Own, s)); err != nil {
			return err
		}
	}
	if n.steps != nil {
		for i, m := range n.steps.state.Moments {
			if err := move(m, n.steps.moments[i], false); err != nil {
				return err
			}
		}
	}
	return n.stream.Synchronize()
}
