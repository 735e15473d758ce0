package serve

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"credence/dataset"
	"credence/evaluate"
	"credence/internal/fault"
	"credence/internal/words"
	"credence/model"
	"credence/predict"
	"credence/run"
)

// served is one version of a model. It is immutable except for its cache of layouts: a run that is
// trained again becomes another served.
type served struct {
	name, version string
	folder        run.Folder
	model         *model.Model
	hash          string // SHA-256 of the file
	loaded        time.Time
	stamp         stamp
	features      features
	read          dataset.LoadOptions // how the run's files are read
	dists         bool                // predictions are distributions
	raters        *evaluate.RaterReport
	noRaters      error        // why raters is nil
	layouts       sync.Map     // {level, MaxWidth, MinTop} → *layout with the default columns
	kept          atomic.Int32 // number of layouts
}

// stamp is compared to detect that a file was replaced.
type stamp struct {
	size     int64
	modified time.Time
}

// catalog is a snapshot of the served models: by name, each with its versions, the newest last.
type catalog struct {
	models map[string][]*served
	broken map[string]error // by path of model files that cannot be read
}

// registry finds the models below a path and reloads them when they change. A request uses the catalog
// that was current when it started.
type registry struct {
	path    string
	log     *slog.Logger
	runtime dataset.BackboneOptions // how backbones are run
	current atomic.Pointer[catalog]
	mu      sync.Mutex // one reload at a time
}

// newRegistry loads the models at path: a run, a model file, or a folder of runs. A subfolder that
// contains runs itself is a model of that name with one version per run.
func newRegistry(path string, backbone dataset.BackboneOptions, log *slog.Logger) (*registry, error) {
	r := &registry{path: path, log: log, runtime: backbone}
	r.current.Store(&catalog{})
	if err := r.reload(); err != nil {
		return nil, err
	}
	c := r.current.Load()
	if len(c.models) > 0 {
		return r, nil
	}
	if len(c.broken) > 0 {
		return nil, c.broken[slices.Min(slices.Collect(maps.Keys(c.broken)))]
	}
	return nil, fmt.Errorf("no trained model in %s: expected the folder of a run, or a folder of runs", path)
}

// place is the location of a version of a model.
type place struct{ name, version, path string }

// find returns the model files below the path.
func (r *registry) find() ([]place, error) {
	info, err := os.Stat(r.path)
	if err != nil {
		return nil, fault.Of(r.path, err)
	}
	if !info.IsDir() {
		name := strings.TrimSuffix(filepath.Base(r.path), filepath.Ext(r.path))
		return []place{{name, "", r.path}}, nil
	}
	whole, err := filepath.Abs(r.path)
	if err != nil {
		return nil, err
	}
	var list []place
	add := func(name, version, folder string) (found bool) {
		f := run.Folder(folder)
		if found = f.Has(run.ModelFile); found {
			list = append(list, place{name, version, f.Path(run.ModelFile)})
		}
		return found
	}
	if add(filepath.Base(whole), "", r.path) {
		return list, nil
	}
	for _, name := range subfolders(r.path) {
		folder := filepath.Join(r.path, name)
		if add(name, "", folder) {
			continue
		}
		for _, version := range subfolders(folder) {
			add(name, version, filepath.Join(folder, version))
		}
	}
	return list, nil
}

// subfolders returns the names of the subfolders of path, with numbers in numeric order.
func subfolders(path string) []string {
	entries, err := os.ReadDir(path)
	if err != nil {
		return nil
	}
	var list []string
	for _, e := range entries {
		if info, err := os.Stat(filepath.Join(path, e.Name())); err == nil && info.IsDir() && !strings.HasPrefix(e.Name(), ".") {
			list = append(list, e.Name())
		}
	}
	slices.SortFunc(list, byNumber)
	return list
}

// byNumber compares names, and numbers numerically: 9 comes before 10.
func byNumber(a, b string) int {
	x, errX := strconv.ParseUint(a, 10, 64)
	y, errY := strconv.ParseUint(b, 10, 64)
	if errX == nil && errY == nil && x != y {
		return cmp.Compare(x, y)
	}
	return strings.Compare(a, b)
}

