package predict

import (
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
	"credence/internal/words"
)

// manifest says what a part is, or that a process has done all of its parts.
type manifest struct {
	Source ShardSource `json:"source"`
	// Shard is the process that has ended, nil for the manifest of a part.
	Shard *int `json:"shard,omitempty"`
	Part  int  `json:"part,omitempty"`
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
type PartError struct{ Path, Msg string }

func (e *PartError) Error() string { return e.Path + ": " + e.Msg }

func partName(k int) string        { return fmt.Sprintf("part-%06d", k) }
func shardName(r rank.Rank) string { return fmt.Sprintf("shard-%d-of-%d", r.Index, r.Count) }
func (m *manifest) data() string   { return strings.TrimSuffix(m.path, ".json") + "." + m.Source.Form }
func (m *manifest) rank() rank.Rank {
	return rank.Rank{Index: m.Part % m.Source.Shards, Count: m.Source.Shards}
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
		own := partName(m.Part)
		if m.Shard != nil {
			own = shardName(rank.Rank{Index: *m.Shard, Count: m.Source.Shards})
		}
		if name != own {
			return nil, &PartError{m.path, "it is that of " + own + ": a copy under another name"}
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
		return nil, &PartError{path, fmt.Sprintf("not the manifest of a part: %v", err)}
	}
	if s := &m.Source; s.Block < 1 || s.Shards < 1 || m.Part < 0 || m.Items < 0 || m.Shard != nil && (*m.Shard < 0 || *m.Shard >= s.Shards) {
		return nil, &PartError{path, "not the manifest of a part"}
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
