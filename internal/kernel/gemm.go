package kernel

// Blocking of the matrix product. A panel of B, gemmK × lanes, stays in the
// first-level cache while gemmM rows of A, from the second level, pass over it.
const (
	lanes = 16 // columns of a panel of B
	gemmM = 96
	gemmN = 512
	gemmK = 256
)

// Matrix is a row-major matrix inside a slice: element (i, j) is
// Data[i*Stride+j], or Data[j*Stride+i] if Trans is set.
type Matrix struct {
	Data   []float32
	Stride int
	Trans  bool
}

// at is the index of element (i, j).
func (a Matrix) at(i, j int) int {
	if a.Trans {
		return j*a.Stride + i
	}
	return i*a.Stride + j
}

// check panics if the matrix does not hold rows × cols elements.
func (a Matrix) check(rows, cols int) {
	if rows > 0 && cols > 0 && a.at(rows-1, cols-1) >= len(a.Data) {
		panic("kernel: Gemm: matrix exceeds its slice")
	}
}

// GemmScratch is the packing memory of Gemm, one for each worker. The zero value is ready for use.
type GemmScratch struct {
	a, b []float32
	c    [gemmM * lanes]float32 // a panel of C of less than 16 columns
	z    [lanes]float32         // its bias, or zeros
}

// grown returns x with room for n numbers.
func grown(x []float32, n int) []float32 {
	if len(x) < n {
		return make([]float32, roundUp(n, 256)) // so that it begins with a cache line
	}
	return x
}

// gemmB is a block of B: panels, whose rows are bs apart and which are bp apart. Behind full ones there may be one of less than 16 columns, which
// is in last, packed, where panels have to be full.
type gemmB struct {
	panels []float32
	bs, bp int
	last   []float32
}

// panelColumns returns how many of n columns are in panels: all of them, or those of full ones.
func panelColumns(n int) int {
	if active.gemmPartial {
		return n
	}
	return n / lanes * lanes
}

// packedB returns a packed block of k rows and n columns.
func packedB(b []float32, k, n int) gemmB {
	return gemmB{b, lanes, lanes * k, b[min(panelColumns(n)*k, len(b)):]}
}

// Gemm computes the matrix product
//
//	C[i,j] = bias[j] + Σ_p A[i,p]·B[p,j],   i < m, j < n, p < k
//
// with bias [n], or nil for zeros. C must not be transposed and must not overlap
// A or B.
//
// Each element is one chain of multiply-adds over p = 0 … k−1 that begins with
// the bias. So any split of the rows or columns of C over several calls, each with
// the matching rows of A or columns of B, gives the same bits.
func Gemm(m, n, k int, c, a, b Matrix, bias []float32, s *GemmScratch) {
	b.check(k, n)
	direct := !GemmPacks(m, k, b)
	gemm(m, n, k, c, a, bias, s, func(p, j, np, nj int) gemmB {
		if !direct || np == 0 {
			s.b = grown(s.b, np*roundUp(nj, lanes))
			packB(s.b, b, p, j, np, nj)
			return packedB(s.b, np, nj)
		}
		block := gemmB{b.Data[b.at(p, j):], b.Stride, lanes, nil}
		if full := panelColumns(nj); full < nj {
			s.b = grown(s.b, np*lanes)
			packB(s.b, b, p, j+full, np, nj-full)
			block.last = s.b
		}
		return block
	})
}

// GemmPacks reports whether [Gemm] copies B of k rows in a product with m rows of A. Where few rows of A pass over B, or all of it
// stays in the cache, that would take longer than it saves.
func GemmPacks(m, k int, b Matrix) bool {
	return !active.gemmStrided || b.Trans || m > gemmFew && k*b.Stride > gemmSmall
}

// gemmFew and gemmSmall are the largest number of rows of A, and of values of B, for which B is not packed.
const gemmFew, gemmSmall = 16, 8192

// PackedLen returns the number of values of a packed k×n matrix.
func PackedLen(k, n int) int { return k * roundUp(n, lanes) }

