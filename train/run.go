package train

import (
	"context"
	"fmt"
	"math"
	"time"

	"credence/dataset"
	"credence/head"
	"credence/internal/words"
	"credence/model"
	"credence/nn"
	"credence/tree"
)

// job is the state that runs share. Runs do not change it.
type job struct {
	o           Options // complete
	in          *inputs
	transform   *dataset.Transform
	layers      nn.Layer
	shape       nn.Shape
	method      head.Method
	task        head.Task
	reader      head.Head // of the method, to decode outputs, not to train
	traits      head.Traits
	bias        []float32 // initial bias of the last layer
	weights     []float64 // of the items, or nil
	mark        fingerprint
	report      func(Event)
	runs        int                    // number of runs in this phase
	trainedRuns map[string]*trainedRun // runs of other processes, by name
	grove       *grove                 // what trees learn from; nil without trees

	sameRaters bool // whether raters are those of the model to start from
	outlook    *outlook
}

// run is the training of one network. Everything that determines how it continues is
// in state and in the stepper's network and optimizer, which a checkpoint contains.
type run struct {
	*job
	name        string
	member      int   // selects its random numbers
	place       int   // index among the runs of its phase
	train, held []int // items
	epochs      int   // at most; exactly, without held-out items
	trees       int   // of its forest, without held-out items
	fold        int   // fold that is held out
	turn        int   // index among the runs that hold it out

	from *nn.Network // network to start from, or nil

	network     *nn.Network
	stepper     *Stepper
	head        head.Head
	scratch     []float64 // weights of the items of a batch
	batches     int       // number of batches per epoch
	size        int       // of the largest batch
	order       []int
	buffers     []*batch
	feed        *feed // of the current epoch
	augment     *augmenter
	best        [][]float32 // parameters and states of the best epoch
	state       state
	cross       *crossStop
	heldOutputs []head.Output // of the held-out items, by the best network
	forest      *forest       // nil without trees
	meter       *meter
	saved       time.Time
}

// state is the state of a run between two batches.
type state struct {
	Step     uint64        `json:"step"`  // batches trained on
	Epoch    int           `json:"epoch"` // epochs finished
	Batch    int           `json:"batch"` // completed batches of the current epoch
	Loss     float64       `json:"loss"`  // sum over the items of the current epoch
	Votes    float64       `json:"votes"` // of these items
	Share    float64       `json:"share"` // of the learning rate, halved by recoveries
	Halvings int           `json:"halvings"`
	Best     int           `json:"best"` // epoch of the best weights
	BestLoss float64       `json:"best_loss"`
	History  []model.Epoch `json:"history"`
	Note     string        `json:"note"`    // for the current epoch
	Clamped  int64         `json:"clamped"` // values of log α beyond the limit in this epoch
	Seen     int64         `json:"seen"`    // number of all values of log α in this epoch
	Done     bool          `json:"done"`
	Reason   string        `json:"reason"`          // why it is done
	Head     []float64     `json:"head,omitempty"`  // adaptive state of the head's loss
	Cross    []float64     `json:"cross,omitempty"` // see crossStop.best
}

// do starts or resumes the run, trains until it is done or ctx is canceled, and
// leaves the network with its best weights and its outputs for the items it held out,
// and releases working memory. The result of another process is used if there is one.
func (r *run) do(ctx context.Context) error {
	if err := r.start(); err != nil {
		return err
	}
	if p := r.trainedRuns[r.name]; p != nil {
		if err := r.take(p); err != nil {
			return err
		}
	} else if err := r.work(ctx); err != nil {
		return err
	} else if r.grove != nil && r.state.Done {
		r.forest = r.grow(ctx)
	}
	r.stepper, r.head, r.buffers, r.best, r.order = nil, nil, nil, nil, nil
	return nil
}

// work trains the network and predicts the items that it held out.
func (r *run) work(ctx context.Context) (err error) {
	if r.o.Resume && r.o.Checkpoint != "" {
		if err := r.resume(); err != nil {
			return err
		}
	}
	if r.o.Trees == "only" {
		r.state.Done, r.state.Reason = true, "not trained: there are only trees"
	} else if err := r.learn(ctx); err != nil {
		return err
	}
	r.restoreBest()
	if len(r.held) > 0 && (r.state.Done || r.state.Epoch > 0) {
		r.heldOutputs, err = r.outputs(r.head, []*nn.Network{r.network}, nil, r.turn, r.held)
	}
	return err
}

