package study

import (
	"bufio"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"credence/dataset"
	"credence/internal/array"
)

// dataFile is a file of a set with its SHA-256.
type dataFile struct {
	Name string `json:"name"` // set/file
	Sum  string `json:"sha256"`
}

// voteSet is a set of items with many votes each.
type voteSet struct {
	name, title string
	class       int // that intervals are judged of; −1 for the predicted one
	images      bool

	ds       *dataset.Dataset // all items and votes
	cluster  []int            // [N] what is drawn together: an item, or a panel of raters
	clusters int
	kept     []int // items that are used
}

// Names of the sets, of their folders, and of their files.
const (
	photographs = "cifar10h"
	defendants  = "recidivism"
	countsFile  = "counts.npy"
)

var photographFiles = []string{"images_0-4999.bin.gz", "images_5000-9999.bin.gz"}

// voteKinds are the sets that the study knows.
var voteKinds = []struct {
	name, title string
	class       int
	files       []string
	load        func(ctx context.Context, folder string) (*voteSet, error)
}{
	{photographs, "photographs (CIFAR-10H)", -1, append([]string{countsFile}, photographFiles...), loadCIFAR},
	{defendants, "defendants (recidivism)", 1, []string{"items.csv", "votes.csv"}, loadRecidivism},
}

// findFiles returns the files of all sets whose folder exists.
func findFiles(folder string) ([]dataFile, error) {
	var list []dataFile
	var names []string
	for _, kind := range voteKinds {
		names = append(names, kind.name)
		if _, err := os.Stat(filepath.Join(folder, kind.name)); errors.Is(err, fs.ErrNotExist) {
			continue
		}
		for _, file := range kind.files {
			path := filepath.Join(folder, kind.name, file)
			sum, err := sumFile(path)
			if errors.Is(err, fs.ErrNotExist) {
				return nil, fmt.Errorf("%s is missing: the set %s is the files %s", path, kind.name, strings.Join(kind.files, ", "))
			}
			if err != nil {
				return nil, err
			}
			list = append(list, dataFile{kind.name + "/" + file, sum})
		}
	}
	if list == nil {
		return nil, fmt.Errorf("%s: found neither of the folders %s", folder, strings.Join(names, ", "))
	}
	return list, nil
}

// sumFile is the SHA-256 of a file.
func sumFile(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, f); err != nil {
		return "", fmt.Errorf("reading %s: %w", path, err)
	}
	return fmt.Sprintf("%x", sum.Sum(nil)), nil
}

// has reports whether the files of a set exist.
func (v *Votes) has(set string) bool {
	return slices.ContainsFunc(v.Files, func(f dataFile) bool { return strings.HasPrefix(f.Name, set+"/") })
}

// cifarClasses are those of CIFAR-10, in the order of its labels.
var cifarClasses = []string{"airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"}

const cifarPixels = 3 * 32 * 32

// loadCIFAR reads the photographs and the counts of labels that people gave them.
func loadCIFAR(_ context.Context, folder string) (*voteSet, error) {
	dir := filepath.Join(folder, photographs)
	counts, err := readCounts(filepath.Join(dir, countsFile), len(cifarClasses))
	if err != nil {
		return nil, err
	}
	var pixels []float32
	n := len(counts) / len(cifarClasses)
	for _, name := range photographFiles {
		if pixels, err = readPhotographs(pixels, filepath.Join(dir, name), n); err != nil {
			return nil, err
		}
	}
	if found := len(pixels) / cifarPixels; found != n {
		return nil, fmt.Errorf("%s: %d photographs, but %s has counts of %d", dir, found, countsFile, n)
	}
	s := &voteSet{images: true, clusters: n, ds: &dataset.Dataset{
		Classes: cifarClasses, Counts: counts, Rows: &dataset.Memory{N: n, W: cifarPixels, Values: pixels},
		Features: []dataset.Feature{{Name: "image", Kind: dataset.Tensor, Shape: []int{3, 32, 32}}},
	}}
	for i := range n {
		s.ds.Items = append(s.ds.Items, strconv.Itoa(i))
	}
	s.cluster, s.kept = indices(0, n), indices(0, n)
	return s, nil
}

// malformed reports a file that does not hold what the study expects.
func malformed(file, format string, args ...any) error {
	return &dataset.ParseError{File: file, Msg: fmt.Sprintf(format, args...)}
}

