package dataset

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"sync"

	"credence/internal/atomicfile"
)

// volumeCache keeps prepared volumes in a folder, one file each, named after a
// hash of all that it depends on:
//
//	16 bytes  magic
//	32 bytes  the hash
//	 4 bytes  CRC-32C of what follows
//	          the values, as [store] writes them
//
// A file that is not just so is made anew.
type volumeCache struct {
	dir  string
	part *Part
	keys sync.Map // path of a file → its fileKey
}

const (
	volumeMagic  = "credence volume\n"
	volumeHeader = len(volumeMagic) + sha256.Size + 4
)

// volumeVersion changes when the same file and preparation give other values, or none.
const volumeVersion = 3

// volumeKey is what a prepared volume depends on.
type volumeKey struct {
	Version     int
	Files       [][]byte // SHA-256 of each
	Shape       []int
	Preparation Preparation
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func newVolumeCache(dir string, part *Part) (*volumeCache, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("making a folder for prepared volumes: %w", err)
	}
	_ = atomicfile.Clean(dir, "volume-*.bin") // what stays takes room and does no harm
	return &volumeCache{dir: dir, part: part}, nil
}

// key returns the hash of the volume at path.
func (c *volumeCache) key(ctx context.Context, path string) (sum [sha256.Size]byte, err error) {
	files, err := volumeReader(path).Files(path)
	if err != nil {
		return sum, err
	}
	k := volumeKey{Version: volumeVersion, Shape: c.part.Shape, Preparation: *c.part.Volume}
	for _, f := range files {
		key, err := c.fileKey(ctx, f)
		if err != nil {
			return sum, err
		}
		k.Files = append(k.Files, key.sum[:])
	}
	return hashKey(k)
}

// fileKey hashes a file, once as long as its size and time stay: a volume is read
// in every epoch.
func (c *volumeCache) fileKey(ctx context.Context, path string) (fileKey, error) {
	if k, ok := c.keys.Load(path); ok {
		if k := k.(fileKey); k.unchanged() {
			return k, nil
		}
	}
	k, err := newFileKey(ctx, path)
	if err == nil {
		c.keys.Store(path, k)
	}
	return k, err
}

// read fills b with the prepared volume at path, from the cache if it is there,
// else by prepare, whose result is kept.
func (c *volumeCache) read(ctx context.Context, path string, b []byte, prepare func() error) error {
	sum, err := c.key(ctx, path)
	if err != nil {
		return err
	}
	name := filepath.Join(c.dir, fmt.Sprintf("volume-%x.bin", sum))
	if c.load(name, sum, b) {
		return nil
	}
	if err := prepare(); err != nil {
		return err
	}
	if again, err := c.key(ctx, path); err != nil || again != sum {
		return errors.Join(changedError(path), err)
	}
	err = atomicfile.Write(name, func(w io.Writer) error {
		_, err1 := w.Write(seal(volumeMagic, sum, crc32.Checksum(b, castagnoli)))
		_, err2 := w.Write(b)
		return errors.Join(err1, err2)
	})
	if err != nil {
		return fmt.Errorf("keeping a prepared volume: %w", err)
	}
	return nil
}

// load reads a file of the cache, if it is whole.
func (c *volumeCache) load(name string, sum [sha256.Size]byte, b []byte) bool {
	f, err := os.Open(name)
	if err != nil {
		return false
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || info.Size() != int64(volumeHeader+len(b)) {
		return false
	}
	var head [volumeHeader]byte
	_, err1 := io.ReadFull(f, head[:])
	_, err2 := io.ReadFull(f, b)
	return err1 == nil && err2 == nil && bytes.Equal(head[:], seal(volumeMagic, sum, crc32.Checksum(b, castagnoli)))
}