// outputs returns the outputs of each network, or of each of its passes, for items. The networks are those
// from position first of an ensemble, blended with trees unless these are nil.
func (j *job) outputs(h head.Head, nets []*nn.Network, trees *tree.Blend, first int, items []int) (list []head.Output, err error) {
	e, err := model.NewEnsemble(j.o.Engine, nets, trees)
	if err != nil {
		return nil, err
	}
	buffers := j.in.buffers(j.o.Batch, false)
	err = j.in.each(buffers, j.o.Batch, items, func(x []float32, _ head.Batch, _ []int) error {
		got, err := e.Outputs(context.Background(), h, x, 0, first)
		if list == nil {
			list = got
			return err
		}
		for k := range got {
			list[k].Raw = append(list[k].Raw, got[k].Raw...)
			list[k].Trees = append(list[k].Trees, got[k].Trees...)
		}
		return err
	})
	return list, err
}

// start creates the network, its head and its optimizer.
func (r *run) start() error {
	var err error
	if r.head, err = r.method.New(r.task); err != nil {
		return err
	}
	r.network, err = nn.New(r.layers, r.shape,
		nn.Options{Seed: r.o.Seed, Member: uint64(r.member), Init: r.o.Init, Own: r.head.Own()})
	if err != nil {
		return fmt.Errorf("network: %w", err)
	}
	startOutputs(r.network, r.bias)
	if r.from != nil {
		if err := r.startFrom(r.from); err != nil {
			return err
		}
	}
	r.batches = (len(r.train) + r.o.Batch - 1) / r.o.Batch
	if r.traits.LeastBatch > 0 {
		r.batches = max(1, len(r.train)/r.o.Batch) // no batch smaller than requested
	}
	r.size = max(r.o.Batch, (len(r.train)+r.batches-1)/r.batches)
	r.augment = newAugmenter(r.o.Augment, r.transform, r.o.Seed, uint64(r.member))
	if r.buffers, err = r.newBuffers(); err != nil {
		return err
	}
	r.state.Share = 1
	r.cross = r.newCrossStop()
	if err := r.newStepper(); err != nil {
		return err
	}
	r.head.Bind(r.network.Own) // gradients are allocated by now
	r.best = make([][]float32, 1+len(r.network.States))
	r.keepBest()
	return nil
}

// newBuffers returns the memory that batches are read into. Where the engine takes inputs ahead, it is
// memory that the engine copies fastest, and the engine gets the inputs of each batch as soon as they are read.
func (r *run) newBuffers() ([]*batch, error) {
	e, pins := r.o.Engine.(nn.Pinner)
	list := r.in.buffers(r.size, r.augment != nil || pins)
	if !pins {
		return list, nil
	}
	for _, b := range list {
		p, err := e.Pin(len(b.x))
		if err != nil {
			return nil, err
		}
		b.x, b.pin, b.ahead = p.Values, p, func(x []float32) error {
			if f, ok := r.stepper.Trainer.(nn.Feeder); ok {
				return f.Ahead(x)
			}
			return nil
		}
	}
	return list, nil
}

// newStepper creates a stepper with a fresh optimizer, at the current share of the
// learning rate.
func (r *run) newStepper() error {
	r.stopReading() // reading ahead uses the stepper's engine
	steps := uint64(0)
	if r.stepper != nil {
		steps = r.stepper.Trainer.State().Steps
	}
	var err error
	r.stepper, err = NewStepper(r.o.Engine, r.network, r.head, r.o.optimizer(r.batches, r.state.Share), r.size)
	if err == nil && r.o.Schedule == "cosine" {
		r.stepper.Trainer.State().Steps = steps
		err = r.stepper.Trainer.Push()
	}
	return err
}

// learn trains until the run is done or ctx is canceled, which is not an error.
func (r *run) learn(ctx context.Context) error {
	r.saved = time.Now()
	r.meter = &meter{start: r.saved, beat: r.saved}
	if r.state.Done { // in a checkpoint
		r.outlook.update(r.place, prospect{done: float64(r.state.Epoch), ended: true})
	}
	defer r.stopReading()
	if r.state.Epoch == 0 && r.state.Batch == 0 && len(r.held) > 0 && r.state.History == nil && !r.state.Done {
		loss, err := r.heldOut()
		if err != nil {
			return err
		}
		r.state.BestLoss = loss
		r.beginEpoch()
	}
	for !r.state.Done {
		if r.order == nil {
			r.stopReading()
			r.order = order(r.train, r.o.Seed, uint64(r.member), uint64(r.state.Epoch))
		}
		if r.state.Batch == r.batches {
			if err := r.endEpoch(); err != nil {
				return err
			}
			continue
		}
		if ctx.Err() != nil {
			return r.save()
		}
		if r.o.Checkpoint != "" && time.Since(r.saved) >= r.o.CheckpointEvery {
			if err := r.save(); err != nil {
				return err
			}
		}
		fine, err := r.step()
		if err == nil && !fine {
			err = r.recover("the loss is not a number") // which restarts the epoch
		}
		if err != nil {
			return err
		}
	}
	return r.save()
}

// batch returns the items of batch b of the current epoch. Batches have nearly
// equal sizes: the gradient of a tiny last one would be mostly noise.
func (r *run) batch(b int) []int {
	n := len(r.order)
	return r.order[b*n/r.batches : (b+1)*n/r.batches]
}

