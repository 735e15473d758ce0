//go:build !purego

package kernel

import "golang.org/x/sys/cpu"

//go:generate go -C _asm run . -group beta -out ../beta_amd64.s -stubs ../beta_stubs_amd64.go -pkg kernel
//go:generate go -C _asm run . -group conv -out ../conv_amd64.s -stubs ../conv_stubs_amd64.go -pkg kernel
//go:generate go -C _asm run . -group exp -out ../exp_amd64.s -stubs ../exp_stubs_amd64.go -pkg kernel
//go:generate go -C _asm run . -group float64 -out ../float64_amd64.s -stubs ../float64_stubs_amd64.go -pkg kernel
//go:generate go -C _asm run . -group gemm -out ../gemm_amd64.s -stubs ../gemm_stubs_amd64.go -pkg kernel
//go:generate go -C _asm run . -group mask -out ../mask_amd64.s -stubs ../mask_stubs_amd64.go -pkg kernel
//go:generate go -C _asm run . -group norm -out ../norm_amd64.s -stubs ../norm_stubs_amd64.go -pkg kernel
//go:generate go -C _asm run . -group optim -out ../optim_amd64.s -stubs ../optim_stubs_amd64.go -pkg kernel
//go:generate go -C _asm run . -group panel -out ../panel_amd64.s -stubs ../panel_stubs_amd64.go -pkg kernel
//go:generate go -C _asm run . -group peak -out ../peak_amd64.s -stubs ../peak_stubs_amd64.go -pkg kernel
//go:generate go -C _asm run . -group poolrows -out ../poolrows_amd64.s -stubs ../poolrows_stubs_amd64.go -pkg kernel
//go:generate go -C _asm run . -group runs -out ../runs_amd64.s -stubs ../runs_stubs_amd64.go -pkg kernel
//go:generate go -C _asm run . -group sparse -out ../sparse_amd64.s -stubs ../sparse_stubs_amd64.go -pkg kernel
//go:generate go -C _asm run . -group tails -out ../tails_amd64.s -stubs ../tails_stubs_amd64.go -pkg kernel
//go:generate go -C _asm run . -group vec -out ../vec_amd64.s -stubs ../vec_stubs_amd64.go -pkg kernel
//go:generate go -C _asm run . -group votes -out ../votes_amd64.s -stubs ../votes_stubs_amd64.go -pkg kernel
//go:generate go -C _asm run . -group winograd -out ../winograd_amd64.s -stubs ../winograd_stubs_amd64.go -pkg kernel

// archImpls returns the assembly implementations that this processor runs,
// slowest first.
func archImpls() []*impl {
	var list []*impl
	if cpu.X86.HasAVX2 && cpu.X86.HasFMA {
		list = append(list, newAVX2())
		if cpu.X86.HasAVX512F && cpu.X86.HasAVX512DQ && cpu.X86.HasAVX512BW && cpu.X86.HasAVX512VL {
			list = append(list, newAVX512())
		}
	}
	return list
}

