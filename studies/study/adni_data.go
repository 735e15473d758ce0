package study

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"credence/dataset"
	"credence/internal/atomicfile"
	"credence/internal/clinical"
	"credence/internal/cohort"
	"credence/nn"
)

// adniCohort is the cohort of one seed, made and read when it is first needed.
type adniCohort struct {
	study  *ADNI
	folder *Folder
	seed   uint64

	truth *cohort.Cohort // nil for the user's own cohort
	dir   string
	drawn chan error // nil unless it is drawn ahead
}

// drawNext begins to draw the cohort of the next seed where networks leave the cores to it, and returns it, or
// nil: on the CPU it would only slow them down, and it is not needed if its pieces are done.
func (c *adniCohort) drawNext(ctx context.Context) *adniCohort {
	a := c.study
	next := &adniCohort{study: a, folder: c.folder, seed: c.seed + 1}
	_, cpu := a.Engine.(nn.CPU)
	if a.Engine == nil || cpu || c.truth == nil || c.folder.hasPiece(next.key(a.sets()[0])) {
		return nil
	}
	next.drawn = make(chan error, 1)
	go func() { next.drawn <- next.draw(ctx, cohort.WriteOptions{Size: a.Size, Apart: true}) }()
	return next
}

// wait waits until a cohort that is drawn ahead is complete.
func (c *adniCohort) wait() error {
	if c == nil || c.drawn == nil {
		return nil
	}
	err := <-c.drawn
	c.drawn = nil
	return err
}

// key names the piece of a set of labels.
func (c *adniCohort) key(set labels) string { return fmt.Sprintf("seed %d, %s", c.seed, set) }

// scans are the items of one set of labels: those to train and test on, and
// fresh ones of other subjects.
type scans struct {
	study, fresh *dataset.Dataset
	// shown and truth belong to the items of study and then fresh: what an image
	// shows, and the probability of AD. nil where they are unknown.
	shown, truth []float64
	// between is the variance of the instruments' own probabilities, over m.
	between []float64
	// probability is that of AD at a severity.
	probability func(severity float64) float64
}

// open returns the scans with one set of labels.
func (c *adniCohort) open(ctx context.Context, set labels) (*scans, error) {
	a := c.study
	if err := c.make(ctx); err != nil {
		return nil, err
	}
	if !a.synthetic() {
		votes, err := c.votes(a.Clinical, "votes.csv")
		if err != nil {
			return nil, err
		}
		ds, err := c.load(a.Clinical, votes, a.size(set))
		if err != nil {
			return nil, err
		}
		return &scans{study: ds}, nil
	}
	s := &scans{probability: func(severity float64) float64 {
		_, mean := c.truth.Probability(severity)
		return mean
	}}
	for _, scan := range c.truth.Scans {
		s.shown = append(s.shown, scan.Shown)
		s.truth = append(s.truth, scan.Mean)
		s.between = append(s.between, between(scan.Pi))
	}
	for _, part := range []struct {
		prefix string
		to     **dataset.Dataset
	}{{"", &s.study}, {cohort.FreshPrefix, &s.fresh}} {
		table := filepath.Join(c.dir, part.prefix+cohort.ClinicalFile)
		votes := filepath.Join(c.dir, part.prefix+cohort.ExchangeableFile)
		if set == instruments || set == modelled {
			var err error
			if votes, err = c.votes(table, part.prefix+"instruments.csv"); err != nil {
				return nil, errors.Join(err, s.close())
			}
		}
		ds, err := c.load(table, votes, a.size(set))
		if err != nil {
			return nil, errors.Join(err, s.close())
		}
		*part.to = ds
	}
	return s, nil
}

// between returns V/m: the sample variance of the m probabilities, over m.
func between(pi [3]float64) float64 {
	mean, sum := (pi[0]+pi[1]+pi[2])/3, 0.0
	for _, p := range pi {
		sum += (p - mean) * (p - mean)
	}
	return sum / 2 / 3
}

func (s *scans) close() error {
	var err error
	for _, ds := range []*dataset.Dataset{s.study, s.fresh} {
		if ds != nil {
			err = errors.Join(err, ds.Close())
		}
	}
	return err
}

