package study

import (
	"context"
	"fmt"
	"os"

	"credence/internal/clinical"
	"credence/internal/cohort"
	"credence/nn"
	"credence/train"
)

// ADNI is the study of MRI scans with three labels each (Wu et al. 2019, Real
// Data Analysis), on the user's own cohort or on a synthetic one.
type ADNI struct {
	Seed  uint64 `json:"seed"`  // the first
	Seeds int    `json:"seeds"` // number of repetitions, each with new data and new networks

	// Clinical is the table of the user's own cohort: a row per scan, with the
	// path of its volume and the scores. "" means a synthetic cohort.
	Clinical string `json:"clinical,omitempty"`
	Rules    string `json:"rules,omitempty"`   // file of rules that make votes of scores; "" means the paper's
	Item     string `json:"item,omitempty"`    // column of the scan's name
	Subject  string `json:"subject,omitempty"` // column of the subject
	Path     string `json:"path,omitempty"`    // column of the volume

	// Scans and Fresh are the sizes of the synthetic cohort.
	Scans int         `json:"scans"`
	Fresh int         `json:"fresh"`
	Size  cohort.Size `json:"size"` // of the volumes that the network sees

	Components int     `json:"components"`
	Batch      int     `json:"batch"`
	Rate       float64 `json:"rate"`
	Schedule   string  `json:"schedule"` // of the learning rate
	Decay      float64 `json:"decay"`    // of weights
	Epochs     int     `json:"epochs"`
	Patience   int     `json:"patience"`
	Ensemble   int     `json:"ensemble"`
	Augment    string  `json:"augment,omitempty"`
	// PaperEpochs is the number of epochs to run at the paper's learning rate, to
	// show its effect; 0 for none.
	PaperEpochs int `json:"paperEpochs"`

	// Engine runs the networks; nil means the CPU. Device is its name where it is not the CPU, because
	// numbers depend on it.
	Engine nn.Engine `json:"-"`
	Device string    `json:"device,omitempty"`

	// Scratch is the folder for volumes, original and prepared; "" means one
	// inside the study's. They are removed when they are no longer needed unless
	// Keep is true.
	Scratch string `json:"-"`
	Keep    bool   `json:"-"`
}

// NewADNI returns the settings of the study, or of its small version.
func NewADNI(quick bool, seed uint64) *ADNI {
	a := &ADNI{
		Seed: seed, Seeds: 3, Scans: cohort.PaperScans, Fresh: 1000, Size: cohort.Size{96, 96, 80},
		Components: 3, Batch: 16, Rate: 3e-4, Schedule: "cosine", Decay: 0.05, Epochs: 14,
		Patience: 5, Ensemble: 1, PaperEpochs: 2,
		Item: "scan", Subject: "subject", Path: "path",
	}
	if quick {
		a.Seeds, a.Scans, a.Fresh, a.Size, a.Epochs, a.PaperEpochs = 1, 600, 400, cohort.Size{48, 48, 40}, 14, 1
	}
	return a
}

// paperRate is the learning rate of the paper.
const paperRate = 1e-6

// labels is a set of votes on the scans.
type labels string

const (
	// instruments are the diagnosis, the MMSE and the CDR: the paper's votes.
	instruments labels = "instruments"
	// modelled are the same votes, learned from with a model of who cast them.
	modelled labels = "instruments, raters modelled"
	// exchangeable are three votes with the probability that an instrument picked
	// at random votes AD. Only synthetic scans have them.
	exchangeable labels = "exchangeable"
	// shipped are exchangeable votes, learned from with the defaults of the command line on volumes of
	// half the size along each axis, where the defaults are five networks.
	shipped labels = "exchangeable, defaults"
)

// size returns the size of the volumes that a network gets.
func (a *ADNI) size(set labels) cohort.Size {
	if set != shipped {
		return a.Size
	}
	return cohort.Size{a.Size[0] / 2, a.Size[1] / 2, a.Size[2] / 2}
}

