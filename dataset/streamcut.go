package dataset

import "credence/internal/table"

// Cut has batches end after every so many items, counted from the first, whatever their own size. It is called
// before the first batch is read.
func (s *Stream) Cut(items int) { s.block = items }

// Pass has stretches of as many items as [Stream.Cut] says passed over, without being looked at, for which a function of the first
// one's place is true. It is called before the first batch is read.
func (s *Stream) Pass(over func(first int) bool) { s.pass = over }

// Read returns how many items were read, or passed over.
func (s *Stream) Read() int { return s.row }

// passOver passes over the items that nobody wants.
func (s *Stream) passOver() error {
	for s.pass != nil && s.block > 0 && s.row%s.block == 0 && s.pass(s.row) {
		n := s.block
		if s.f != nil {
			n = min(n, s.f.length()-s.row)
		} else {
			var err error
			if n, err = table.Skip(s.t, n); err != nil {
				return err
			}
		}
		s.row += n
		if n < s.block {
			return nil
		}
	}
	return nil
}
