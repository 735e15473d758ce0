//go:build race

package array

// The race detector has pools drop what is put into them now and then.
func init() { poolsForget = true }
