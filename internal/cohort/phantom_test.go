package cohort

import (
	"math"
	"slices"
	"testing"
)

// voxelAt returns the voxel of a volume at a place of the template, for a head that
// lies straight and has the mean size.
func voxelAt(v []float32, size Size, x, y, z float32) float32 {
	i := size[0] - 1 - sliceAt(0, x, size, size.Spacing())
	j, k := sliceAt(1, y, size, size.Spacing()), sliceAt(2, z, size, size.Spacing())
	return v[(k*size[1]+j)*size[0]+i]
}

// A head has air around it, white matter in it, fluid in its ventricles, dark
// bone and bright fat over it.
func TestHead(t *testing.T) {
	p := Picture{Seed: 1, Subject: 2, Severity: 1.5}
	h := newHead(p)
	for _, c := range []struct {
		name   string
		q      vec
		lo, hi float32
	}{
		{"air above", vec{0, -17, 110}, 0, 0},
		{"air in front", vec{0, 140, 20}, 0, 0},
		{"corpus callosum", vec{0, 20, 10}, 90, 101},
		{"body of the ventricle", vec{9, 0, 17}, 15, 35},
		{"the other side", vec{-9, 0, 17}, 15, 35},
		{"thalamus", vec{13, -18, 8}, 70, 92},
		{"putamen", vec{27, 5, 1}, 64, 80},
		{"hippocampus", vec{26.5, -15, -19}, 60, 80},
		{"pons", vec{0, -22, -32}, 85, 101},
		{"vitreous body", vec{31, 62, -27}, 15, 35},
		{"outer table of the skull", vec{0, -17, 12 + 69 + h.skull - 0.5}, 0, 50},
		{"fat of the scalp", vec{0, -17, 12 + 69 + h.skull + h.scalp - 3.2}, 80, 150},
	} {
		if got := h.brightness(c.q, 0.5); !(got >= c.lo && got <= c.hi) {
			t.Errorf("%s: brightness %.1f, want %v to %v", c.name, got, c.lo, c.hi)
		}
	}
}

// As severity grows, fluid inside the head does, and white and gray matter
// shrink, in every subject and at every size.
func TestAtrophy(t *testing.T) {
	subjects := 4
	if testing.Short() {
		subjects = 1
	}
	for _, size := range []Size{{48, 48, 40}, {31, 40, 22}} {
		for subject := range subjects {
			last := -1.0
			for _, severity := range []float64{-1.5, 0, 1.5} {
				v := Picture{Seed: 3, Subject: subject, Scan: subject, Severity: severity}.Render(size)
				if len(v) != size.Voxels() {
					t.Fatalf("%d voxels", len(v))
				}
				sorted := slices.Clone(v)
				slices.Sort(sorted)
				white := sorted[len(sorted)*95/100]
				// The share of a box inside the brain that is dark.
				dark, all := 0.0, 0.0
				for x := float32(-40); x <= 40; x += 3 {
					for y := float32(-60); y <= 35; y += 3 {
						for z := float32(-5); z <= 40; z += 3 {
							dark += math.Max(0, float64(0.65-voxelAt(v, size, x, y, z)/white))
							all++
						}
					}
				}
				if dark/all < last*1.1 {
					t.Errorf("%v, subject %d: fluid %.4f at severity %v, %.4f below it", size, subject, dark/all, severity, last)
				}
				last = dark / all
			}
		}
	}
}

// Noise in air is close to Rayleigh: sums of four bytes stand in for Gaussians,
// whose tails are longer, hence the tolerance of 1.5%. By chance the ratio below
// is off by 0.0005, the standard error over the voxels of a volume.
func TestNoise(t *testing.T) {
	v := make([]float32, DefaultSize.Voxels())
	p := Picture{Seed: 1}
	p.degrade(v, DefaultSize)
	var sum, square float64
	for _, x := range v {
		sum += float64(x)
		square += float64(x) * float64(x)
	}
	n := float64(len(v))
	// E[x²] = 2σ², E[x] = σ√(π/2): their ratio is free of σ.
	if ratio := sum / n / math.Sqrt(square/n); math.Abs(ratio-math.Sqrt(math.Pi)/2) > 0.013 {
		t.Errorf("mean over root mean square is %.4f, want %.4f", ratio, math.Sqrt(math.Pi)/2)
	}
	if sd := math.Sqrt(square / n / 2); sd < 1 || sd > 5 {
		t.Errorf("noise of %.2f", sd)
	}
}

// Scans of one subject show the same anatomy from another position; subjects
// differ.
func TestSubjectsDiffer(t *testing.T) {
	a := newHead(Picture{Seed: 1, Part: Study, Subject: 5, Scan: 10})
	b := newHead(Picture{Seed: 1, Part: Study, Subject: 5, Scan: 11})
	c := newHead(Picture{Seed: 1, Part: Study, Subject: 6, Scan: 10})
	if a.fold != b.fold || a.cortex != b.cortex || a.turn == b.turn {
		t.Error("two scans of a subject differ in more or less than their position")
	}
	if a.fold == c.fold || a.cortex == c.cortex {
		t.Error("two subjects are alike")
	}
}

func BenchmarkRender(b *testing.B) {
	Picture{}.Render(Size{8, 8, 8}) // makes the texture
	for b.Loop() {
		Picture{Seed: 1, Subject: 3, Scan: 3}.Render(DefaultSize)
	}
}
