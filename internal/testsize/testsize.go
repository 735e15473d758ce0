// Package testsize chooses how many cases the sweeps and simulations of tests try: few under -short, enough to detect errors of
// code by default, and the number that documentation quotes with CREDENCE_TESTS=full in the environment, as .ci/extra has it.
package testsize

import (
	"os"
	"testing"
)

// Choose returns short under -short, full with CREDENCE_TESTS=full, and usual otherwise.
func Choose(short, usual, full int) int {
	switch {
	case testing.Short():
		return short
	case Full():
		return full
	}
	return usual
}

// Full reports whether tests have their full numbers.
func Full() bool { return os.Getenv("CREDENCE_TESTS") == "full" }
