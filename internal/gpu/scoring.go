package gpu

import (
	"unsafe"

	"credence/head"
	"credence/internal/cuda"
	"credence/internal/special"
)

const (
	lossComponents = 64 // as in loss.cu: the most components, and the most classes
	lossScratch    = 4352
	lossThreads    = 128
	lossVotes      = 256 // the most votes of an item, which a thread goes through one by one
	lossNumbers    = 4
	raterVotes     = 16 // as in raters.cu: the most votes of an item with raters
	windowDoubles  = 14
)

// lossShape identifies a loss that is computed on the device; the zero value is none.
type lossShape struct {
	head.MixtureShape
	raters bool
}

// scratch returns the number of float64 values that the threads of an item share.
func (l lossShape) scratch() int {
	if l.raters {
		return l.Components*windowDoubles + 2*raterVotes
	}
	return l.Components * (l.Classes + 4)
}

// scoring has the data of the loss of a mixture, all in pinned memory, which kernels access
// directly: there are no separate copies.
type scoring struct {
	loss    lossShape
	host    []float32 // [lossNumbers, batch·d votes, batch weights, batch clamped]
	numbers []float32 // slices of host, with the next three
	counts  []float32
	weights []float32
	clamped []float32
	nll     []float64
	grad    cuda.Memory // of the outputs
	items   *itemPlan   // nil where layers run one by one

	voters []float64 // [batch, raterVotes, 2] e^b, negative for a vote for the first class, and g
	shifts []float64 // [batch]
	scores []float64 // [batch, raterVotes, 2]
	grids  cuda.Memory
	nodes  int
}

func (n *network) newScoring(l lossShape) (*scoring, error) {
	b := &builder{network: n, train: true}
	s := &scoring{loss: l, grad: b.perItem(n.net.Out.Size())}
	s.host = b.pinned(lossNumbers + n.batch*(l.Classes+2))
	s.nll = b.pinnedDoubles(n.batch)
	if l.raters {
		s.voters, s.scores = b.pinnedDoubles(n.batch*raterVotes*2), b.pinnedDoubles(n.batch*raterVotes*2)
		s.shifts = b.pinnedDoubles(n.batch)
		s.newGrids(b)
	}
	if b.err != nil {
		return nil, b.err
	}
	s.numbers, s.counts = s.host[:lossNumbers], s.host[lossNumbers:][:n.batch*l.Classes]
	rest := s.host[lossNumbers+len(s.counts):]
	s.weights, s.clamped = rest[:n.batch], rest[n.batch:]
	s.items = newItemPlan(b, n.ops, l)
	return s, b.err
}

// newGrids puts the grids of integrals on the device: log p, log(1−p) and p/(1−p) of all of them.
func (s *scoring) newGrids(b *builder) {
	var p, q, odds []float64
	for _, g := range special.LogitGrids() {
		p, q, odds = append(p, g.LogP...), append(q, g.LogQ...), append(odds, g.Odds...)
	}
	s.nodes = len(p)
	s.grids = upload(b, append(append(p, q...), odds...))
}

func (s *scoring) args(n *network, items int) lossArgs {
	a := lossArgs{
		out: n.out, grad: s.grad, counts: cuda.Host(s.counts), weights: cuda.Host(s.weights), sent: cuda.Host(s.numbers),
		numbers: n.steps.device, nll: hostDoubles(s.nll), clamped: cuda.Host(s.clamped),
		n: int32(items), k: int32(s.loss.Components), d: int32(s.loss.Classes), limit: s.loss.Limit,
	}
	if s.loss.raters {
		a.voters, a.shifts, a.scores = hostDoubles(s.voters), hostDoubles(s.shifts), hostDoubles(s.scores)
		a.grids, a.nodes = s.grids, int32(s.nodes)
	}
	return a
}

// hostDoubles returns the address of pinned float64 values.
func hostDoubles(x []float64) cuda.Memory { return cuda.Memory(unsafe.Pointer(unsafe.SliceData(x))) }

// send sets what kernels read of a batch.
func (s *scoring) send(l *head.MixtureLoss, raters *head.RaterLoss) {
	copy(s.counts, l.Counts)
	for j := range len(l.Counts) / l.Classes {
		s.weights[j] = 1
		if l.Weights != nil {
			s.weights[j] = float32(l.Weights[j])
		}
	}
	if raters == nil {
		return
	}
	copy(s.shifts, raters.Shifts)
	s.eachVote(raters, func(v, at int) {
		voter := &raters.Voters[v]
		s.voters[at], s.voters[at+1] = -voter.Odds, voter.Guess
		if voter.Second {
			s.voters[at] = voter.Odds
		}
	})
}

// receive takes what kernels have written of a batch.
func (s *scoring) receive(l *head.MixtureLoss, raters *head.RaterLoss) {
	for j := range len(l.Counts) / l.Classes {
		l.Sum += s.nll[j]
		l.Clamped += int64(s.clamped[j])
	}
	if raters != nil {
		s.eachVote(raters, func(v, at int) {
			raters.Scores[v] = head.VoteScore{Bias: s.scores[at], Guessed: s.scores[at+1]}
		})
	}
}

// eachVote calls f with the number of each vote and its place in voters and scores.
func (s *scoring) eachVote(raters *head.RaterLoss, f func(v, at int)) {
	v := 0
	for j := range len(raters.Counts) / 2 {
		for i := range int(raters.Counts[2*j] + raters.Counts[2*j+1]) {
			f(v, (j*raterVotes+i)*2)
			v++
		}
	}
}

// record submits a whole step to the stream: one graph.
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
