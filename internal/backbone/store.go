package backbone

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"

	"credence/internal/atomicfile"
)

// Key identifies an item by the SHA-256 of its content.
type Key [sha256.Size]byte

// store is a file of the vectors of one backbone with given settings, by the content of their items:
//
//	16 bytes  magic
//	 4 bytes  length n of the vectors
//	          entries: key, n float32 numbers, CRC-32C of both
//
// Entries are only ever added, at the end and under a lock, so that several processes can share a file. An entry that was not
// written completely has another checksum, and does not count.
type store struct {
	path  string
	width int           // 0 if there are no vectors yet
	at    map[Key]int64 // offsets of entries
	file  *os.File      // to read from; nil if there is none yet
}

const (
	storeMagic  = "credence vector\n"
	storeHeader = len(storeMagic) + 4
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// openStore opens the file with the given name, which need not exist, in a folder.
func openStore(dir, name string) (*store, error) {
	s := &store{path: filepath.Join(dir, name), at: map[Key]int64{}}
	f, err := os.Open(s.path)
	if errors.Is(err, os.ErrNotExist) {
		return s, nil
	}
	if err != nil {
		return nil, err
	}
	s.file = f
	r := bufio.NewReaderSize(f, 1<<20)
	if s.width = readHeader(r); s.width == 0 {
		return s, nil // it is replaced
	}
	b := make([]byte, s.entry())
	for at := int64(storeHeader); ; at += int64(len(b)) {
		if _, err := io.ReadFull(r, b); err != nil {
			return s, nil
		}
		if valid(b) {
			s.at[Key(b)] = at
		}
	}
}

// readHeader returns the length of the vectors of a file, or 0 if it is not one of vectors.
func readHeader(r io.Reader) int {
	var h [storeHeader]byte
	if _, err := io.ReadFull(r, h[:]); err != nil || string(h[:len(storeMagic)]) != storeMagic {
		return 0
	}
	if n := binary.LittleEndian.Uint32(h[len(storeMagic):]); n <= MostValues {
		return int(n)
	}
	return 0
}

// entry returns the size of an entry.
func (s *store) entry() int { return len(Key{}) + 4*s.width + 4 }

func valid(entry []byte) bool {
	n := len(entry) - 4
	return crc32.Checksum(entry[:n], castagnoli) == binary.LittleEndian.Uint32(entry[n:])
}

// read returns the vector of an item, or nil if there is none.
func (s *store) read(k Key) []float32 {
	at, ok := s.at[k]
	if !ok {
		return nil
	}
	b := make([]byte, s.entry())
	if _, err := s.file.ReadAt(b, at); err != nil || !valid(b) || Key(b) != k {
		return nil
	}
	return floats(b[len(k) : len(b)-4])
}

// add appends vectors of the same length.
func (s *store) add(keys []Key, vectors [][]float32) error {
	if len(keys) == 0 {
		return nil
	}
	f, err := os.OpenFile(s.path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	defer f.Close() // which releases the lock
	if err := atomicfile.LockFile(f); err != nil {
		return err
	}
	end, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return err
	}
	width := len(vectors[0])
	if found := readHeader(io.NewSectionReader(f, 0, end)); found != width {
		if err := f.Truncate(0); err != nil {
			return err
		}
		s.at, end = map[Key]int64{}, 0
	}
	s.width = width
	var b bytes.Buffer
	if end == 0 {
		b.WriteString(storeMagic)
		b.Write(binary.LittleEndian.AppendUint32(nil, uint32(width)))
	} else {
		end -= (end - int64(storeHeader)) % int64(s.entry()) // what another process did not finish
	}
	first := end + int64(b.Len())
	for i, k := range keys {
		from := b.Len()
		b.Write(k[:])
		b.Write(bytesOf(vectors[i]))
		b.Write(binary.LittleEndian.AppendUint32(nil, crc32.Checksum(b.Bytes()[from:], castagnoli)))
	}
	if _, err := f.WriteAt(b.Bytes(), end); err != nil {
		return err
	}
	for i, k := range keys {
		s.at[k] = first + int64(i*s.entry())
	}
	if s.file == nil {
		s.file, err = os.Open(s.path)
	}
	return err
}

func (s *store) close() error {
	if s == nil || s.file == nil {
		return nil
	}
	return s.file.Close()
}

// storeName returns the name of the file for the settings with a hash.
func storeName(sum [sha256.Size]byte) string { return fmt.Sprintf("vectors-%x.bin", sum[:16]) }
