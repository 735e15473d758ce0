package main

func convGroup() {
	table := maskTable()
	indexed("indexed16AVX2", 6, 2, 8, false)
	indexed("indexed8AVX2", 10, 1, 8, false)
	indexed("indexed16AVX512", 10, 1, 16, true)
	for channels := 1; channels <= 6; channels++ {
		indexedRows(channels, 8, "AVX2")
	}
	for channels := 1; channels <= 6; channels++ {
		indexedRows(channels, 16, "AVX512")
	}
	transpose()
	copyRows()
	fold(1)
	fold(2)
	foldWide()
	for rows := 1; rows <= maxSparseRows; rows++ {
		sparseDot(rows, table)
	}
	sparseAdd(table)
	sparseBlocks()
	winners(table)
}
