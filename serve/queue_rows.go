package serve

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"os"

	"credence/dataset"
)

// rowStore keeps the features of many items, one record each, in the order in which they come: in
// memory as far as most allows, and what comes then in a file that nobody else sees. A record is the
// raw values of the row, float32, then each text with its length.
type rowStore struct {
	parts []dataset.Part // of a row, without texts
	width int
	most  int64 // bytes in memory

	memory []byte
	file   *os.File // or nil
	ends   []int64  // where records end; those beyond len(memory) are in the file
}

// keptInMemory is how much of the items' features is held in memory; what is more goes to a file.
const keptInMemory = 256 << 20

// add appends the record of row i of a batch.
func (s *rowStore) add(b *dataset.Batch, i int) error {
	if s.parts == nil {
		s.parts = append([]dataset.Part{}, b.Parts...)
		for k := range s.parts {
			s.parts[k].Texts = nil
			s.width += s.parts[k].Width()
		}
	}
	row := make([]float32, s.width)
	if err := b.Rows.ReadRow(i, row); err != nil {
		return err
	}
	record, err := binary.Append(nil, binary.LittleEndian, row)
	if err != nil {
		return err
	}
	at := 0
	for _, p := range b.Parts {
		if p.Kind == dataset.Text {
			text := textOf(p, row[at])
			record = append(binary.AppendUvarint(record, uint64(len(text))), text...)
		}
		at += p.Width()
	}
	return s.append(record)
}

// textOf returns the document of a cell, "" if there is none.
func textOf(p dataset.Part, cell float32) string {
	if k := int(cell); cell >= 0 && k < len(p.Texts) {
		return p.Texts[k]
	}
	return ""
}

func (s *rowStore) append(record []byte) error {
	end := int64(len(record))
	if n := len(s.ends); n > 0 {
		end += s.ends[n-1]
	}
	if s.file == nil && int64(len(s.memory)+len(record)) > s.most {
		f, err := os.CreateTemp("", "credence-items-*")
		if err != nil {
			return fmt.Errorf("items take more than %d MB, and no file can be made for the rest: %w", s.most>>20, err)
		}
		s.file = f
		// The system frees the file with the last handle, however the process ends. Where that
		// is not so, close removes it.
		_ = os.Remove(f.Name())
	}
	if s.file == nil {
		s.memory = append(s.memory, record...)
	} else if _, err := s.file.Write(record); err != nil {
		return fmt.Errorf("keeping items in %s: %w", s.file.Name(), err)
	}
	s.ends = append(s.ends, end)
	return nil
}

// record returns the bytes of item i from the given one on, size of them; −1 means all.
func (s *rowStore) record(i int, from, size int64) ([]byte, error) {
	begin, end := from, s.ends[i]
	if i > 0 {
		begin += s.ends[i-1]
	}
	if size >= 0 {
		end = begin + size
	}
	kept := int64(len(s.memory))
	if end <= kept {
		return s.memory[begin:end:end], nil
	}
	b := make([]byte, end-begin)
	if _, err := s.file.ReadAt(b, begin-kept); err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("reading an item again: %w", err)
	}
	return b, nil
}

// value returns one raw value of item i.
func (s *rowStore) value(i, at int) (float32, error) {
	b, err := s.record(i, int64(4*at), 4)
	if err != nil {
		return 0, err
	}
	return math.Float32frombits(binary.LittleEndian.Uint32(b)), nil
}

// dataset returns the features of item i as a data set of one item.
func (s *rowStore) dataset(i int, id string) (*dataset.Dataset, error) {
	record, err := s.record(i, 0, -1)
	if err != nil {
		return nil, err
	}
	values := make([]float32, s.width)
	n, err := binary.Decode(record, binary.LittleEndian, values)
	if err != nil {
		return nil, err
	}
	record = record[n:]
	parts := append([]dataset.Part{}, s.parts...)
	at := 0
	for k := range parts {
		if p := &parts[k]; p.Kind == dataset.Text {
			n, w := binary.Uvarint(record)
			p.Texts = []string{string(record[w : w+int(n)])}
			record = record[w+int(n):]
			if values[at] >= 0 {
				values[at] = 0
			}
		}
		at += parts[k].Width()
	}
	return &dataset.Dataset{Items: []string{id}, Parts: parts, Rows: &dataset.Memory{N: 1, W: s.width, Values: values}}, nil
}

// close frees the file.
func (s *rowStore) close() {
	if s.file != nil {
		s.file.Close()
		_ = os.Remove(s.file.Name()) // if it could not be removed while it was open
	}
}
