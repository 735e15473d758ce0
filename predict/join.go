package predict

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"credence/internal/atomicfile"
	"credence/internal/rank"
	"credence/internal/table"
	"credence/internal/words"
)

// manifest describes a block, or records that a process has completed all of its blocks.
type manifest struct {
	Source ShardSource `json:"source"`
	// Shard is the rank of the process that has ended, nil in the manifest of a block.
	Shard *int `json:"shard,omitempty"`
	Index int  `json:"part,omitempty"`  // of the block
	First int  `json:"first,omitempty"` // first item of the block, counted from 0
	Items int  `json:"items"`           // number of items of the block, or of all
	Bad   int  `json:"without_prediction,omitempty"`
	// Reports are the first reasons why items have no prediction.
	Reports []string `json:"reports,omitempty"`
	Bytes   int64    `json:"bytes,omitempty"`
	SHA256  string   `json:"sha256,omitempty"`

	path    string
	written time.Time
}

// ShardError describes a problem with a file in the folder of the blocks.
type ShardError struct{ Path, Msg string }

func (e *ShardError) Error() string { return e.Path + ": " + e.Msg }

func blockName(k int) string       { return fmt.Sprintf("part-%06d", k) }
func shardName(r rank.Rank) string { return fmt.Sprintf("shard-%d-of-%d", r.Index, r.Count) }
func (m *manifest) data() string   { return strings.TrimSuffix(m.path, ".json") + "." + m.Source.Form }
func (m *manifest) rank() rank.Rank {
	return rank.Rank{Index: m.Index % m.Source.Shards, Count: m.Source.Shards}
}

// write writes the manifest to a file of the given name.
func (m *manifest) write(folder, name string) error {
	return atomicfile.Write(filepath.Join(folder, name+".json"), func(w io.Writer) error {
		e := json.NewEncoder(w)
		e.SetIndent("", " ")
		return e.Encode(m)
	})
}

// maxManifest bounds the length of a manifest.
const maxManifest = 64 << 20

// readManifests reads the manifests in a folder, in the order of their names. It returns an error for a manifest
// whose file name does not match its content, such as a copy.
func readManifests(folder string) ([]*manifest, error) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, err
	}
	var list []*manifest
	for _, e := range entries {
		name, ok := strings.CutSuffix(e.Name(), ".json")
		if !ok || !strings.HasPrefix(name, "part-") && !strings.HasPrefix(name, "shard-") {
			continue
		}
		m, err := readManifest(filepath.Join(folder, e.Name()))
		if errors.Is(err, os.ErrNotExist) {
			continue // joined and removed by another process
		}
		if err != nil {
			return nil, err
		}
		own := blockName(m.Index)
		if m.Shard != nil {
			own = shardName(rank.Rank{Index: *m.Shard, Count: m.Source.Shards})
		}
		if name != own {
			return nil, &ShardError{m.path, "expected the manifest of " + name + ", found a copy of " + own}
		}
		list = append(list, m)
	}
	return list, nil
}

func readManifest(path string) (*manifest, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	m := &manifest{path: path, written: info.ModTime()}
	if err := json.NewDecoder(io.LimitReader(f, maxManifest)).Decode(m); err != nil {
		return nil, &ShardError{path, fmt.Sprintf("expected a manifest: %v", err)}
	}
	if s := &m.Source; s.Block < 1 || s.Shards < 1 || m.Index < 0 || m.Items < 0 || m.Shard != nil && (*m.Shard < 0 || *m.Shard >= s.Shards) {
		return nil, &ShardError{path, "expected a manifest, found invalid values"}
	}
	return m, nil
}

