//go:build !purego

package kernel

// gemmPanelsNEON is gemmPanelsGeneric panel by panel, of a packed B.
func gemmPanelsNEON(c []float32, ldc int, a []float32, rs, ks int, b []float32, _, bp int, bias []float32, m, n, k int) {
	size := [2]int{m, k}
	for q := range n / lanes {
		start := bias
		if bias != nil {
			start = bias[q*lanes:]
		}
		gemmNEON(&c[q*lanes], ldc, first(a), rs, ks, first(b[min(q*bp, len(b)):]), first(start), &size[0])
	}
}

// packPanelsNEON is packRowsGeneric panel by panel.
func packPanelsNEON(dst, b []float32, ldb, k, n int) {
	for j := 0; j < n && k > 0; j += lanes {
		packRowsNEON(&dst[j*k], &b[j], ldb, k, min(lanes, n-j))
	}
}

// packColsNEON is packColsGeneric by transposed blocks.
func packColsNEON(dst, b []float32, ldb, k, n int) {
	for j := 0; j < n && k > 0; j += lanes {
		blockNEON(dst[j*k:], b[j*ldb:], ldb, k, lanes, min(lanes, n-j))
	}
}

func packTransNEON(dst, a []float32, lda, m, k int) {
	if m > 0 && k > 0 {
		transposeNEON(&dst[0], k, &a[0], lda, m, k)
	}
}

// unblockNEON is unblockGeneric: lanes become rows.
func unblockNEON(dst []float32, ld int, src []float32, n, cb, lanes int) {
	if n > 0 {
		transposeNEON(&dst[0], ld, &src[0], cb, lanes, n)
	}
}

// blockNEON is blockGeneric: rows become lanes.
func blockNEON(dst, src []float32, ld, n, cb, lanes int) {
	if n == 0 {
		return
	}
	transposeNEON(&dst[0], cb, &src[0], ld, n, lanes)
	if lanes < cb {
		for p := range n {
			clear(dst[p*cb+lanes : (p+1)*cb])
		}
	}
}
