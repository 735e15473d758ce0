package par

// pause tells the processor that this thread is only waiting, which leaves the
// core's resources to its sibling.
//
//go:noescape
func pause()
