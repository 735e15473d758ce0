package main

func convGroup() {
	table := maskTable()
	indexed("indexed16AVX2", 6, 2, 8, false)
	indexed("indexed8AVX2", 10, 1, 8, false)
	indexed("indexed16AVX512", 10, 1, 16, true)
	transpose()
	fold(1)
	fold(2)
	for rows := 1; rows <= maxSparseRows; rows++ {
		sparseDot(rows, table)
	}
	sparseAdd(table)
	sparseBlocks()
	winners(table)
}
