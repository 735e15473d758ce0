//go:build race

package array

// The race detector makes pools drop objects at random.
func init() { poolsForget = true }
