//go:build !purego

package kernel

//go:generate go -C _asm run ./neon

// archImpls returns the one assembly implementation: every arm64 processor has NEON.
func archImpls() []*impl { return []*impl{newNEON()} }

// newNEON is the reference with what NEON computes faster. There is no indexedRuns: a multiply-add takes its factor from one lane
// of a register, so that loading it costs no time in indexed either.
func newNEON() *impl {
	im := generic
	im.name = "neon"
	im.peak = func(n int) int { peakNEON(n); return n * 24 * 4 * 2 }
	im.tile16, im.tile8 = 6, 10
	im.indexed = indexedNEON
	im.rowTile = rowTileNEON
	im.indexedRows = indexedRowsNEON
	im.winogradInput, im.winogradOutput = winogradInputNEON, winogradOutputNEON
	im.unblock, im.block = unblockNEON, blockNEON
	im.blockSum = func(sum, v []float32, n, cb int) { blockSumNEON(&sum[0], first(v), n, cb/4) }
	im.foldMax = foldMaxBlocksNEON
	im.sparseDot, im.sparseAdd = sparseDotNEON, sparseAddNEON
	im.winners = winnersListNEON
	im.sparseDotBlock, im.sparseAddBlock = sparseDotBlockNEON, sparseAddBlockNEON
	im.gemmPanels, im.gemmStrided, im.gemmPartial = gemmPanelsNEON, false, false
	im.packRows, im.packCols, im.packTrans = packPanelsNEON, packColsNEON, packTransNEON
	im.mask = maskBlocksNEON
	im.add = func(dst, a, b []float32) { addNEON(first(dst), first(a), first(b), len(dst)) }
	im.mul = func(dst, a, b []float32) { mulNEON(first(dst), first(a), first(b), len(dst)) }
	im.prefetch = func(x []float32) { prefetchNEON(&x[0], len(x)) }
	im.sum, im.sumSq, im.centredDot = sumOfNEON, sumSqOfNEON, centredDotOfNEON
	im.colSums = func(dst, x []float32, rows, cols int) { colSumsNEON(first(dst), first(x), rows, cols) }
	im.norm = func(y, x []float32, mean, a, b float32) { normNEON(first(y), first(x), mean, a, b, len(x)) }
	im.normGrad = func(dx, dy, x []float32, p *NormGrad) {
		normGradNEON(first(dx), first(dy), first(x), p.Mean, p.Inv, p.Scale, p.A, p.B, len(dx))
	}
	im.dots64 = func(dst, w, x []float64) { dotsNEON(first(dst), first(w), first(x), len(dst), len(x)) }
	im.addRows64 = func(y, a, x []float64, ld int) { addRowsNEON(first(y), first(a), first(x), ld, len(a), len(y)) }
	im.betaSums = func(dst *[BetaDerivatives]BetaPoints, z *BetaPoints, terms []BetaTerm) {
		betaSumsNEON(&dst[0][0], &z[0], termsAt(terms), len(terms))
	}
	im.betaZones = func(least *[3]BetaPoints, blocks []betaBlock, t *BetaTerms, rule *ZoneRule) {
		terms := [...]*float64{&t.A[0], &t.B[0], &t.LogA[0], &t.LogB[0], &t.LogSum[0], &t.LogW[0], &t.LogBeta[0]}
		betaZonesNEON(&least[0][0], &blocks[0].A[0], len(blocks), &terms[0], &rule.LogMissing)
	}
	im.betaBeyond = func(dst []float64, blocks []betaBlock, upper bool, end, small float64) {
		a, edges, sign := blocks[0].ends(upper)
		betaBeyondNEON(&dst[0], a, &blocks[0].A[0], edges, len(blocks), sign, end, small)
	}
	im.cellMasses = func(mass, f []float64, stride int, step []float64) float64 {
		var least [2]float64
		cellMassesNEON(&mass[0], &f[0], stride, &step[0], len(step), &least[0])
		return min(least[0], least[1])
	}
	im.cellIntegrals = func(dst *BetaPoints, c *BetaCells) { cellIntegralsNEON(&dst[0], &c.Left[0][0]) }
	im.cellRoots = func(dst *BetaPoints, c *BetaCells) { cellRootsNEON(&dst[0], &c.Left[0][0]) }
	im.logGamma = func(gamma, log, x []float64) { logGammaNEON(first(gamma), first(log), first(x), len(x)) }
	im.expLinear = func(dst, x, y []float64, slope, offset float64) {
		expLinearNEON(first(dst), first(x), first(y), len(x), slope, offset)
	}
	im.exp64 = func(x []float64) { exp64NEON(first(x), len(x)) }
	im.digammaLog = func(dst, a, c []float64) { digammaLogNEON(first(dst), first(a), first(c), len(a)) }
	im.betaMoments = func(mean, variance, a, b []float64) {
		betaMomentsNEON(first(mean), first(variance), first(a), first(b), len(a))
	}
	im.betaTails = func(dst *[4]BetaPoints, z, q *BetaPoints, terms []BetaTailTerm, lanes int) {
		betaTailsNEON(&dst[0][0], &z[0], &q[0], &terms[0].A[0], len(terms), lanes)
	}
	im.logBetas = func(dst *BetaLogs, w, a, b []float64) {
		logBetasNEON(&dst.W[0], &dst.A[0], &dst.B[0], &dst.Beta[0], &w[0], &a[0], &b[0], len(w))
	}
	im.twoVotes = func(work []float64, g, ga, e []float32, k, s0, s1 int, scale float64, sums *[2]float64) {
		twoVotesNEON(&work[0], first(g), first(ga), &e[0], k, s0, s1, &sums[0], scale)
	}
	im.clampLogits = func(dst, x []float32, width, k int, limit float32) (outside int) {
		for at := 0; at < len(x); at += width {
			found := 0
			clampLogitsNEON(&dst[at], &x[at], k, width, &found, limit)
			outside += found
		}
		return outside
	}
	im.stopGradients = func(g, x []float32, width, k int, limit float32) {
		for at := k; at < len(x); at += width {
			stopGradientsNEON(&g[at], &x[at], width-k, limit)
		}
	}
	im.rootGammas = func(dst, s []float64, lines [][2]float64) {
		rootGammasNEON(&dst[0], &s[0], &lines[0][0], len(lines), len(s))
	}
	im.gridGammas = func(cdf, pdf, slope, offset, table []float64, variables []GridVariable) {
		gridGammasNEON(&cdf[0], &pdf[0], &slope[0], &offset[0], &table[0], &variables[0].Table, len(variables), len(slope))
	}
	im.panelBelow = func(cdf, pdf, top, integrals []float64, n int, half float64) {
		panelBelowNEON(&cdf[0], &pdf[0], &top[0], &integrals[0], len(top), len(integrals)/n, n, half)
	}
	im.leaveOneOut = func(sums, pdf, cdf, right, left []float64) {
		leaveOneOutNEON(&sums[0], &pdf[0], &cdf[0], &right[0], &left[0], len(sums)/PanelLanes, len(right))
	}
	elementwiseNEON(&im)
	return &im
}

// elementwiseNEON sets the exponentials, the activations and the optimizers.
func elementwiseNEON(im *impl) {
	type one = func(dst, x *float32, n int)
	type two = func(dx, dy, ref *float32, n int)
	for a, f := range [...]struct {
		forward  one
		backward two
	}{ReLU: {reluNEON, reluGradNEON}, Tanh: {tanhNEON, tanhGradNEON}, Sigmoid: {sigmoidNEON, sigmoidGradNEON}, GELU: {geluNEON, geluGradNEON}} {
		if Activation(a) == Identity {
			continue
		}
		im.act[a].forward = func(y, x []float32) { f.forward(first(y), first(x), len(y)) }
		im.act[a].backward = func(dx, dy, ref []float32) { f.backward(first(dx), first(dy), first(ref), len(dx)) }
	}
	im.exp = func(dst, x []float32) { expNEON(first(dst), first(x), len(dst)) }
	im.sgd = func(w, v, d []float32, p *SGD) {
		f := p.factors()
		sgdNEON(first(w), first(v), first(d), &f.scale, len(w))
	}
	im.adam = func(w, m, v, d []float32, p *Adam) {
		f := p.factors()
		adamNEON(first(w), first(m), first(v), first(d), &f.scale, len(w))
	}
}
