package cohort

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"

	"credence/internal/atomicfile"
	"credence/internal/nifti"
	"credence/internal/par"
)

// The files of a cohort's folder. Those of fresh scans have the prefix "fresh-".
const (
	ClinicalFile     = "clinical.csv"
	ExchangeableFile = "exchangeable.csv"
	TruthFile        = "truth.csv"
	ReadmeFile       = "README.txt"
	VolumesFolder    = "volumes"
	FreshPrefix      = "fresh-"

	// settingsFile describes the contents of the folder once it is complete.
	settingsFile = "cohort.json"
)

// ErrOccupied is the reason when a folder holds other files.
var ErrOccupied = errors.New("the folder is not empty")

// WriteOptions configures [Write].
type WriteOptions struct {
	Size Size // of the volumes; zero means DefaultSize
	// Overwrite replaces another cohort in the folder.
	Overwrite bool
	// Progress is called after each volume with the number of volumes done and their
	// total. It is not called by two goroutines at a time.
	Progress func(done, total int)
	// Apart draws with separate goroutines, so that loops of package par keep the cores.
	Apart bool
}

// settings are all that a folder's content depends on.
type settings struct {
	Synthetic bool   `json:"synthetic"`
	Scans     int    `json:"scans"`
	Fresh     int    `json:"fresh"`
	Seed      uint64 `json:"seed"`
	Size      Size   `json:"size"`
	// Phantom changes when the same options give other volumes.
	Phantom int `json:"phantom"`
}

const phantomVersion = 1

// Write writes the folder of a cohort: tables, then one NIfTI file per scan. A
// folder that was started with the same options is completed; existing volumes
// are kept. The files do not depend on the number of cores. When ctx
// ends, Write returns its error, and can be called again.
func Write(ctx context.Context, dir string, c *Cohort, o WriteOptions) error {
	if o.Size == (Size{}) {
		o.Size = DefaultSize
	}
	if err := o.Size.check(); err != nil {
		return err
	}
	set := settings{true, c.Options.Scans, c.Options.Fresh, c.Seed, o.Size, phantomVersion}
	if err := prepare(dir, set, o.Overwrite); err != nil {
		return err
	}
	if err := c.writeTables(dir, o.Size); err != nil {
		return err
	}
	var mu sync.Mutex
	var first error
	done := 0
	each := par.For
	if o.Apart {
		each = apart
	}
	each(len(c.Scans), func(i int) {
		mu.Lock()
		stop := first != nil || ctx.Err() != nil
		mu.Unlock()
		if stop {
			return
		}
		err := c.writeVolume(dir, i, o.Size)
		mu.Lock()
		defer mu.Unlock()
		if err != nil && first == nil {
			first = err
		}
		if done++; err == nil && o.Progress != nil {
			o.Progress(done, len(c.Scans))
		}
	})
	if first == nil && done < len(c.Scans) {
		return ctx.Err()
	}
	return first
}

// apart is par.For with goroutines of its own.
func apart(n int, body func(i int)) {
	var next atomic.Int64
	var wait sync.WaitGroup
	for range par.Threads() {
		wait.Go(func() {
			for i := next.Add(1) - 1; i < int64(n); i = next.Add(1) - 1 {
				body(int(i))
			}
		})
	}
	wait.Wait()
}

// check returns an error for sizes that no volume has.
func (s Size) check() error {
	for _, n := range s {
		if n < 4 || n > 512 {
			return fmt.Errorf("a volume of %d×%d×%d voxels: each side has between 4 and 512", s[0], s[1], s[2])
		}
	}
	return nil
}

// prepare creates the folder, or checks that it may be written to.
func prepare(dir string, set settings, overwrite bool) error {
	path := filepath.Join(dir, settingsFile)
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if len(entries) > 0 {
		var old settings
		text, err := os.ReadFile(path)
		ours := err == nil && json.Unmarshal(text, &old) == nil && old.Synthetic
		switch {
		case ours && old == set:
			return atomicfile.MkdirAll(filepath.Join(dir, VolumesFolder))
		case !overwrite && ours:
			return fmt.Errorf("folder %s holds a cohort of %d scans and %d fresh ones, seed %d, %d×%d×%d: %w", dir,
				old.Scans, old.Fresh, old.Seed, old.Size[0], old.Size[1], old.Size[2], ErrOccupied)
		case !overwrite:
			return fmt.Errorf("folder %s: %w", dir, ErrOccupied)
		case ours:
			if err := clearVolumes(dir); err != nil {
				return err
			}
		}
	}
	if err := atomicfile.MkdirAll(filepath.Join(dir, VolumesFolder)); err != nil {
		return err
	}
	return atomicfile.Write(path, func(w io.Writer) error {
		e := json.NewEncoder(w)
		e.SetIndent("", "  ")
		return e.Encode(set)
	})
}

// clearVolumes removes the files of another cohort, and nothing else.
func clearVolumes(dir string) error {
	old, err := filepath.Glob(filepath.Join(dir, VolumesFolder, "SYN[0-9]*-*.nii.gz"))
	if err != nil {
		return err
	}
	for _, name := range []string{ClinicalFile, ExchangeableFile, TruthFile} {
		old = append(old, filepath.Join(dir, FreshPrefix+name))
	}
	for _, f := range old {
		if err := os.Remove(f); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// writeVolume writes scan i unless its file exists and is complete.
func (c *Cohort) writeVolume(dir string, i int, size Size) error {
	path := filepath.Join(dir, filepath.FromSlash(c.Scans[i].Path()))
	const header = 352
	if unpacked(path) == uint32(header+2*size.Voxels()) {
		return nil
	}
	return nifti.WriteFile(path, c.Picture(i).Volume(size), nifti.WriteOptions{
		Type: nifti.Int16, Level: 1, Description: "synthetic head, not a person: credence data adni-synthetic",
	})
}

// Volume renders a picture as a NIfTI volume in whole numbers, stored from the
// subject's right to the left (LAS).
func (p Picture) Volume(size Size) *nifti.Volume {
	v := &nifti.Volume{Dim: size, Data: p.Render(size)}
	for i, x := range v.Data {
		v.Data[i] = float32(int(x + 0.5))
	}
	for i, s := range size.Spacing() {
		v.Spacing[i] = float64(s)
		v.Affine[i][i] = float64(s)
		v.Affine[i][3] = float64(viewCenter[i] - fieldOfView[i]/2 + s/2)
	}
	v.Affine[0][0], v.Affine[0][3] = -v.Affine[0][0], float64(viewCenter[0]+fieldOfView[0]/2-size.Spacing()[0]/2)
	return v
}

// unpacked returns the uncompressed size that a gzip file declares, or 0.
func unpacked(path string) uint32 {
	f, err := os.Open(path)
	if err != nil {
		return 0
	}
	defer f.Close()
	var b [4]byte
	if _, err := f.Seek(-4, io.SeekEnd); err != nil {
		return 0
	}
	if _, err := io.ReadFull(f, b[:]); err != nil {
		return 0
	}
	return binary.LittleEndian.Uint32(b[:])
}
