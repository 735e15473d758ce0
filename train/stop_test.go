package train

import (
	"context"
	"errors"
	"testing"

	"credence/dataset"
)

// stopAt cancels a context when a row is read for the nth time.
type stopAt struct {
	dataset.Rows
	stop  func()
	after int
	reads int
}

func (s *stopAt) ReadRow(i int, dst []float32) error {
	if s.reads++; s.reads == s.after {
		s.stop()
	}
	return s.Rows.ReadRow(i, dst)
}

// A fit that is stopped while it looks through the features, before any epoch, reads no
// further.
func TestStopBeforeEpochs(t *testing.T) {
	ds := *simulated(300, 3, 1)
	ctx, stop := context.WithCancel(t.Context())
	rows := &stopAt{Rows: ds.Rows, stop: stop, after: 20}
	ds.Rows = rows
	res, err := Fit(ctx, &ds, quick())
	if res != nil || !errors.Is(err, ErrStopped) {
		t.Errorf("result %v, error %v", res, err)
	}
	if rows.reads > 21 {
		t.Errorf("%d rows read", rows.reads)
	}
}