// PackMatrix lays B [k, n] out in dst [PackedLen] for [GemmPacked]: for several products with the same B, which then
// is packed once.
func PackMatrix(dst []float32, b Matrix, k, n int) {
	b.check(k, n)
	checkLen("PackMatrix", PackedLen(k, n), len(dst))
	for j := 0; j < n; j += gemmN {
		nj := min(gemmN, n-j)
		for p := 0; p < k; p += gemmK {
			packB(dst[packedAt(p, j, k, nj):], b, p, j, min(gemmK, k-p), nj)
		}
	}
}

// packedAt is where the block of B with rows from p on and nj columns from j on begins in a packed matrix of k rows.
func packedAt(p, j, k, nj int) int { return j*k + p*roundUp(nj, lanes) }

// GemmPacked is [Gemm] with B from [PackMatrix], to the bit.
func GemmPacked(m, n, k int, c, a Matrix, b, bias []float32, s *GemmScratch) {
	checkLen("GemmPacked", PackedLen(k, n), len(b))
	gemm(m, n, k, c, a, bias, s, func(p, j, np, nj int) gemmB {
		return packedB(b[min(packedAt(p, j, k, nj), len(b)):], np, nj)
	})
}

// GemmFlipped is [Gemm], to the bit, for C [m, n] and a transposed B: it computes Cᵀ from the rows of B and the transpose of A, which
// takes less time than to transpose B where A has fewer rows.
func GemmFlipped(m, n, k int, c []float32, a, b Matrix, bias []float32, s *GemmScratch) {
	checkLen("GemmFlipped", m*n, len(c))
	a.check(m, k)
	b.check(k, n)
	if !b.Trans || a.Trans {
		panic("kernel: GemmFlipped: B is not transposed, or A is")
	}
	panel := min(k, gemmK)
	s.b = grown(s.b, (panel+n)*lanes)
	at, ct := s.b[:panel*lanes], s.b[panel*lanes:(panel+n)*lanes]
	for i := 0; i < m; i += lanes {
		rows := min(lanes, m-i)
		for j := range n {
			start := float32(0)
			if bias != nil {
				start = bias[j]
			}
			row := (*[lanes]float32)(ct[j*lanes:])
			for r := range row {
				row[r] = start
			}
		}
		for p := 0; p < k; p += gemmK {
			np := min(gemmK, k-p)
			active.packCols(at, a.Data[i*a.Stride+p:], a.Stride, np, rows)
			active.gemmPanels(ct, lanes, b.Data[p:], b.Stride, 1, at, lanes, 0, nil, n, lanes, np)
		}
		active.packTrans(c[i*n:], ct, lanes, rows, n)
	}
}

// gemm computes the product with the blocks of B that blocks returns: rows p … p+np−1 of columns j … j+nj−1.
func gemm(m, n, k int, c, a Matrix, bias []float32, s *GemmScratch, blocks func(p, j, np, nj int) gemmB) {
	if m <= 0 || n <= 0 {
		return
	}
	if c.Trans {
		panic("kernel: Gemm: transposed C")
	}
	c.check(m, n)
	a.check(m, k)
	if bias != nil {
		bias = bias[:n]
	}
	for j := 0; j < n; j += gemmN {
		nj := min(gemmN, n-j)
		for p := 0; p == 0 || p < k; p += gemmK {
			np := min(gemmK, k-p)
			b := blocks(p, j, np, nj)
			for i := 0; i < m; i += gemmM {
				gemmBlock(c, a, &b, bias, s, i, j, p, min(gemmM, m-i), nj, np)
			}
		}
	}
}