// differs describes how the source of a block differs from the expected one; it returns "" if they are the same.
func (s *ShardSource) differs(want *ShardSource) string {
	switch {
	case s.Model != want.Model:
		return fmt.Sprintf("with another model (SHA-256 %.12s…, not %.12s…)", s.Model, want.Model)
	case len(s.Files) != len(want.Files):
		return fmt.Sprintf("from %s, not %d", words.Plural(len(s.Files), "file"), len(want.Files))
	}
	for i, f := range s.Files {
		if w := want.Files[i]; f.SHA256 != w.SHA256 {
			return fmt.Sprintf("from another %s (SHA-256 %.12s…, not %.12s…)", w.Name, f.SHA256, w.SHA256)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(want.Options)) {
		if x, y := s.Options[name], want.Options[name]; x != y {
			return fmt.Sprintf("with --%s %s, not %s", name, x, y)
		}
	}
	switch {
	case s.Shards != want.Shards:
		return fmt.Sprintf("by one of %s, not %d", words.Plural(s.Shards, "shard"), want.Shards)
	case s.Program != want.Program:
		return fmt.Sprintf("by credence %s, not %s", s.Program, want.Program)
	case s.Form != want.Form || s.Block != want.Block || !slices.EqualFunc(s.Columns, want.Columns, alike) || !maps.Equal(s.Options, want.Options):
		return "with other options"
	}
	return ""
}

// alike reports whether two columns have the same name and kind in files.
func alike(a, b Column) bool { return a.Name == b.Name && a.Kind == b.Kind }

// Joined describes the content of a joined file.
type Joined struct {
	Items, Bad int      // all items, and those without a prediction
	Reports    []string // the first reasons why items have no prediction
}

// ErrNotEnded is the error when a process has not completed all of its blocks.
var ErrNotEnded = errors.New("has not ended")

// joinLock is the lock file in the folder of the blocks while they are joined.
const joinLock = "join.lock"

// Joining reports whether the blocks of out are being joined, or a join was killed: out may exist then, and is
// written again.
func Joining(out string) bool {
	_, err := os.Stat(filepath.Join(ShardFolder(out), joinLock))
	return err == nil
}

// Join assembles the file out from its blocks, with the bytes that a single process would have written, and removes
// them. It returns an error if blocks are missing, damaged or duplicated, or if their sources differ.
func Join(out string) (*Joined, error) {
	folder := ShardFolder(out)
	lock, err := atomicfile.TakeLock(filepath.Join(folder, joinLock))
	if err != nil {
		if held, ok := errors.AsType[*atomicfile.HeldError](err); ok {
			err = fmt.Errorf("%s is being joined already: %w", out, held)
		}
		return nil, err
	}
	defer lock.Release()
	list, err := readManifests(folder)
	if err != nil {
		return nil, err
	}
	blocks, err := complete(folder, list)
	if err != nil {
		return nil, err
	}
	source := &list[0].Source
	j := &Joined{}
	for _, m := range blocks {
		j.Items, j.Bad, j.Reports = j.Items+m.Items, j.Bad+m.Bad, append(j.Reports, m.Reports...)
	}
	write := joinText
	if source.Form == "parquet" {
		write = joinParquet
	}
	if err := atomicfile.Write(out, func(w io.Writer) error { return write(w, source, blocks) }); err != nil {
		return nil, err
	}
	return j, removeShards(folder, lock)
}

// removeShards removes the folder of joined blocks. The lock is removed last: by it [Joining] detects a killed join. It is released
// for that, since Windows does not remove open files.
func removeShards(folder string, lock *atomicfile.Lock) error {
	entries, err := os.ReadDir(folder)
	for _, e := range entries {
		if e.Name() != joinLock {
			err = errors.Join(err, os.RemoveAll(filepath.Join(folder, e.Name())))
		}
	}
	return errors.Join(err, lock.Release(), os.RemoveAll(folder))
}

// complete returns the manifests of all blocks in order. It returns an error if one is missing or does not belong to
// the others.
func complete(folder string, list []*manifest) ([]*manifest, error) {
	if len(list) == 0 {
		return nil, fmt.Errorf("%s contains no parts of a prediction: its work %w", folder, ErrNotEnded)
	}
	// The manifest written last decides which source is the right one.
	latest := slices.MaxFunc(list, func(a, b *manifest) int { return a.written.Compare(b.written) })
	var blocks []*manifest
	ended := make([]*manifest, latest.Source.Shards)
	for _, m := range list {
		if why := m.Source.differs(&latest.Source); why != "" {
			return nil, &ShardError{m.path, fmt.Sprintf("it was made %s as %s, which is newer", why, filepath.Base(latest.path))}
		}
		if m.Shard != nil {
			ended[*m.Shard] = m
		} else {
			blocks = append(blocks, m)
		}
	}
	for i, m := range ended {
		if m == nil {
			r := rank.Rank{Index: i, Count: len(ended)}
			return nil, fmt.Errorf("%s: missing: shard %v %w; run credence predict with --shard %v again",
				filepath.Join(folder, shardName(r)+".json"), r, ErrNotEnded, r)
		}
		if m.Items != ended[0].Items {
			return nil, &ShardError{m.path, fmt.Sprintf("it has read %s, but %s has read %s", words.Plural(m.Items, "item"), filepath.Base(ended[0].path), words.Thousands(ended[0].Items))}
		}
	}
	return blocks, inOrder(folder, blocks, ended[0])
}

// inOrder sorts the blocks and returns an error unless they contain every item exactly once.
func inOrder(folder string, blocks []*manifest, end *manifest) error {
	block, items := end.Source.Block, end.Items
	slices.SortFunc(blocks, func(a, b *manifest) int { return a.Index - b.Index })
	count := (items + block - 1) / block
	for k := range count {
		want := manifest{Source: end.Source, Index: k}
		if k >= len(blocks) || blocks[k].Index != k {
			return &ShardError{filepath.Join(folder, blockName(k)+".json"), fmt.Sprintf("missing: run credence predict with --shard %v again", want.rank())}
		}
		m := blocks[k]
		if m.First != k*block || m.Items != min(block, items-k*block) {
			return &ShardError{m.path, fmt.Sprintf("expected %s from %s on, found %s from %s on", words.Plural(min(block, items-k*block), "item"),
				words.Thousands(k*block), words.Thousands(m.Items), words.Thousands(m.First))}
		}
		info, err := os.Stat(m.data())
		if errors.Is(err, os.ErrNotExist) {
			return &ShardError{m.data(), fmt.Sprintf("missing: run credence predict with --shard %v again", m.rank())}
		}
		if err != nil {
			return err
		}
		if info.Size() != m.Bytes {
			return &ShardError{m.data(), fmt.Sprintf("%d bytes, expected %d: remove it and run credence predict with --shard %v again", info.Size(), m.Bytes, m.rank())}
		}
	}
	if len(blocks) > count {
		return &ShardError{blocks[count].path, fmt.Sprintf("expected no such part: there are only %s", words.Plural(items, "item"))}
	}
	return nil
}

// damaged returns the error for a block whose content is not what was written.
func (m *manifest) damaged() error {
	return &ShardError{m.data(), fmt.Sprintf("its SHA-256 is not that of %s: remove it and run credence predict with --shard %v again", filepath.Base(m.path), m.rank())}
}

// joinText joins blocks that are text. All blocks of a CSV file begin with the header.
func joinText(w io.Writer, s *ShardSource, blocks []*manifest) error {
	var header []byte
	if s.Form == "csv" {
		header = headerCSV(s.Columns)
	}
	if _, err := w.Write(header); err != nil {
		return err
	}
	buf := make([]byte, 1<<20)
	for _, m := range blocks {
		if err := appendText(w, m, header, buf); err != nil {
			return err
		}
	}
	return nil
}

// appendText copies a block without its header, and checks its SHA-256.
func appendText(w io.Writer, m *manifest, header, buf []byte) error {
	f, err := os.Open(m.data())
	if err != nil {
		return err
	}
	defer f.Close()
	sum := sha256.New()
	r := io.TeeReader(f, sum)
	own := make([]byte, len(header))
	if _, err := io.ReadFull(r, own); err != nil || !bytes.Equal(own, header) {
		return m.damaged()
	}
	if _, err := io.CopyBuffer(w, r, buf); err != nil {
		return err
	}
	if hex.EncodeToString(sum.Sum(nil)) != m.SHA256 {
		return m.damaged()
	}
	return nil
}

// joinParquet writes the rows of the blocks, which are Parquet files, into one file.
func joinParquet(w io.Writer, s *ShardSource, blocks []*manifest) error {
	out, err := table.NewParquetWriter(w, typed(s.Columns))
	if err != nil {
		return err
	}
	for _, m := range blocks {
		f, err := os.Open(m.data())
		if err != nil {
			return err
		}
		sum := sha256.New()
		if _, err = io.Copy(sum, f); err == nil && hex.EncodeToString(sum.Sum(nil)) != m.SHA256 {
			err = m.damaged()
		}
		if err == nil {
			err = out.Append(f, m.Bytes)
		}
		if err = errors.Join(err, f.Close()); err != nil {
			return err
		}
	}
	return out.Close()
}
