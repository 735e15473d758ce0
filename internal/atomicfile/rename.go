package atomicfile

import (
	"os"
	"time"
)

// replaceWithin is how long renaming waits for others to close the file that it replaces.
const replaceWithin = 3 * time.Second

// rename renames a file, replacing another. Where that fails for the moment, since others have the old file open, it tries again.
func rename(from, to string, busy func(error) bool) error {
	for end, pause := time.Now().Add(replaceWithin), 5*time.Millisecond; ; pause = min(2*pause, 200*time.Millisecond) {
		err := os.Rename(from, to)
		if err == nil || !busy(err) || time.Now().After(end) {
			return err
		}
		time.Sleep(pause)
	}
}
