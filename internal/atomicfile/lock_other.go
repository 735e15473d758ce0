//go:build !windows && (!unix || solaris || aix)

package atomicfile

import "os"

// lock does nothing: leftovers are recognized by age.
func lock(*os.File) (held, known bool) { return false, false }

// busy reports whether an error of renaming or removing a file is due to others that have it open.
func busy(error) bool { return false }