// step trains on the next batch. It returns false if the loss is not finite.
func (r *run) step() (fine bool, err error) {
	b := r.state.Batch
	if r.feed == nil {
		r.feed = r.in.feed(r.buffers, r.batches-b, func(i int) []int { return r.batch(b + i) }, r.augment.epoch(uint64(r.state.Epoch)))
	}
	items := r.batch(b)
	x, votes, err := r.feed.next()
	if err != nil {
		return false, err
	}
	r.weigh(&votes, items)
	loss, err := r.stepper.Step(x, votes, r.at())
	if err != nil {
		return false, err
	}
	if math.IsNaN(loss.Mean) || math.IsInf(loss.Mean, 0) {
		return false, nil
	}
	r.state.Step++
	r.state.Batch++
	r.state.Loss += loss.Mean * loss.Over
	r.state.Votes += loss.Votes
	if r.meter.add(len(items)) {
		r.event(Event{Done: float64(r.state.Batch) / float64(r.batches), Loss: r.state.Loss / r.state.Votes})
	}
	return true, nil
}

func (r *run) at() nn.Step {
	return nn.Step{Seed: r.o.Seed, Member: uint64(r.member), Epoch: uint64(r.state.Epoch), Step: r.state.Step}
}

// endEpoch closes an epoch: it scores the held-out items, keeps the best
// weights, and decides whether to continue.
func (r *run) endEpoch() error {
	s := &r.state
	e := model.Epoch{Epoch: s.Epoch + 1, Loss: s.Loss / s.Votes, Rate: r.stepper.Trainer.Rate(), Note: s.Note}
	r.countClamped()
	if s.Seen > 0 {
		e.Clamped = float64(s.Clamped) / float64(s.Seen)
	}
	held := e.Loss
	if len(r.held) > 0 {
		var err error
		if held, err = r.heldOut(); err != nil {
			return err
		}
		e.HeldOut = &held
	}
	if reason := r.exploded(e.Loss, held); reason != "" {
		return r.recover(reason)
	}
	r.beginEpoch()
	if err := r.stepper.Trainer.Pull(); err != nil {
		return err
	}
	s.Epoch++
	s.Note = ""
	s.History = append(s.History, e)
	r.order = nil
	switch {
	case len(r.held) == 0 || r.o.Patience < 0:
		r.keepBest()
		s.Best = s.Epoch
	case held < s.BestLoss || s.Epoch == r.traits.Warmup+1 && s.Epoch > 1:
		r.keepBest()
		s.Best, s.BestLoss = s.Epoch, held
	}
	switch {
	case s.Epoch >= r.epochs && (len(r.held) == 0 || r.o.Patience < 0):
		s.Done, s.Reason = true, fmt.Sprintf("training for %s was asked for", words.Plural(r.epochs, "epoch"))
	case s.Epoch >= r.epochs:
		s.Done, s.Reason = true, "smallest held-out loss of "+words.Plural(r.epochs, "epoch")
	case s.Epoch <= r.traits.Warmup:
	case len(r.held) > 0 && r.o.Patience > 0 && s.Epoch-s.Best >= r.o.Patience:
		s.Done, s.Reason = true, fmt.Sprintf("smallest held-out loss; %s without a smaller one followed", words.Plural(r.o.Patience, "epoch"))
	}
	r.event(Event{Loss: e.Loss, Note: e.Note, End: s.Done})
	if r.o.AfterEpoch != nil {
		r.o.AfterEpoch(Snapshot{Run: r.name, Index: r.member, Epoch: s.Epoch, Values: r.network.Values, Held: r.held})
	}
	return nil
}

// beginEpoch resets the sums and counts of an epoch, including those of clamped values.
func (r *run) beginEpoch() {
	r.countClamped()
	s := &r.state
	s.Batch, s.Loss, s.Votes, s.Clamped, s.Seen = 0, 0, 0, 0, 0
}

// event fills in the fields common to all events and sends the event.
func (r *run) event(e Event) {
	s := &r.state
	e.Run, e.Index, e.Runs, e.Epoch, e.Epochs, e.Best = r.name, r.member, r.runs, s.Epoch, r.epochs, s.Best
	e.Rate, e.Speed = r.stepper.Trainer.Rate(), r.meter.speed()
	e.HeldOut = math.NaN()
	if n := len(s.History); n > 0 && s.History[n-1].HeldOut != nil {
		e.HeldOut = *s.History[n-1].HeldOut
	}
	least := r.epochs
	if len(r.held) > 0 && r.o.Patience > 0 {
		least = min(least, s.Best+r.o.Patience)
	}
	left, atMost := r.outlook.update(r.place, prospect{done: float64(s.Epoch) + e.Done, least: least, speed: e.Speed, ended: s.Done})
	if !s.Done {
		e.Left, e.AtMost = left, atMost
	}
	r.report(e)
}
