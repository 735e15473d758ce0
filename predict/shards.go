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

// A long prediction is made in blocks of consecutive items, which n processes may share: block k belongs to
// the shard of the process with rank k mod n. A block is a file in the format of the result, in the folder
// OUT.parts. Next to it is a manifest, written after the block, that records what the block was computed
// from. A process that is killed loses only its current block. [Join] assembles OUT from the blocks.

// ShardSource identifies the inputs that a block was computed from. It is the same for all blocks of one result.
type ShardSource struct {
	Model   string            `json:"model"` // SHA-256 of its file
	Files   []FileSum         `json:"files"` // the items, and the votes on them
	Options map[string]string `json:"options"`
	Program string            `json:"program"`
	Form    string            `json:"form"`
	Columns []Column          `json:"columns"`
	Shards  int               `json:"shards"`         // number of processes that share the work
	Block   int               `json:"items_per_part"` // items per block, of all blocks but the last
}

// ShardFolder returns the folder that holds the blocks of the file out.
func ShardFolder(out string) string { return out + ".parts" }

// ShardWriter writes the shard of one process: those of its blocks that do not exist yet.
type ShardWriter struct {
	folder string
	rank   rank.Rank
	table  *Table
	source ShardSource
	lock   *atomicfile.Lock
	done   map[int]*manifest

	file    *atomicfile.File // the current block, nil if there is none
	sum     hash.Hash
	out     Writer
	current manifest
}

// OpenShard opens the folder of the blocks of the file out for one of the s.Shards processes, counted from 0, and makes the
// folder if there is none. All blocks in it must have the same source, and no other process may work on the same shard.
func OpenShard(out string, t *Table, s ShardSource, shard int) (*ShardWriter, error) {
	r := rank.Rank{Index: shard, Count: s.Shards}
	s.Form, s.Columns = t.format.Form.Name, t.columns
	p := &ShardWriter{folder: ShardFolder(out), rank: r, table: t, source: s}
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

// look finds the blocks that are there, and removes leftovers of killed processes.
func (p *ShardWriter) look() error {
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

// Wants reports whether this process has to predict the items from first on, which are of one block. If it has
// done so already, Wants returns how many items had no prediction, and the reasons reported then.
func (p *ShardWriter) Wants(first int) (wanted bool, bad int, reports []string) {
	if p.Others(first) {
		return false, 0, nil
	}
	m, ok := p.done[first/p.source.Block]
	if !ok {
		return true, 0, nil
	}
	if first%p.source.Block > 0 {
		return false, 0, nil // reported with the first items of the block
	}
	return false, m.Bad, m.Reports
}

// Others reports whether the block of the items from first on belongs to another process.
func (p *ShardWriter) Others(first int) bool {
	return first/p.source.Block%p.rank.Count != p.rank.Index
}

// Write writes the predictions for the items from first on, which are all of one block. reports are the reasons
// why some items have no prediction.
func (p *ShardWriter) Write(ctx context.Context, first int, list []Prediction, reports []string) error {
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

// begin starts block k.
func (p *ShardWriter) begin(k int) error {
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

// finish completes the current block and writes its manifest.
func (p *ShardWriter) finish() error {
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

// End records that all items were read; items is their number, over all processes.
func (p *ShardWriter) End(items int) error {
	if p.file != nil {
		if err := p.finish(); err != nil {
			return err
		}
	}
	m := manifest{Source: p.source, Shard: &p.rank.Index, Items: items}
	return m.write(p.folder, shardName(p.rank))
}

// Close discards the current block, if there is one, and releases the lock of this rank.
func (p *ShardWriter) Close() error {
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

// BlockOf returns the number of items per block. A block takes some seconds to predict: each one takes time
// to start, and a killed process loses its current one. width is the number of features of an item, items the
// approximate number of items, 0 if unknown. Each of n processes gets the same number of blocks.
func BlockOf(items, width, n int) int {
	const most, values = 1 << 15, 1 << 24
	block := min(max(values/max(width, 1), 1), most)
	if items > 0 {
		each := (items + n*block - 1) / (n * block) // blocks per process
		block = (items + n*each - 1) / (n * each)
	}
	return block
}

// FileSum identifies the content of a file.
type FileSum struct {
	Name   string `json:"name"` // without its folder
	SHA256 string `json:"sha256"`

	Lines int   `json:"-"`
	Bytes int64 `json:"-"`
}

// SumFile computes the checksum of a file. For a folder it is that of the names, sizes and times of the files
// in it: reading images or volumes twice would take longer than predicting them.
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
		return s, fmt.Errorf("%s: expected a regular file or a folder, which can be read twice", path)
	}
	if err != nil {
		return s, fault.Of(path, err)
	}
	s.SHA256 = hex.EncodeToString(sum.Sum(nil))
	return s, nil
}

// lineCounter counts the lines and bytes written to it.
type lineCounter FileSum

func (c *lineCounter) Write(b []byte) (int, error) {
	c.Lines += bytes.Count(b, []byte{'\n'})
	c.Bytes += int64(len(b))
	return len(b), nil
}
