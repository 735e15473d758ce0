//go:build !purego

package kernel

// gemmFunc computes full panels of 16 columns for a multiple of its rows.
type gemmFunc = func(c *float32, ldc int, a *float32, rs, ks int, b *float32, bs, bp int, bias *float32, m, k, panels int)

// gemmAVX2 and gemmAVX512 are the variants for 1, 2, … rows at a time.
var (
	gemmAVX2 = [...]gemmFunc{gemm1AVX2, gemm2AVX2, gemm3AVX2, gemm4AVX2, gemm5AVX2, gemm6AVX2}

	gemmAVX512 = [...]gemmFunc{gemm1AVX512, gemm2AVX512, gemm3AVX512, gemm4AVX512, gemm5AVX512, gemm6AVX512,
		gemm7AVX512, gemm8AVX512, gemm9AVX512, gemm10AVX512, gemm11AVX512, gemm12AVX512}
)

func gemmPanelsAVX2(c []float32, ldc int, a []float32, rs, ks int, b []float32, bs, bp int, bias []float32, m, k, panels int) {
	gemmPanelRows(gemmAVX2[:], c, ldc, a, rs, ks, b, bs, bp, bias, m, k, panels)
}

func gemmPanelsAVX512(c []float32, ldc int, a []float32, rs, ks int, b []float32, bs, bp int, bias []float32, m, k, panels int) {
	gemmPanelRows(gemmAVX512[:], c, ldc, a, rs, ks, b, bs, bp, bias, m, k, panels)
}

// gemmPanelRows is gemmPanelsGeneric: as many rows as possible with the last of
// the variants, the rest with the one that fits.
func gemmPanelRows(by []gemmFunc, c []float32, ldc int, a []float32, rs, ks int, b []float32, bs, bp int, bias []float32, m, k, panels int) {
	full := m / len(by) * len(by)
	if full > 0 {
		by[len(by)-1](&c[0], ldc, first(a), rs, ks, first(b), bs, bp, first(bias), full, k, panels)
	}
	if rest := m - full; rest > 0 {
		var ap *float32
		if k > 0 {
			ap = &a[full*rs]
		}
		by[rest-1](&c[full*ldc], ldc, ap, rs, ks, first(b), bs, bp, first(bias), rest, k, panels)
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
