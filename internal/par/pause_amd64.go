package par

// pause signals to the processor that this thread is spinning, which leaves the
// core's resources to its sibling.
//
//go:noescape
func pause()
