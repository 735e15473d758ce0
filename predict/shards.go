package predict

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"credence/internal/atomicfile"
	"credence/internal/fault"
	"credence/internal/rank"
)

// A long prediction is made in parts, each of so many items in input order, which processes of any
// number may share: part k belongs to the process of rank k mod n. A part is a file of the form of the
// whole, in the folder OUT.parts, and beside it a manifest, which is written after it and says what it
// was made from. A process that is killed loses the part it was at. [Join] makes OUT of the parts.

// ShardSource is what a part was made from. Parts of one result have the same.
type ShardSource struct {
	Model   string            `json:"model"` // SHA-256 of its file
	Files   []FileSum         `json:"files"` // items, and votes on them
	Options map[string]string `json:"options"`
	Program string            `json:"program"`
	Form    string            `json:"form"`
	Columns []Column          `json:"columns"`
	Shards  int               `json:"shards"`         // processes that share the work
	Block   int               `json:"items_per_part"` // all but the last
}

// PartsOf returns the folder in which the parts of a file are.
func ShardFolder(out string) string { return out + ".parts" }

// Parts writes those parts of a file that fall to one process and are not there yet.
type Parts struct {
	folder string
	rank   rank.Rank
	table  *Table
	source ShardSource
	lock   *atomicfile.Lock
	done   map[int]*manifest

	file    *atomicfile.File // the part at work, nil for none
	sum     hash.Hash
	out     Writer
	current manifest
}

// OpenParts opens the folder of parts of the file out, and makes it if there is none. All that is there
// has to be of the same source. Nobody else may work on the same rank.
func OpenParts(out string, t *Table, s ShardSource, r rank.Rank) (*Parts, error) {
	s.Shards, s.Form, s.Columns = r.Count, t.format.Form.Name, t.columns
	p := &Parts{folder: ShardFolder(out), rank: r, table: t, source: s}
	if err := atomicfile.MkdirAll(p.folder); err != nil {
		return nil, err
	}
	var err error
	if p.lock, err = atomicfile.TakeLock(filepath.Join(p.folder, shardName(r)+".lock")); err != nil {
		if held, ok := errors.AsType[*atomicfile.HeldError](err); ok {
			err = fmt.Errorf("shard %v of %s is being predicted already: %w", r, out, held)
		}
		return nil, err
	}
	if err := p.look(); err != nil {
		return nil, errors.Join(err, p.lock.Release())
	}
	return p, nil
}

// look finds the parts that are there, and removes what killed processes left.
func (p *Parts) look() error {
	if err := atomicfile.Clean(p.folder, "part-*", "shard-*"); err != nil {
		return err
	}
	list, err := readManifests(p.folder)
	if err != nil {
		return err
	}
	p.done = map[int]*manifest{}
	for _, m := range list {
		if why := m.Source.differs(&p.source); why != "" {
			return &ShardError{m.path, "it was made " + why}
		}
		if m.Shard != nil {
			continue
		}
		if info, err := os.Stat(m.data()); err == nil && info.Size() == m.Bytes {
			p.done[m.Index] = m
		}
	}
	return nil
}

// Wants reports whether the items from first on, those of one part, are to be predicted here. If they were
// already, it returns how many had no prediction, and the reasons that were told then.
func (p *Parts) Wants(first int) (wanted bool, bad int, reports []string) {
	if p.Others(first) {
		return false, 0, nil
	}
	m, ok := p.done[first/p.source.Block]
	if !ok {
		return true, 0, nil
	}
	if first%p.source.Block > 0 {
		return false, 0, nil // told with the first items of the part
	}
	return false, m.Bad, m.Reports
}

// Others reports whether the part of the items from first on falls to another process.
func (p *Parts) Others(first int) bool { return first/p.source.Block%p.rank.Count != p.rank.Index }

// Write writes the predictions of items from first on, which are all of one part, and why some of them
// have none.
func (p *Parts) Write(ctx context.Context, first int, list []Prediction, reports []string) error {
	if p.file == nil {
		if err := p.begin(first / p.source.Block); err != nil {
			return err
		}
	}
	if _, err := p.out.Write(ctx, list); err != nil {
		return err
	}
	c := &p.current
	c.Items += len(list)
	c.Reports = append(c.Reports, reports...)
	for j := range list {
		if list[j].Err != nil {
			c.Bad++
		}
	}
	if c.Items < p.source.Block {
		return nil
	}
	return p.finish()
}