// make writes the volumes of a synthetic cohort, unless they are there.
func (c *adniCohort) make(ctx context.Context) error {
	if err := c.wait(); err != nil {
		return err
	}
	a := c.study
	o := cohort.WriteOptions{Size: a.Size}
	if c.folder.Progress != nil {
		o.Progress = func(done, total int) {
			if done%100 == 0 {
				c.folder.Progress(c.folder.done, c.folder.total,
					fmt.Sprintf("seed %d: drawing scan %d of %d", c.seed, done, total))
			}
		}
	}
	return c.draw(ctx, o)
}

// draw is make with options of writing.
func (c *adniCohort) draw(ctx context.Context, o cohort.WriteOptions) error {
	a := c.study
	c.dir = filepath.Join(a.Scratch, fmt.Sprintf("seed-%d", c.seed))
	if err := atomicfile.MkdirAll(c.dir); err != nil {
		return err
	}
	if !a.synthetic() || c.truth != nil {
		return nil
	}
	truth, err := cohort.New(cohort.Options{Scans: a.Scans, Fresh: a.Fresh, Seed: c.seed})
	if err != nil {
		return err
	}
	if err := cohort.Write(ctx, c.dir, truth, o); err != nil {
		return err
	}
	c.truth = truth
	return nil
}

// close removes the volumes of the seed.
func (c *adniCohort) close() error {
	if !c.study.synthetic() || c.study.Keep || c.dir == "" {
		return nil
	}
	return os.RemoveAll(c.dir)
}

// votes writes the votes of the instruments in a clinical table and returns the
// file.
func (c *adniCohort) votes(table, name string) (string, error) {
	rules, err := c.study.rules()
	if err != nil {
		return "", err
	}
	res, err := c.study.apply(rules, table)
	if err != nil {
		return "", err
	}
	rows := [][]string{{"item", "rater", "label"}}
	for _, v := range res.Votes {
		rows = append(rows, []string{v.Item, v.Rater, v.Label})
	}
	path := filepath.Join(c.dir, name)
	out := &Folder{path: c.dir}
	return path, out.writeCSV(name, rows)
}

func (a *ADNI) apply(rules *clinical.Rules, path string) (*clinical.Result, error) {
	return rules.ApplyFile(context.Background(), path, a.Item)
}

// readClinical reads the scores of the user's own cohort.
func (a *ADNI) readClinical() (*clinical.Rules, *clinical.Result, error) {
	rules, err := a.rules()
	if err != nil {
		return nil, nil, err
	}
	res, err := a.apply(rules, a.Clinical)
	return rules, res, err
}

// load reads volumes and votes as credence train does.
func (c *adniCohort) load(table, votes string, size cohort.Size) (*dataset.Dataset, error) {
	a := c.study
	rules, err := a.rules()
	if err != nil {
		return nil, err
	}
	var classes []string
	for _, class := range rules.Classes {
		classes = append(classes, class.Name)
	}
	if len(classes) != 2 {
		return nil, fmt.Errorf("the rules have the classes %q, and the study is about two", classes)
	}
	o := dataset.LoadOptions{Data: []string{table}, Votes: []string{votes}}
	o.FeatureOptions = dataset.FeatureOptions{
		ItemColumn: a.Item, GroupColumn: a.Subject, Features: []string{a.Path}, ImageColumn: a.Path, AnyPath: true,
		Volume: dataset.VolumeOptions{
			Size: size, Preparation: dataset.Preparation{Store: "uint8"},
			CacheDir: filepath.Join(c.dir, "prepared", fmt.Sprintf("%dx%dx%d", size[0], size[1], size[2])),
		},
	}
	o.VotesOptions = dataset.VotesOptions{Classes: classes}
	ds, err := dataset.Load(context.Background(), o)
	if err != nil {
		return nil, err
	}
	if len(ds.Items) == 0 {
		return nil, errors.Join(fmt.Errorf("reading %s: no scans", table), ds.Close())
	}
	return ds, nil
}

// groupOf returns the group of an item, by the agreement of its votes.
func groupOf(counts []float32) string {
	switch {
	case counts[0] > 0 && counts[1] > 0:
		return "MIX"
	case counts[1] > 0:
		return "AD by all"
	case counts[0] > 0:
		return "NC+MCI by all"
	}
	return ""
}

// groups are the values of groupOf, in the order of tables and figures.
var groups = []string{"NC+MCI by all", "AD by all", "MIX"}
