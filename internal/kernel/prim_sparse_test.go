package kernel

import (
	"fmt"
	"slices"
	"testing"
)

func TestSparse(t *testing.T) {
	testPrimitive(t, func(p *primCase) {
		for n := range 12 {
			for kw := 1; kw <= 19; kw++ {
				nr := 1 + (n*5+kw)%30
				p.what = fmt.Sprintf("n=%d kw=%d rows=%d", n, kw, nr)
				rows, pos, g := p.offsets(nr, 40), p.offsets(n, 41), p.in(n)
				x := p.in(79 + kw)
				got, want := p.out(nr * kw)
				active.sparseDot(got, x, rows, kw, pos, g)
				sparseDotGeneric(want, x, rows, kw, pos, g)
				p.compare(got, want)

				w := p.in(nr * kw)
				got, want = p.out(79 + kw + sparseSlack)
				active.sparseAdd(got, w, rows, kw, pos, g)
				sparseAddGeneric(want, w, rows, kw, pos, g)
				p.compare(got, want)
			}
			for _, cb := range []int{8, 16} {
				for taps := 1; taps < 40; taps++ {
					p.what = fmt.Sprintf("n=%d cb=%d taps=%d", n, cb, taps)
					off, pos, g := p.offsets(taps, 40), p.offsets(n, 41), p.in(n)
					x, w := p.in(80*cb), p.in(taps*cb)
					got, want := p.out(taps * cb)
					active.sparseDotBlock(got, x, off, pos, g, cb)
					sparseDotBlockGeneric(want, x, off, pos, g, cb)
					p.compare(got, want)

					got, want = p.out(80 * cb)
					active.sparseAddBlock(got, w, off, 1, pos, g, cb)
					sparseAddBlockGeneric(want, w, off, 1, pos, g, cb)
					p.compare(got, want)

					run := 1 + taps%8
					p.what += fmt.Sprintf(" run=%d", run)
					for t := range off {
						off[t] = off[t-t%run] + int32(t%run)
					}
					off, w = off[:taps/run*run], w[:taps/run*run*cb]
					if len(off) == 0 {
						continue
					}
					got, want = p.out(88 * cb)
					active.sparseAddBlock(got, w, off, run, pos, g, cb)
					sparseAddBlockGeneric(want, w, off, run, pos, g, cb)
					p.compare(got, want)
				}
			}
		}
	})
}

func TestSparseDotRuns(t *testing.T) {
	testPrimitive(t, func(p *primCase) {
		if active.sparseDotRuns == nil {
			p.t.Skip("not in this implementation")
		}
		for n := range 40 {
			for _, kw := range []int{3, 5} {
				nr := kw * (1 + n%3)
				p.what = fmt.Sprintf("n=%d kw=%d rows=%d", n, kw, nr)
				rows, pos, g := p.offsets(nr, 40), p.offsets(n, 41), p.in(n)
				x := p.in((79 + kw) * 8)
				got, want := p.out(nr * kw * 8)
				sum, sum2 := p.out(1)
				active.sparseDotRuns(got, sum, x, rows, kw, pos, g)
				sparseDotRunsGeneric(want, sum2, x, rows, kw, pos, g)
				sameBits(p.t, p.what, sum, sum2)
				p.compare(got, want)
			}
		}
	})
}

func TestSparseDotTwo(t *testing.T) {
	testPrimitive(t, func(p *primCase) {
		if active.sparseDotTwo == nil {
			p.t.Skip("not in this implementation")
		}
		for n := range 12 {
			for kw := 1; kw <= 8; kw++ {
				nr, other := 3+2*(kw%2), (n*5+kw)%12
				p.what = fmt.Sprintf("n=%d,%d kw=%d rows=%d", n, other, kw, nr)
				rows, x := p.offsets(nr, 40), p.in(79+kw)
				a, b := winnerList{p.offsets(n, 41), p.in(n)}, winnerList{p.offsets(other, 41), p.in(other)}
				got, want := p.out(2 * nr * kw)
				sum, sum2 := p.out(2)
				active.sparseDotTwo(got, sum, x, rows, kw, a, b)
				sparseDotTwoGeneric(want, sum2, x, rows, kw, a, b)
				sameBits(p.t, p.what, sum, sum2)
				p.compare(got, want)
			}
		}
	})
}

func TestWinners(t *testing.T) {
	testPrimitive(t, func(p *primCase) {
		for i := range 4 * 40 {
			n, nz, ph, stride, lo := 1+i/4, 1+i%3, 1+i%4, 1+i/8%2, 11
			width := n * 3
			g := newGuarded(integers(p.r, nz*n, 1), i%4).x
			arg := make([]int32, nz*n)
			for j := range arg {
				arg[j] = int32(lo + (j/n*ph+p.r.IntN(ph))*width + j%n*3 + p.r.IntN(3))
			}
			rowPos := p.offsets(nz*ph, 1000)
			pos, pos2 := make([]int32, nz*n+winnerSlack), make([]int32, nz*n+winnerSlack)
			got, want := p.out(nz*n + winnerSlack)
			m := active.winners(pos, got, g, arg, n, nz, ph, rowPos, lo, width, stride)
			m2 := winnersGeneric(pos2, want, g, arg, n, nz, ph, rowPos, lo, width, stride)
			if m != m2 {
				p.t.Fatalf("n=%d ph=%d: %d winners, want %d", n, ph, m, m2)
			}
			if !slices.Equal(pos[:m], pos2[:m]) {
				p.t.Fatalf("n=%d ph=%d: positions %v, want %v", n, ph, pos[:m], pos2[:m])
			}
			p.compare(got[:m], want[:m])
		}
	})
}
