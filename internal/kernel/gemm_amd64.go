//go:build !purego

package kernel

// gemmFunc computes columns of C for a multiple of its rows.
type gemmFunc = func(c *float32, ldc int, a *float32, rs, ks int, b *float32, bs, bp int, bias *float32, m, n, k int)

// The variants for 1, 2, … rows at a time. Those of AVX-512 are for two panels at a time, for two of which
// the last may be narrower, and for one that may be.
var (
	gemmAVX2 = [...]gemmFunc{gemm1AVX2, gemm2AVX2, gemm3AVX2, gemm4AVX2, gemm5AVX2, gemm6AVX2}

	gemmPairsAVX512 = [...]gemmFunc{gemm1x2AVX512, gemm2x2AVX512, gemm3x2AVX512, gemm4x2AVX512, gemm5x2AVX512, gemm6x2AVX512,
		gemm7x2AVX512, gemm8x2AVX512, gemm9x2AVX512, gemm10x2AVX512, gemm11x2AVX512, gemm12x2AVX512}

	gemmPairAVX512 = [...]gemmFunc{gemm1x2MaskedAVX512, gemm2x2MaskedAVX512, gemm3x2MaskedAVX512, gemm4x2MaskedAVX512, gemm5x2MaskedAVX512, gemm6x2MaskedAVX512,
		gemm7x2MaskedAVX512, gemm8x2MaskedAVX512, gemm9x2MaskedAVX512, gemm10x2MaskedAVX512, gemm11x2MaskedAVX512, gemm12x2MaskedAVX512}

	gemmLastAVX512 = [...]gemmFunc{gemm1x1MaskedAVX512, gemm2x1MaskedAVX512, gemm3x1MaskedAVX512, gemm4x1MaskedAVX512, gemm5x1MaskedAVX512, gemm6x1MaskedAVX512,
		gemm7x1MaskedAVX512, gemm8x1MaskedAVX512, gemm9x1MaskedAVX512, gemm10x1MaskedAVX512, gemm11x1MaskedAVX512, gemm12x1MaskedAVX512}
)

func gemmPanelsAVX2(c []float32, ldc int, a []float32, rs, ks int, b []float32, bs, bp int, bias []float32, m, n, k int) {
	gemmRows(gemmAVX2[:], c, ldc, a, rs, ks, b, bs, bp, bias, m, n, k)
}

func gemmPanelsAVX512(c []float32, ldc int, a []float32, rs, ks int, b []float32, bs, bp int, bias []float32, m, n, k int) {
	full := n / (2 * lanes) * (2 * lanes)
	if full > 0 {
		gemmRows(gemmPairsAVX512[:], c, ldc, a, rs, ks, b, bs, bp, bias, m, full, k)
		if full == n {
			return
		}
		c, b = c[full:], b[min(full/lanes*bp, len(b)):]
		if bias != nil {
			bias = bias[full:]
		}
	}
	by := gemmPairAVX512[:]
	if n-full <= lanes {
		by = gemmLastAVX512[:]
	}
	gemmRows(by, c, ldc, a, rs, ks, b, bs, bp, bias, m, n-full, k)
}

// gemmRows is gemmPanelsGeneric: as many rows as possible with the last of
// the variants, the rest with the one that fits.
func gemmRows(by []gemmFunc, c []float32, ldc int, a []float32, rs, ks int, b []float32, bs, bp int, bias []float32, m, n, k int) {
	full := m / len(by) * len(by)
	if full > 0 {
		by[len(by)-1](&c[0], ldc, first(a), rs, ks, first(b), bs, bp, first(bias), full, n, k)
	}
	if rest := m - full; rest > 0 {
		var ap *float32
		if k > 0 {
			ap = &a[full*rs]
		}
		by[rest-1](&c[full*ldc], ldc, ap, rs, ks, first(b), bs, bp, first(bias), rest, n, k)
	}
}

// packRows8 is packRowsGeneric panel by panel.
func packRows8(dst, b []float32, ldb, k, n int) {
	if k == 0 {
		return
	}
	for j := 0; j < n; j += lanes {
		packPanelAVX2(&dst[j*k], &b[j], ldb, k, min(lanes, n-j))
	}
}

// packCols8 is packColsGeneric by transposed blocks.
func packCols8(dst, b []float32, ldb, k, n int) {
	for j := 0; j < n; j += lanes {
		block8(dst[j*k:], b[j*ldb:], ldb, k, lanes, min(lanes, n-j))
	}
}

// packTrans8 is packTransGeneric by transposed blocks of 8 columns; the last
// columns overlap the ones before.
func packTrans8(dst, a []float32, lda, m, k int) {
	if m < 8 || k < 8 {
		packTransGeneric(dst, a, lda, m, k)
		return
	}
	for i := 0; ; i = min(i+8, m-8) {
		unblockAVX2(&dst[i*k], k, &a[i], lda, k, 8)
		if i == m-8 {
			return
		}
	}
}
