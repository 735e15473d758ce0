//go:build !cuda && !full

package cuda

import (
	"errors"
	"testing"
)

// The static build has no GPU, whatever the machine has.
func TestNoGPUs(t *testing.T) {
	if _, err := Open(0); !errors.Is(err, ErrBuild) {
		t.Error(err)
	}
	if _, err := Count(); !errors.Is(err, ErrBuild) {
		t.Error(err)
	}
}
