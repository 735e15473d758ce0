// Package gpu implements the engine for NVIDIA GPUs: it runs the operations of [nn.Network.Ops] with the
// kernels of package cuda.
//
// A network's weights, gradients, moments and activations stay on the device. A training step is one
// CUDA graph, recorded at the first step of each batch size: forward, the loss of the mixture, with
// raters or without (scoring.go), backward and the new weights (trainer.go). It is a few kernels per
// layer, or two kernels in all where the data of an item fit into the shared memory of a block
// (items.go). Convolutions are matrix products (conv.go) whose geometry is in tables
// (gather.go). Other losses (fractional votes, votes without a rater, another method) run on the CPU,
// on the small output layer, between two graphs.
//
// The order of sums depends on shapes only: the same seed and GPU give the same bits. Random
// numbers are those of the CPU engine.
package gpu

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"unsafe"

	"credence/internal/cuda"
	"credence/nn"
)

// Engine runs networks on one GPU or several; with several, each network is on one of them.
type Engine struct {
	devices []*cuda.Device

	mu   sync.Mutex
	used []int // networks on each
}

// Open returns the engine of GPU number i, or of all if i is negative.
func Open(i int) (*Engine, error) {
	first, count := i, 1
	if i < 0 {
		n, err := cuda.Count()
		if err != nil {
			return nil, err
		}
		if n == 0 {
			return nil, fmt.Errorf("%w: the driver finds none", cuda.ErrNoDevice)
		}
		first, count = 0, n
	}
	e := &Engine{used: make([]int, count)}
	for k := range count {
		d, err := cuda.Open(first + k)
		if err != nil {
			return nil, err
		}
		e.devices = append(e.devices, d)
	}
	return e, nil
}

// namePrefix begins the names of GPUs.
const namePrefix = "cuda "

// Named reports whether a recorded engine name is that of a GPU.
func Named(name string) bool { return strings.HasPrefix(name, namePrefix) }

// Name implements [nn.Engine].
func (e *Engine) Name() string {
	d := e.devices[0]
	return fmt.Sprintf("%ssm_%d %s", namePrefix, d.Capability, d.Name)
}

// Describe returns a readable description of the GPUs in use.
func (e *Engine) Describe() string {
	d := e.devices[0]
	text := fmt.Sprintf("%s, %.0f GB", d.Name, float64(d.Memory)/1e9)
	if len(e.devices) > 1 {
		text = fmt.Sprintf("%d × %s", len(e.devices), text)
	}
	return text
}

// NewPredictor implements [nn.Engine].
func (e *Engine) NewPredictor(net *nn.Network, batch int) (nn.Predictor, error) {
	p := &predictor{engine: e, net: net, held: &held{}}
	runtime.AddCleanup(p, (*held).close, p.held)
	return p, p.grow(batch)
}

// NewTrainer implements [nn.Engine].
func (e *Engine) NewTrainer(net *nn.Network, o nn.OptimizerOptions, batch int) (nn.Trainer, error) {
	o, err := o.Complete()
	if err != nil {
		return nil, err
	}
	if _, ok := optimizers[o.Kind]; !ok {
		return nil, fmt.Errorf("no optimizer %s on this device", o.Kind)
	}
	n, err := e.load(net, batch, &o)
	if err != nil {
		return nil, err
	}
	t := &trainer{network: n}
	runtime.AddCleanup(t, (*network).close, n)
	return t, nil
}

// load puts a network on the device with the fewest networks.
func (e *Engine) load(net *nn.Network, batch int, o *nn.OptimizerOptions) (*network, error) {
	e.mu.Lock()
	at := slices.Index(e.used, slices.Min(e.used))
	e.used[at]++
	e.mu.Unlock()
	n, err := newNetwork(e.devices[at], net, max(batch, 1), o)
	if err != nil {
		e.leave(at)
		return nil, fmt.Errorf("GPU %d: %w", e.devices[at].Number, err)
	}
	n.leave = func() { e.leave(at) }
	return n, nil
}

func (e *Engine) leave(at int) {
	e.mu.Lock()
	e.used[at]--
	e.mu.Unlock()
}

// Pin implements [nn.Pinner].
func (e *Engine) Pin(n int) (*nn.Pinned, error) {
	a := e.devices[0].NewArena()
	x, err := a.Pinned(n)
	if err != nil {
		return nil, err
	}
	p := &nn.Pinned{Values: x}
	runtime.AddCleanup(p, (*cuda.Arena).Free, a)
	return p, nil
}

// predictor is the [nn.Predictor]. Its buffers grow with the batches.
type predictor struct {
	engine *Engine
	net    *nn.Network
	held   *held
}

// held are the resources that are freed when a predictor is no longer reachable.
type held struct{ network *network }

func (h *held) close() {
	if h.network != nil {
		h.network.close()
		h.network = nil
	}
}

// mostPredicted is the largest number of values that a predictor keeps on a device.
const mostPredicted = 1 << 28

// grow allocates buffers for batches of the given number of items, up to a limit: larger batches are split.
func (p *predictor) grow(batch int) error {
	batch = max(1, min(batch, 1024, mostPredicted/p.net.ItemSize()))
	if p.held.network != nil && p.held.network.batch >= batch {
		return nil
	}
	p.held.close()
	var err error
	p.held.network, err = p.engine.load(p.net, batch, nil)
	return err
}

// Forward implements [nn.Predictor].
func (p *predictor) Forward(x []float32, pass nn.Pass) ([]float32, error) {
	defer runtime.KeepAlive(p)
	if err := p.grow(len(x) / p.net.In.Size()); err != nil {
		return nil, err
	}
	return p.held.network.Forward(x, pass)
}

// start returns the address of a slice, which identifies it.
func start(x []float32) uintptr { return uintptr(unsafe.Pointer(unsafe.SliceData(x))) }
