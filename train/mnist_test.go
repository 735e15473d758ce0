package train

import (
	"math/rand/v2"
	"os"
	"testing"

	"credence/head"
	"credence/internal/kernel"
	"credence/internal/mnist"
	"credence/internal/rng"
	"credence/nn"
)

// digits returns MNIST if it is in the cache.
func digits(t *testing.T) (train, test *mnist.Set) {
	t.Helper()
	dir, err := mnist.CacheFolder()
	if err != nil {
		t.Skip(err)
	}
	if _, err := os.Stat(dir); err != nil {
		t.Skipf("MNIST is not in %s; credence data mnist puts it there", dir)
	}
	train, test, err = mnist.Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	return train, test
}

// TestMNIST trains lenet5 as a plain classifier on real digits. The subset of
// the short version is enough to see that training works: with three
// seeds it was beyond 93%, and chance is 10%.
func TestMNIST(t *testing.T) {
	set, test := digits(t)
	items, epochs, want := 60000, 2, 0.98
	if testing.Short() {
		if kernel.Name() == "generic" {
			t.Skip("MNIST takes minutes on the reference kernels; run without -short")
		}
		items, epochs, want = 6000, 2, 0.9
	}
	const batch, size, classes, seed = 64, mnist.Pixels, 10, 1
	set = set.Head(items)

	root, err := nn.ByName("lenet5", nn.Shape{1, 28, 28}, classes)
	if err != nil {
		t.Fatal(err)
	}
	net, err := nn.New(root, nn.Shape{1, 28, 28}, nn.Options{Seed: seed})
	if err != nil {
		t.Fatal(err)
	}
	steps := uint64(epochs * ((items + batch - 1) / batch))
	h, err := head.Softmax{}.New(head.Task{Classes: classes})
	if err != nil {
		t.Fatal(err)
	}
	s, err := NewStepper(nil, net, h, nn.OptimizerOptions{
		Rate: 2e-3, Schedule: nn.Schedule{Kind: "cosine", Total: steps, WarmUp: steps / 20},
	}, batch)
	if err != nil {
		t.Fatal(err)
	}
	xb, votes := make([]float32, batch*size), head.Counts{Classes: classes, Values: make([]float32, batch*classes)}
	at := nn.Step{Seed: seed}
	for epoch := range epochs {
		at.Epoch = uint64(epoch)
		order := rand.New(rng.New(seed, "shuffle", at.Epoch)).Perm(items)
		sum := 0.0
		for lo := 0; lo < items; lo += batch {
			part := order[lo:min(lo+batch, items)]
			clear(votes.Values)
			set.Standard(xb, part)
			for i, j := range part {
				votes.Values[i*classes+int(set.Labels[j])] = 1
			}
			b := head.Batch{Counts: head.Counts{Classes: classes, Values: votes.Values[:len(part)*classes]}}
			loss, err := s.Step(xb[:len(part)*size], b, at)
			if err != nil {
				t.Fatal(err)
			}
			sum += loss.Mean * float64(len(part))
			at.Step++
		}
		t.Logf("epoch %d: loss %.4f", epoch, sum/float64(items))
	}

	right := 0
	for lo := 0; lo < test.Len(); lo += batch {
		hi := min(lo+batch, test.Len())
		part := make([]int, hi-lo)
		for i := range part {
			part[i] = lo + i
		}
		test.Standard(xb, part)
		out, err := s.Trainer.Forward(xb[:len(part)*size], nn.Pass{})
		if err != nil {
			t.Fatal(err)
		}
		for i := range part {
			o, best := out[i*classes:][:classes], 0
			for c, v := range o {
				if v > o[best] {
					best = c
				}
			}
			if best == int(test.Labels[lo+i]) {
				right++
			}
		}
	}
	accuracy := float64(right) / float64(test.Len())
	t.Logf("test accuracy %.4f", accuracy)
	if accuracy < want {
		t.Errorf("test accuracy %.4f, want at least %v", accuracy, want)
	}
}