// reload checks for new, replaced and removed models. If a model cannot be read, the previous version
// continues to serve, and the error is logged.
func (r *registry) reload() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	places, err := r.find()
	if err != nil {
		return err
	}
	old := r.current.Load()
	next := &catalog{models: map[string][]*served{}, broken: map[string]error{}}
	for _, p := range places {
		before := old.at(p.path)
		s, err := r.load(p, before)
		if err != nil {
			next.broken[p.path] = err
			if was := old.broken[p.path]; was == nil || was.Error() != err.Error() {
				r.log.Error("reading a model failed", "path", p.path, "error", err, "old_one_serves", before != nil)
			}
			if s = before; s == nil {
				continue
			}
		} else if s != before {
			r.log.Info("model loaded", "model", s.name, "version", s.version, "path", p.path)
		}
		next.models[p.name] = append(next.models[p.name], s)
	}
	r.current.Store(next)
	return nil
}

// at returns the version that was loaded from a path, or nil.
func (c *catalog) at(path string) *served {
	for s := range c.all() {
		if s.folder.Path(filepath.Base(path)) == path {
			return s
		}
	}
	return nil
}

// load reads the model at a place, or returns before if the file has not changed.
func (r *registry) load(p place, before *served) (*served, error) {
	info, err := os.Stat(p.path)
	if err != nil {
		return nil, err
	}
	now := stamp{info.Size(), info.ModTime()}
	if before != nil && before.stamp == now {
		return before, nil
	}
	m, err := model.Load(p.path)
	if err != nil {
		return nil, err
	}
	sum, err := predict.SumFile(context.Background(), p.path)
	if err != nil {
		return nil, err
	}
	s := &served{name: p.name, version: cmp.Or(p.version, sum.SHA256[:12]), folder: run.FolderOf(p.path), model: m, hash: sum.SHA256,
		loaded: time.Now(), stamp: now, features: m.Transform.Schema(), dists: m.Traits().Joint}
	s.read.FeatureOptions.Backbone = r.runtime
	s.folder.ReadAs(&s.read)
	if b := &s.read.FeatureOptions.Backbone; slices.ContainsFunc(s.features, func(p dataset.Feature) bool { return p.Embedding != nil }) {
		b.Shared = dataset.NewBackbone(*b, 0)
		if err := b.Shared.Open(context.Background(), s.features); err != nil {
			return nil, err
		}
	}
	of := p.path
	if filepath.Base(of) == run.ModelFile {
		of = filepath.Dir(of)
	}
	s.raters, s.noRaters = run.Raters(m, of)
	return s, nil
}

// watch reloads the models periodically until ctx is done.
func (r *registry) watch(ctx context.Context, every time.Duration) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			if err := r.reload(); err != nil {
				r.log.Error("checking for new models failed", "error", err)
			}
		}
	}
}

// names returns the sorted names of the models.
func (c *catalog) names() []string { return slices.Sorted(maps.Keys(c.models)) }

// newest returns the newest version of a model.
func (c *catalog) newest(name string) *served {
	versions := c.models[name]
	return versions[len(versions)-1]
}

// all iterates over the versions of all models, in order.
func (c *catalog) all() iter.Seq[*served] {
	return func(yield func(*served) bool) {
		for _, name := range c.names() {
			for _, m := range c.models[name] {
				if !yield(m) {
					return
				}
			}
		}
	}
}

// get returns a version of a model, the newest if version is "". If name is "", there must be exactly
// one model.
func (r *registry) get(name, version string) (*served, error) {
	c := r.current.Load()
	if name == "" {
		if len(c.models) != 1 {
			return nil, badRequest("expected the name of a model, one of %s", words.Few(c.names()))
		}
		name = c.names()[0]
	}
	versions := c.models[name]
	if versions == nil {
		return nil, failf(404, "unknown model %q: expected one of %s", name, words.Few(c.names()))
	}
	if version == "" {
		return c.newest(name), nil
	}
	have := words.Each(versions, func(s *served) string { return s.version })
	if i := slices.Index(have, version); i >= 0 {
		return versions[i], nil
	}
	return nil, failf(404, "model %q: unknown version %q: expected one of %s", name, version, words.Few(have))
}