// readCounts reads an array of whole numbers with the given number of columns.
func readCounts(path string, d int) ([]float32, error) {
	a, err := array.OpenNPY(path)
	if err != nil {
		return nil, err
	}
	defer a.Close()
	if len(a.Shape) != 2 || a.Shape[1] != d {
		return nil, malformed(path, "an array of the shape %v, but one row per photograph and %d columns are expected", a.Shape, d)
	}
	counts := make([]float32, a.Len()*d)
	for i := range a.Len() {
		row := counts[i*d : (i+1)*d]
		if err := a.ReadRow(i, row); err != nil {
			return nil, err
		}
		votes := float32(0)
		for _, n := range row {
			if n < 0 || n != float32(math.Trunc(float64(n))) || n > 1e4 {
				return nil, malformed(path, "row %d holds %v, which is no number of votes", i, n)
			}
			votes += n
		}
		if votes < 10 {
			return nil, malformed(path, "row %d holds %v votes: at least 10 are expected, since they are held back to judge by", i, votes)
		}
	}
	return counts, nil
}

// readPhotographs appends the pixels of a file of records, a byte for the label and then 3 × 32 × 32,
// of which there are n in all files.
func readPhotographs(pixels []float32, path string, n int) ([]float32, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	unpacked, err := gzip.NewReader(bufio.NewReader(f))
	if err != nil {
		return nil, malformed(path, "it is no gzip file: %v", err)
	}
	record := make([]byte, 1+cifarPixels)
	for k := 0; ; k++ {
		_, err := io.ReadFull(unpacked, record)
		if err == io.EOF {
			return pixels, nil
		}
		if err != nil {
			return nil, malformed(path, "photograph %d, of %d bytes each: %v", k, len(record), err)
		}
		if len(pixels) >= n*cifarPixels {
			return nil, malformed(path, "photograph %d is one more than the %d that %s has counts of", k, n, countsFile)
		}
		if int(record[0]) >= len(cifarClasses) {
			return nil, malformed(path, "photograph %d has the label %d, but there are %d classes", k, record[0], len(cifarClasses))
		}
		for _, b := range record[1:] {
			pixels = append(pixels, float32(b))
		}
	}
}

// drop removes items.
func (s *voteSet) drop(items []int) {
	s.kept = slices.DeleteFunc(s.kept, func(i int) bool { return slices.Contains(items, i) })
}

// twins returns the photographs that nearly equal an earlier one.
func (s *voteSet) twins() ([]int, error) {
	grouped, copies, err := dataset.GroupDuplicates(s.ds)
	list := []int{}
	if copies > 0 {
		seen := map[string]bool{}
		for i, group := range grouped.Groups {
			if seen[group] {
				list = append(list, i)
			}
			seen[group] = true
		}
	}
	return list, err
}

// recidivismFeatures describe a defendant.
var recidivismFeatures = []string{"race", "sex", "age", "juv_fel_count", "juv_misd_count", "priors_count", "felony"}

// loadRecidivism reads defendants and the votes on them. Those that were shown to the same raters
// are a panel.
func loadRecidivism(ctx context.Context, folder string) (*voteSet, error) {
	dir := filepath.Join(folder, defendants)
	votes := filepath.Join(dir, "votes.csv")
	o := dataset.LoadOptions{Data: []string{filepath.Join(dir, "items.csv")}, Votes: []string{votes}}
	o.FeatureOptions = dataset.FeatureOptions{ItemColumn: "item", Features: recidivismFeatures, Categorical: []string{"race"}}
	o.VotesOptions = dataset.VotesOptions{Classes: []string{"0", "1"}}
	ds, err := dataset.Load(ctx, o)
	if err != nil {
		return nil, err
	}
	if len(ds.Ratings) == 0 {
		return nil, errors.Join(malformed(votes, "no raters: a column rater is expected, by which panels are known"), ds.Close())
	}
	raters := make([][]int, ds.Len())
	for _, r := range ds.Ratings {
		raters[r.Item] = append(raters[r.Item], int(r.Rater))
	}
	s := &voteSet{ds: ds, kept: indices(0, ds.Len())}
	panels := map[string]int{}
	for i, list := range raters {
		if len(list) < 10 {
			return nil, errors.Join(malformed(votes, "item %s has %d votes: at least 10 are expected, since they are held back to judge by",
				ds.Items[i], len(list)), ds.Close())
		}
		slices.Sort(list)
		key := fmt.Sprint(list)
		if _, seen := panels[key]; !seen {
			panels[key] = len(panels)
		}
		s.cluster = append(s.cluster, panels[key])
		ds.Groups = append(ds.Groups, strconv.Itoa(panels[key]))
	}
	if s.clusters = len(panels); s.clusters < 10 {
		return nil, errors.Join(malformed(votes, "%d panels of raters: at least 10 are expected, which splits keep together", s.clusters), ds.Close())
	}
	return s, nil
}
