//go:build !((full || cuda) && linux && (amd64 || arm64))

package cuda

import "embed"

// images is empty: nothing can run them.
var images embed.FS

// load fails in a build that loads no library.
func load(string) error { return ErrBuild }

func invoke(uintptr, ...uintptr) uintptr { return codeNotInitialized }
