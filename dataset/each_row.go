package dataset

// wideRow is from how many values on the next row is read while one is worked on: below, handing
// it over costs as much.
const wideRow = 1 << 14

// eachRow calls do for the rows at the given indices, or for all if these are nil, in order; a row is do's until it returns.
func eachRow(rows Rows, indices []int, do func(row int, x []float32) error) error {
	n, at := len(indices), func(k int) int { return indices[k] }
	if indices == nil {
		n, at = rows.Len(), func(k int) int { return k }
	}
	width := rows.Width()
	if width < wideRow {
		x := make([]float32, width)
		for k := range n {
			if err := rows.ReadRow(at(k), x); err != nil {
				return err
			}
			if err := do(at(k), x); err != nil {
				return err
			}
		}
		return nil
	}
	read := func(k int, x []float32) <-chan error {
		done := make(chan error, 1)
		if k == n {
			done <- nil
		} else {
			go func() { done <- rows.ReadRow(at(k), x) }()
		}
		return done
	}
	x, ahead := make([]float32, width), make([]float32, width)
	ready := read(0, x)
	for k := range n {
		if err := <-ready; err != nil {
			return err
		}
		ready = read(k+1, ahead)
		if err := do(at(k), x); err != nil {
			<-ready // nobody reads any more when it returns
			return err
		}
		x, ahead = ahead, x
	}
	return nil
}