// newAVX2 is the reference with what AVX2 and FMA compute faster.
func newAVX2() *impl {
	im := generic
	im.name = "avx2"
	im.peak = func(n int) int { peakAVX2(n); return n * 12 * 8 * 2 }
	im.tile16, im.tile8 = 6, 10
	im.indexed = indexedAVX2
	im.runLimits, im.indexedRuns = runLimitsAVX2, indexedRunsAVX2
	im.rowTile = rowTileAVX2
	im.indexedRows = indexedRowsAVX2
	im.winogradInput, im.winogradOutput = winogradInputAVX2, winogradOutputAVX2
	im.copyRows = copyRows8
	im.unblock = unblock8
	im.block = block8
	im.blockSum = blockSum8
	im.foldMax = foldMax8
	im.sparseDot = sparseDot8
	im.sparseAdd = sparseAdd8
	im.winners = winners8
	im.sparseDotBlock = sparseDotBlockAVX2
	im.sparseAddBlock = sparseAddBlockAVX2
	im.gemmPanels, im.gemmStrided, im.gemmPartial = gemmPanelsAVX2, true, false
	im.packRows = packRows8
	im.packCols = packCols8
	im.packTrans = packTrans8
	im.mask = mask8
	im.add, im.mul = add8, mul8
	im.prefetch, im.claim = prefetch64, claim64
	im.sum, im.sumSq, im.colSums = sum8, sumSq8, colSums8
	im.norm, im.normGrad, im.centredDot = norm8, normGrad8, centredDot8
	im.dots64, im.addRows64 = dots64AVX2, addRows64AVX2
	im.betaSums, im.betaZones, im.betaBeyond = betaSums4, betaZones4, betaBeyond4
	im.cellMasses, im.cellIntegrals, im.cellRoots = cellMasses4, cellIntegrals4, cellRoots4
	im.logGamma, im.expLinear, im.exp64 = logGamma4, expLinear4, exp64x4
	im.digammaLog, im.betaMoments = digammaLog4, betaMoments4
	im.betaTails, im.logBetas = betaTails4, logBetas4
	im.twoVotes = twoVotes4
	im.rootGammas, im.gridGammas, im.panelBelow, im.leaveOneOut = rootGammas4, gridGammas4, panelBelow4, leaveOneOut4
	im.exp = exp8
	im.act[ReLU].forward, im.act[ReLU].backward = relu8, reluGrad8
	im.act[Tanh].forward, im.act[Tanh].backward = tanh8, tanhGrad8
	im.act[Sigmoid].forward, im.act[Sigmoid].backward = sigmoid8, sigmoidGrad8
	im.act[GELU].forward, im.act[GELU].backward = gelu8, geluGrad8
	im.sgd, im.adam = sgd8, adam8
	return &im
}

// newAVX512 is the AVX2 implementation with what AVX-512 computes faster.
func newAVX512() *impl {
	im := *newAVX2()
	im.name = "avx512"
	im.peak = func(n int) int { peakAVX512(n); return n * 16 * 16 * 2 }
	im.tile16 = 10
	im.indexed = indexedAVX512
	im.columnTiles, im.winogradColumns = len(columnsAVX512), winogradColumnsAVX512
	im.foldMax = foldMax16
	im.runLimits, im.indexedRuns = runLimitsAVX512, indexedRunsAVX512
	im.rowLanes, im.rowTile = 16, rowTileAVX512
	im.indexedRows = indexedRowsAVX512
	im.poolRows = poolRowsAVX512
	im.winogradInput, im.winogradOutput = winogradInputAVX512, winogradOutputAVX512
	im.winners = winners16
	im.sparseDotBlock = sparseDotBlockAVX512
	im.sparseAddBlock = sparseAddBlockAVX512
	im.sparseDotTwo, im.sparseDotRuns = sparseDotTwoAVX512, sparseDotRunsAVX512
	im.gemmPanels, im.gemmPartial = gemmPanelsAVX512, true
	im.mask = mask16
	im.betaTable, im.betaZones, im.betaLevels, im.betaBeyond = betaTable8, betaZones8, betaLevels8, betaBeyond8
	im.cellMasses, im.cellIntegrals, im.cellRoots = cellMasses8, cellIntegrals8, cellRoots8
	im.logGamma, im.expLinear, im.exp64 = logGamma8, expLinear8, exp64x8
	im.digammaLog, im.betaMoments = digammaLog8, betaMoments8
	im.betaTails, im.logBetas = betaTails8, logBetas8
	im.twoVotes, im.clampLogits, im.stopGradients = twoVotes8, clampLogits16, stopGradients16
	im.rootGammas, im.gridGammas, im.panelBelow, im.leaveOneOut = rootGammas8, gridGammas8, panelBelow8, leaveOneOut8
	im.exp = exp16
	im.adam = adam16
	return &im
}