// gemmBlock adds the product of A[i:i+m, p:p+k] and the block b of columns
// j … j+n−1 to C, which begins with the bias at p = 0.
func gemmBlock(c, a Matrix, b *gemmB, bias []float32, s *GemmScratch, i, j, p, m, n, k int) {
	var ad []float32
	rs, ks := a.Stride, 1
	if a.Trans {
		rs, ks = 1, a.Stride
	}
	if k > 0 {
		ad = a.Data[a.at(i, p):]
		// Columns of A that lie a multiple of a page apart compete for the
		// same cache lines, and wide products read them many times.
		if a.Trans && (n > 128 || a.Stride%128 == 0) {
			s.a = grown(s.a, m*k)
			active.packTrans(s.a, ad, a.Stride, m, k)
			ad, rs, ks = s.a, k, 1
		}
	}
	full := panelColumns(n)
	if full > 0 {
		var start []float32
		if p == 0 {
			if start = noBias[:]; bias != nil {
				start = bias[j : j+full]
			}
		}
		active.gemmPanels(c.Data[c.at(i, j):], c.Stride, ad, rs, ks, b.panels, b.bs, b.bp, start, m, full, k)
	}
	if rest := n - full; rest > 0 {
		cd, t := c.Data[c.at(i, j+full):], s.c[:m*lanes]
		var start []float32
		if p == 0 {
			start = s.z[:]
			clear(start)
			if bias != nil {
				copy(start, bias[j+full:j+n])
			}
		} else {
			active.copyRows(t, lanes, cd, c.Stride, m, rest)
		}
		active.gemmPanels(t, lanes, ad, rs, ks, b.last, lanes, 0, start, m, lanes, k)
		active.copyRows(cd, c.Stride, t, lanes, m, rest)
	}
}

// noBias are zeros.
var noBias [gemmN]float32

// packB copies B[p:p+k, j:j+n] into panels of 16 columns, each [k][16], the
// last one filled up with zeros.
func packB(dst []float32, b Matrix, p, j, k, n int) {
	if k == 0 {
		return
	}
	src := b.Data[b.at(p, j):]
	if b.Trans {
		active.packCols(dst, src, b.Stride, k, n)
	} else {
		active.packRows(dst, src, b.Stride, k, n)
	}
}

// packRowsGeneric computes, with zeros where j ≥ n,
//
//	dst[(j/16)·16k + p·16 + j mod 16] = b[p·ldb + j],   p < k, j < n rounded up to 16
func packRowsGeneric(dst, b []float32, ldb, k, n int) {
	for j := 0; j < n; j += lanes {
		nj := min(lanes, n-j)
		for p := range k {
			d := dst[j*k+p*lanes : j*k+(p+1)*lanes]
			clear(d[copy(d, b[p*ldb+j:p*ldb+j+nj]):])
		}
	}
}

// packColsGeneric is packRowsGeneric for a transposed B, b[j·ldb + p].
func packColsGeneric(dst, b []float32, ldb, k, n int) {
	for j := 0; j < n; j += lanes {
		nj := min(lanes, n-j)
		d := dst[j*k : j*k+k*lanes]
		for q := range nj {
			for p, v := range b[(j+q)*ldb : (j+q)*ldb+k] {
				d[p*lanes+q] = v
			}
		}
		for q := nj; q < lanes; q++ {
			for p := range k {
				d[p*lanes+q] = 0
			}
		}
	}
}

// packTransGeneric computes dst[i·k + p] = a[p·lda + i],   i < m, p < k.
func packTransGeneric(dst, a []float32, lda, m, k int) {
	for p := range k {
		for i, v := range a[p*lda : p*lda+m] {
			dst[i*k+p] = v
		}
	}
}

// gemmPanelsGeneric computes, for i < m and j < n, with j = 16q + r, r < 16,
//
//	c[i·ldc + j] = c₀ + Σ_{p<k} a[i·rs + p·ks]·b[q·bp + p·bs + r]
//
// where c₀ is bias[j], or the present c if bias is nil.
func gemmPanelsGeneric(c []float32, ldc int, a []float32, rs, ks int, b []float32, bs, bp int, bias []float32, m, n, k int) {
	for j := 0; j < n; j += lanes {
		b := b[min(j/lanes*bp, len(b)):]
		for i := range m {
			var room [lanes]float32
			row := c[i*ldc+j:][:min(lanes, n-j)]
			acc := room[:len(row)]
			if bias != nil {
				copy(acc, bias[j:])
			} else {
				copy(acc, row)
			}
			for p := range k {
				v := a[i*rs+p*ks]
				for r, w := range b[p*bs:][:len(acc)] {
					acc[r] += float32(v * w)
				}
			}
			copy(row, acc)
		}
	}
}