// synthetic reports whether the cohort is simulated.
func (a *ADNI) synthetic() bool { return a.Clinical == "" }

// sets returns the sets of labels to train on: the defaults first, where the truth is known.
func (a *ADNI) sets() []labels {
	if a.synthetic() {
		return []labels{shipped, instruments, modelled, exchangeable}
	}
	return []labels{instruments}
}

// Name implements [Study].
func (a *ADNI) Name() string { return "adni" }

// Prepare implements [Study].
func (a *ADNI) Prepare(_ context.Context, f *Folder) (int, error) {
	if a.Seeds < 1 {
		return 0, fmt.Errorf("a study with %d seeds", a.Seeds)
	}
	if _, err := train.ParseAugment(a.Augment); err != nil {
		return 0, err
	}
	if a.Scratch == "" {
		a.Scratch = f.Path("scans")
	}
	pieces := a.Seeds * len(a.sets())
	if a.PaperEpochs > 0 {
		pieces++
	}
	return pieces, nil
}

// Measure implements [Study].
func (a *ADNI) Measure(ctx context.Context, f *Folder) (Results, error) {
	results := &adniResults{ADNI: *a}
	var err error
	if results.Counts, err = a.counts(f); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	var next *adniCohort
	defer func() {
		cancel()
		_ = next.wait() // the study ended early: the outcome no longer matters
	}()
	for i := range a.Seeds {
		c := next
		if next = nil; c == nil {
			c = &adniCohort{study: a, folder: f, seed: a.Seed + uint64(i)}
		}
		for _, set := range a.sets() {
			r, err := piece(ctx, f, c.key(set),
				func(ctx context.Context) (*adniResult, error) { return c.study.measure(ctx, c, set) })
			if err != nil {
				return nil, err
			}
			results.Fits = append(results.Fits, r)
			if next == nil && i+1 < a.Seeds {
				next = c.drawNext(ctx)
			}
		}
		if i == 0 && a.PaperEpochs > 0 {
			results.Paper, err = piece(ctx, f, "the paper's learning rate",
				func(ctx context.Context) (*slowFit, error) { return a.paperRate(ctx, c) })
			if err != nil {
				return nil, err
			}
		}
		if err := c.close(); err != nil {
			return nil, err
		}
	}
	if !a.Keep {
		os.Remove(a.Scratch) // only if it is empty
	}
	return results, nil
}

// counts returns how often each instrument gives each level, as in the paper's
// table.
func (a *ADNI) counts(f *Folder) (*levelCounts, error) {
	if a.synthetic() {
		c, err := cohort.New(cohort.Options{Scans: a.Scans, Seed: a.Seed})
		if err != nil {
			return nil, err
		}
		t := &levelCounts{Levels: []string{"NC", "MCI", "AD"}}
		for l, in := range cohort.Instruments {
			t.Instruments = append(t.Instruments, in.Name)
			row := make([]int, len(t.Levels))
			for _, s := range c.Scans {
				row[s.Level[l]]++
			}
			t.Counts = append(t.Counts, row)
		}
		return t, nil
	}
	rules, res, err := a.readClinical()
	if err != nil {
		return nil, err
	}
	t := &levelCounts{Levels: rules.Levels(), Counts: res.Counts}
	for _, v := range rules.Voters {
		t.Instruments = append(t.Instruments, v.Name)
	}
	return t, nil
}

// levelCounts is the table of levels by instrument.
type levelCounts struct {
	Instruments []string `json:"instruments"`
	Levels      []string `json:"levels"`
	Counts      [][]int  `json:"counts"` // [instruments × levels]
}

// rules returns the rules that make votes of scores.
func (a *ADNI) rules() (*clinical.Rules, error) {
	if a.Rules == "" {
		return clinical.Default(), nil
	}
	return clinical.Read(a.Rules)
}
