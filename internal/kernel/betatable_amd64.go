//go:build !purego

package kernel

func betaTable8(t *BetaTable, dst, z []float64) {
	if cap(t.offsets) < t.n+2*BetaLanes {
		t.offsets = make([]uint32, t.n+2*BetaLanes)
	}
	betaTableAVX512(&dst[0], &z[0], blocksAt(t.blocks), &t.offsets[:1][0], len(t.blocks), len(z)/BetaLanes)
}

// blocksAt returns the address of the first number.
func blocksAt(blocks []betaBlock) *float64 {
	if len(blocks) == 0 {
		return nil
	}
	return &blocks[0].A[0]
}

func betaZones4(least *[3]BetaPoints, blocks []betaBlock, t *BetaTerms, rule *ZoneRule) {
	betaZonesAVX2(&least[0][0], blocksAt(blocks), len(blocks),
		&t.A[0], &t.B[0], &t.LogA[0], &t.LogB[0], &t.LogSum[0], &t.LogW[0], &t.LogBeta[0], &rule.LogMissing)
}

func betaZones8(least *[3]BetaPoints, blocks []betaBlock, t *BetaTerms, rule *ZoneRule) {
	betaZonesAVX512(&least[0][0], blocksAt(blocks), len(blocks),
		&t.A[0], &t.B[0], &t.LogA[0], &t.LogB[0], &t.LogSum[0], &t.LogW[0], &t.LogBeta[0], &rule.LogMissing)
}

func betaLevels8(levels *[BetaBuckets]uint16, blocks []betaBlock, per, first float64) {
	betaLevelsAVX512(&levels[0], blocksAt(blocks), len(blocks), per, first)
}

func betaBeyond4(dst []float64, blocks []betaBlock, upper bool, end, small float64) {
	a, edges, sign := blocks[0].ends(upper)
	betaBeyondAVX2(&dst[0], a, blocksAt(blocks), edges, len(blocks), sign, end, small)
}

func betaBeyond8(dst []float64, blocks []betaBlock, upper bool, end, small float64) {
	a, edges, sign := blocks[0].ends(upper)
	betaBeyondAVX512(&dst[0], a, blocksAt(blocks), edges, len(blocks), sign, end, small)
}

func cellMasses4(mass, f []float64, stride int, step []float64) float64 {
	var least [4]float64
	cellMassesAVX2(&mass[0], &f[0], stride, &step[0], len(step), &least[0])
	return min(least[0], least[1], least[2], least[3])
}

func cellMasses8(mass, f []float64, stride int, step []float64) float64 {
	var least BetaPoints
	cellMassesAVX512(&mass[0], &f[0], stride, &step[0], len(step), &least[0])
	return min(least[0], least[1], least[2], least[3], least[4], least[5], least[6], least[7])
}

func cellIntegrals4(dst *BetaPoints, c *BetaCells) { cellIntegralsAVX2(&dst[0], &c.Left[0][0]) }
func cellIntegrals8(dst *BetaPoints, c *BetaCells) { cellIntegralsAVX512(&dst[0], &c.Left[0][0]) }

func cellRoots4(dst *BetaPoints, c *BetaCells) { cellRootsAVX2(&dst[0], &c.Left[0][0]) }
func cellRoots8(dst *BetaPoints, c *BetaCells) { cellRootsAVX512(&dst[0], &c.Left[0][0]) }
