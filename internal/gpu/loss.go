package gpu

import (
	"fmt"
	"runtime"
	"unsafe"

	"credence/head"
	"credence/internal/cuda"
	"credence/nn"
)

const (
	lossComponents = 64 // as in loss.cu: the most components, and the most classes
	lossScratch    = 4352
	lossThreads    = 128
	lossVotes      = 256 // the most votes of an item, which a thread goes through one by one
	lossNumbers    = 4
)

// scoring is what the loss of a mixture needs, all in pinned memory, which kernels reach by
// themselves: nothing is copied on its own.
type scoring struct {
	loss    head.MixtureShape
	host    []float32 // [lossNumbers, batch·d votes, batch weights, batch clamped]
	numbers []float32 // parts of host
	counts  []float32
	weights []float32
	clamped []float32
	sums    []float32 // bits of nll
	nll     []float64
	grad    cuda.Memory // of the outputs
	items   *itemPlan   // nil where layers run one by one
}

func (n *network) newScoring(l head.MixtureShape) (*scoring, error) {
	b := &builder{network: n, arena: n.arena, train: true}
	s := &scoring{loss: l, grad: b.perItem(n.net.Out.Size())}
	s.host = b.pinned(lossNumbers + n.batch*(l.Classes+2))
	s.sums = b.pinned(2 * n.batch)
	if b.err != nil {
		return nil, b.err
	}
	s.numbers, s.counts = s.host[:lossNumbers], s.host[lossNumbers:][:n.batch*l.Classes]
	rest := s.host[lossNumbers+len(s.counts):]
	s.weights, s.clamped = rest[:n.batch], rest[n.batch:]
	s.nll = unsafe.Slice((*float64)(unsafe.Pointer(&s.sums[0])), n.batch)
	s.items = newItemPlan(b, n.ops, l)
	return s, b.err
}

func (s *scoring) args(n *network, items int) lossArgs {
	return lossArgs{
		out: n.out, grad: s.grad, counts: cuda.Host(s.counts), weights: cuda.Host(s.weights), sent: cuda.Host(s.numbers),
		numbers: n.steps.device, nll: cuda.Host(s.sums), clamped: cuda.Host(s.clamped),
		n: int32(items), k: int32(s.loss.Components), d: int32(s.loss.Classes), limit: s.loss.Limit,
	}
}

// record gives a whole step to the stream: one graph.
func (s *scoring) record(r *recorder, n *network, x cuda.Memory) {
	if s.items != nil {
		s.items.record(r, n, s, x)
		return
	}
	n.root.forward(r, n.out, x)
	args := s.args(n, r.items)
	r.launch("mixture_loss", [3]int{r.items, 1, 1}, lossThreads, unsafe.Pointer(&args))
	n.root.backward(r, 0, s.grad, n.out, x)
	n.steps.move(r, n)
}

// StepLoss implements [nn.Scorer]: it computes the loss of mixtures.
func (t *trainer) StepLoss(x []float32, at nn.Step, loss nn.DeviceLoss) (computed bool, err error) {
	l, ok := loss.(*head.MixtureLoss)
	if !ok || l.Components > lossComponents || l.Classes > lossComponents || l.Components*(l.Classes+4) > lossScratch ||
		l.Most > lossVotes || len(t.steps.own) > 0 {
		return false, nil
	}
	return true, t.stepVotes(x, at, l)
}

// stepVotes is a step with the loss of a mixture. It returns when the step is done.
func (t *trainer) stepVotes(x []float32, at nn.Step, l *head.MixtureLoss) error {
	defer runtime.KeepAlive(t)
	items, err := t.stepItems(x)
	if err != nil {
		return err
	}
	if l.Components*(l.Classes+1) != t.net.Out.Size() || len(l.Counts) != items*l.Classes {
		return fmt.Errorf("gpu: %d votes of %d items and %d outputs for %d components of %d classes",
			len(l.Counts), items, t.net.Out.Size(), l.Components, l.Classes)
	}
	if t.scoring == nil || t.scoring.loss != l.MixtureShape {
		if t.scoring, err = t.newScoring(l.MixtureShape); err != nil {
			return fmt.Errorf("GPU %d: the loss of %d items: %w", t.device.Number, t.batch, err)
		}
	}
	s := t.scoring
	copy(s.counts, l.Counts)
	for j := range items {
		s.weights[j] = 1
		if l.Weights != nil {
			s.weights[j] = float32(l.Weights[j])
		}
	}
	t.steps.count(s.numbers)
	s.numbers[3] = float32(1 / float64(l.Voted))
	err = t.stream.Do(func() error {
		from, err := t.launch(x, nn.Pass{Train: true, At: at}, training, l.MixtureShape)
		if err != nil {
			return err
		}
		if err := t.stream.Mark(from.done); err != nil {
			return err
		}
		return t.stream.Synchronize()
	})
	for j := range items {
		l.Sum += s.nll[j]
		l.Clamped += int64(s.clamped[j])
	}
	return err
}
