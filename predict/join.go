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

// manifest says what a part is, or that a process has done all of its parts.
type manifest struct {
	Source ShardSource `json:"source"`
	// Shard is the process that has ended, nil for the manifest of a part.
	Shard *int `json:"shard,omitempty"`
	Index int  `json:"part,omitempty"`  // of the block
	First int  `json:"first,omitempty"` // item of the part, counted from 0
	Items int  `json:"items"`           // of the part, or of all
	Bad   int  `json:"without_prediction,omitempty"`
	// Reports are the first of the reasons for which items have none.
	Reports []string `json:"reports,omitempty"`
	Bytes   int64    `json:"bytes,omitempty"`
	SHA256  string   `json:"sha256,omitempty"`

	path    string
	written time.Time
}

// PartError is what is wrong with a part.
type ShardError struct{ Path, Msg string }

func (e *ShardError) Error() string { return e.Path + ": " + e.Msg }

func blockName(k int) string       { return fmt.Sprintf("part-%06d", k) }
func shardName(r rank.Rank) string { return fmt.Sprintf("shard-%d-of-%d", r.Index, r.Count) }
func (m *manifest) data() string   { return strings.TrimSuffix(m.path, ".json") + "." + m.Source.Form }
func (m *manifest) rank() rank.Rank {
	return rank.Rank{Index: m.Index % m.Source.Shards, Count: m.Source.Shards}
}

// write writes the manifest under a name.
func (m *manifest) write(folder, name string) error {
	return atomicfile.Write(filepath.Join(folder, name+".json"), func(w io.Writer) error {
		e := json.NewEncoder(w)
		e.SetIndent("", " ")
		return e.Encode(m)
	})
}

// maxManifest bounds the length of a manifest.
const maxManifest = 64 << 20

// readManifests reads those of a folder, in the order of their names. A name that is not that of its part is
// refused, such as one of a copy.
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
			return nil, &ShardError{m.path, "it is that of " + own + ": a copy under another name"}
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
		return nil, &ShardError{path, fmt.Sprintf("not the manifest of a part: %v", err)}
	}
	if s := &m.Source; s.Block < 1 || s.Shards < 1 || m.Index < 0 || m.Items < 0 || m.Shard != nil && (*m.Shard < 0 || *m.Shard >= s.Shards) {
		return nil, &ShardError{path, "not the manifest of a part"}
	}
	return m, nil
}

// differs says how the source of a part differs from the one that is wanted; it is empty if it does not.
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

// alike reports whether files have the same of two columns.
func alike(a, b Column) bool { return a.Name == b.Name && a.Kind == b.Kind }

// Joined is what a joined file holds.
type Joined struct {
	Items, Bad int      // predicted, and of them without a prediction
	Reports    []string // why, of the first
}

// ErrNotEnded is the reason when a process has not done all of its parts.
var ErrNotEnded = errors.New("has not ended")

// joinLock is held, in the folder of the parts, while they are joined.
const joinLock = "join.lock"

// Joining reports whether a join of the parts of out is at work, or was killed: out may be there then, and is
// made again.
func Joining(out string) bool {
	_, err := os.Stat(filepath.Join(ShardFolder(out), joinLock))
	return err == nil
}

// Join makes the file out of its parts, the bytes that one process would have written, and removes
// them. Parts that are missing, damaged, doubled or of another source than the others are refused.
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
	return j, removeShards(folder)
}

// removeParts removes the folder of joined parts, its lock last, by which [Joining] finds what a killed process left.
func removeShards(folder string) error {
	entries, err := os.ReadDir(folder)
	for _, e := range entries {
		if e.Name() != joinLock {
			err = errors.Join(err, os.RemoveAll(filepath.Join(folder, e.Name())))
		}
	}
	return errors.Join(err, os.RemoveAll(folder))
}

// complete returns the manifests of all parts in their order, or says which is missing or does not belong to the
// others.
func complete(folder string, list []*manifest) ([]*manifest, error) {
	if len(list) == 0 {
		return nil, fmt.Errorf("%s holds no parts of a prediction: its work %w", folder, ErrNotEnded)
	}
	// What was written last is what is wanted.
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
			return nil, &ShardError{m.path, fmt.Sprintf("it read %s, %s %s", words.Plural(m.Items, "item"), filepath.Base(ended[0].path), words.Thousands(ended[0].Items))}
		}
	}
	return blocks, inOrder(folder, blocks, ended[0])
}

// inOrder makes sure that the parts hold all items, each once.
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
			return &ShardError{m.path, fmt.Sprintf("it holds %s from %s on, expected %s from %s on", words.Plural(m.Items, "item"),
				words.Thousands(m.First), words.Thousands(min(block, items-k*block)), words.Thousands(k*block))}
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
		return &ShardError{blocks[count].path, fmt.Sprintf("there are only %s", words.Plural(items, "item"))}
	}
	return nil
}

// damaged is the error of a part that is not what was written.
func (m *manifest) damaged() error {
	return &ShardError{m.data(), fmt.Sprintf("its SHA-256 is not that of %s: remove it and run credence predict with --shard %v again", filepath.Base(m.path), m.rank())}
}

// joinText joins parts that are text. All of them begin with the header that CSV has.
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

// appendText copies a part without its header.
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

// joinParquet writes the rows of Parquet files into one.
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
