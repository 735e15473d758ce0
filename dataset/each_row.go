package dataset

// wideRow is from how many values on the next row is read while one is worked on: below, handing
// it over costs as much.
const wideRow = 1 << 14

// eachRow calls do for n rows in order, number k of which is row at(k); a row is do's until it returns.
func eachRow(rows Rows, n int, at func(k int) int, do func(row int, x []float32) error) error {
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
	type delivery struct {
		x   []float32
		err error
	}
	ready, free, quit := make(chan delivery), make(chan []float32, 2), make(chan struct{})
	ended := make(chan struct{})
	free <- make([]float32, width)
	free <- make([]float32, width)
	go func() {
		defer close(ended)
		for k := range n {
			var x []float32
			select {
			case x = <-free:
			case <-quit:
				return
			}
			err := rows.ReadRow(at(k), x)
			select {
			case ready <- delivery{x, err}:
			case <-quit:
				return
			}
			if err != nil {
				return
			}
		}
	}()
	defer func() { close(quit); <-ended }() // nobody reads any more when it returns
	for k := range n {
		d := <-ready
		if d.err != nil {
			return d.err
		}
		if err := do(at(k), d.x); err != nil {
			return err
		}
		free <- d.x
	}
	return nil
}