// begin begins part k.
func (p *Parts) begin(k int) error {
	p.current = manifest{Source: p.source, Index: k, First: k * p.source.Block}
	f, err := atomicfile.Create(filepath.Join(p.folder, blockName(k)+"."+p.source.Form))
	if err != nil {
		return err
	}
	p.sum = sha256.New()
	if p.out, err = NewWriter(io.MultiWriter(f, p.sum), p.table); err != nil {
		f.Discard()
		return err
	}
	p.file = f
	return nil
}

// finish ends the part at work.
func (p *Parts) finish() error {
	f, c := p.file, &p.current
	p.file = nil
	err := p.out.Close()
	if err == nil {
		var info os.FileInfo
		if info, err = f.Stat(); err == nil {
			c.Bytes, c.SHA256 = info.Size(), hex.EncodeToString(p.sum.Sum(nil))
		}
	}
	if err != nil {
		f.Discard()
		return err
	}
	if err := f.Commit(); err != nil {
		return err
	}
	return c.write(p.folder, blockName(c.Index))
}

// End says that the last item was read; items is how many there are, of all processes.
func (p *Parts) End(items int) error {
	if p.file != nil {
		if err := p.finish(); err != nil {
			return err
		}
	}
	m := manifest{Source: p.source, Shard: &p.rank.Index, Items: items}
	return m.write(p.folder, shardName(p.rank))
}

// Close gives up the part at work, if there is one, and lets others work on this rank.
func (p *Parts) Close() error {
	if p.file != nil {
		p.file.Discard()
		p.file = nil
	}
	if p.lock == nil {
		return nil
	}
	lock := p.lock
	p.lock = nil
	return lock.Release()
}

// BlockOf returns how many items a part has: what takes some seconds to predict, since a part takes time
// to begin and is what a killed process loses. width is how many numbers an item has, items about how
// many there are, 0 if that is not known. Each of n processes gets equally many parts.
func BlockOf(items, width, n int) int {
	const most, values = 1 << 15, 1 << 24
	block := min(max(values/max(width, 1), 1), most)
	if items > 0 {
		each := (items + n*block - 1) / (n * block) // parts of a process
		block = (items + n*each - 1) / (n * each)
	}
	return block
}

// FileSum says which content a file has.
type FileSum struct {
	Name   string `json:"name"` // without its folder
	SHA256 string `json:"sha256"`

	Lines int   `json:"-"`
	Bytes int64 `json:"-"`
}

// SumFile reads a file through. Of a folder, names, sizes and times of the files in it count: to read
// images or volumes twice would take longer than to predict them.
func SumFile(ctx context.Context, path string) (FileSum, error) {
	s := FileSum{Name: filepath.Base(path)}
	f, err := fault.OpenFile(path)
	if err != nil {
		return s, fault.Of(path, err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return s, fault.Of(path, err)
	}
	sum := sha256.New()
	switch {
	case info.IsDir():
		err = filepath.WalkDir(path, func(at string, e fs.DirEntry, err error) error {
			if err != nil || e.IsDir() {
				return err
			}
			info, err := e.Info()
			if err != nil {
				return err
			}
			name, err := filepath.Rel(path, at)
			fmt.Fprintf(sum, "%q %d %d\n", filepath.ToSlash(name), info.Size(), info.ModTime().UnixNano())
			s.Bytes += info.Size()
			return err
		})
	case info.Mode().IsRegular():
		_, err = io.CopyBuffer(io.MultiWriter(sum, (*lineCounter)(&s)), fault.Reader(ctx, f), make([]byte, 1<<20))
	default:
		return s, fmt.Errorf("%s is no file that can be read twice", path)
	}
	if err != nil {
		return s, fault.Of(path, err)
	}
	s.SHA256 = hex.EncodeToString(sum.Sum(nil))
	return s, nil
}

// lineCounter counts the lines of what is written to it.
type lineCounter FileSum

func (c *lineCounter) Write(b []byte) (int, error) {
	c.Lines += bytes.Count(b, []byte{'\n'})
	c.Bytes += int64(len(b))
	return len(b), nil
}
