package main

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"credence/gpu"
	"credence/nn"
	"credence/studies/study"
	"credence/train"
)

// commands are all studies.
var commands = []studyCommand{
	{
		name:    "comparison",
		short:   "Which methods recover the spread of the probability? The 2-D simulation",
		example: "comparison --quick --out comparison\ncomparison --remedies\n",
		declare: func(f *pflag.FlagSet) func(*cobra.Command, common) (study.Study, error) {
			remedies := f.Bool("remedies", false, "also compare numbers of items and configurations of the mixture")
			return func(_ *cobra.Command, o common) (study.Study, error) {
				c := study.NewComparison(o.quick, o.seed)
				c.Remedies = *remedies
				return c, nil
			}
		},
	},
	{
		name:    "coverage",
		short:   "How often intervals contain the true probability, on MNIST",
		example: "coverage --quick --out coverage\ncoverage --out coverage --mnist data/mnist\n",
		declare: func(f *pflag.FlagSet) func(*cobra.Command, common) (study.Study, error) {
			images := f.String("mnist", "", "`folder` with the four IDX files of MNIST, plain or compressed with gzip")
			return func(cmd *cobra.Command, o common) (study.Study, error) {
				c := study.NewCoverage(o.quick, o.seed)
				c.Source.Folder = *images
				if !o.quiet {
					c.Source.Note = func(s string) { fmt.Fprintf(cmd.ErrOrStderr(), "reproduce: %s\n", s) }
				}
				return c, nil
			}
		},
	},
	{
		name:    "adni",
		short:   "MRI scans with three imperfect labels per patient",
		example: "adni --quick --out adni\nadni --clinical ADNI/clinical.csv --out adni\n",
		declare: declareADNI,
	},
	{
		name:    "votes",
		short:   "Do intervals agree with people's held-back votes?",
		example: "votes --data data --quick --out votes\nvotes --data data --out votes\n",
		declare: func(f *pflag.FlagSet) func(*cobra.Command, common) (study.Study, error) {
			data := f.String("data", "", "`folder` with the sets cifar10h and recidivism, or one of them")
			return func(_ *cobra.Command, o common) (study.Study, error) {
				if *data == "" {
					return nil, usagef("--data is missing: expected a folder with cifar10h or recidivism in it")
				}
				return study.NewVotes(*data, o.quick, o.seed)
			}
		},
	},
	{
		name:    "raters",
		short:   "What is gained by modelling raters who are biased or guess? A simulation",
		example: "raters --quick --out raters\nraters --out raters\n",
		declare: func(*pflag.FlagSet) func(*cobra.Command, common) (study.Study, error) {
			return func(_ *cobra.Command, o common) (study.Study, error) { return study.NewRaters(o.quick, o.seed), nil }
		},
	},
	{
		name:    "strata",
		short:   "Do intervals hold in every stratum, and not only on average? Simulations",
		example: "strata --quick --out strata\nstrata --cases spread,paper --seeds 4 --out strata\n",
		declare: func(f *pflag.FlagSet) func(*cobra.Command, common) (study.Study, error) {
			cases := f.StringSlice("cases", nil, "names of the `designs` (default all)")
			seeds := f.Int("seeds", 8, "`number` of seeds")
			return func(_ *cobra.Command, o common) (study.Study, error) {
				if *seeds < 1 {
					return nil, usagef("--seeds %d: expected at least 1", *seeds)
				}
				s, err := study.NewStrata(o.quick, o.seed, *seeds, *cases)
				if err != nil {
					return nil, usageError{err}
				}
				return s, nil
			}
		},
	},
	{
		name:    "judges",
		short:   "What are machine judges worth who err together? A simulation, and public votes",
		example: "judges --quick --out judges\njudges --data data --out judges\n",
		declare: declareJudges,
	},
}

// declareJudges declares the flags of the study of judges.
func declareJudges(f *pflag.FlagSet) func(*cobra.Command, common) (study.Study, error) {
	data := f.String("data", "", "`folder` with sets such as summeval and lesion (default: the simulation alone)")
	seeds := f.Int("seeds", 8, "`number` of seeds of the simulation")
	return func(_ *cobra.Command, o common) (study.Study, error) {
		if *seeds < 1 {
			return nil, usagef("--seeds %d: expected at least 1", *seeds)
		}
		return study.NewJudges(*data, o.quick, o.seed, *seeds), nil
	}
}

// declareADNI declares the flags of the MRI study. Those with a zero default leave the study's own setting.
func declareADNI(f *pflag.FlagSet) func(*cobra.Command, common) (study.Study, error) {
	var given study.ADNI
	var size, device string
	f.StringVar(&given.Clinical, "clinical", "", "`table` of a cohort of your own, .csv (default: a synthetic cohort)")
	f.StringVar(&given.Rules, "rules", "", "`file` of rules that turn scores into votes, .yaml")
	f.StringVar(&given.Item, "item", "scan", "`column` of the scan's name")
	f.StringVar(&given.Subject, "subject", "subject", "`column` of the subject, who is never on both sides of a split")
	f.StringVar(&given.Path, "path", "path", "`column` of the path of the volume")
	f.StringVar(&size, "size", "", "`voxels` that volumes are resampled to (default 96x96x80)")
	f.IntVar(&given.Seeds, "seeds", 0, "number of `times` that everything is drawn and trained anew (default 3, of your own cohort 1)")
	f.IntVar(&given.Epochs, "epochs", 0, "maximum number of `epochs` (default: that of the study)")
	f.IntVar(&given.Ensemble, "ensemble", 0, "number of `networks` (default: that of the study)")
	f.Float64Var(&given.Rate, "rate", 0, "learning `rate` (default: that of the study)")
	f.StringVar(&given.Augment, "augment", "", "augmentation, such as `shift=2,flip`")
	f.StringVar(&given.Scratch, "scratch", "", "`folder` for the volumes (default: scans in --out)")
	f.BoolVar(&given.Keep, "keep-scans", false, "keep the volumes of the synthetic cohort")
	f.StringVar(&device, "device", "cpu", "where networks run: `cpu`, gpu or gpu:N; GPUs need a build with -tags cuda")
	return func(cmd *cobra.Command, o common) (study.Study, error) {
		s := study.NewADNI(o.quick, o.seed)
		s.Clinical, s.Rules, s.Scratch, s.Keep = given.Clinical, given.Rules, given.Scratch, given.Keep
		s.Item, s.Subject, s.Path = given.Item, given.Subject, given.Path
		if s.Clinical != "" {
			s.Seeds = 1
		}
		for name, set := range map[string]func(){
			"seeds":    func() { s.Seeds = given.Seeds },
			"epochs":   func() { s.Epochs = given.Epochs },
			"ensemble": func() { s.Ensemble = given.Ensemble },
			"rate":     func() { s.Rate = given.Rate },
			"augment":  func() { s.Augment = given.Augment },
		} {
			if cmd.Flags().Changed(name) {
				set()
			}
		}
		if _, err := train.ParseAugment(s.Augment); err != nil {
			return nil, usagef("--augment %q: %w", s.Augment, err)
		}
		if size != "" {
			if n, err := fmt.Sscanf(size, "%dx%dx%d", &s.Size[0], &s.Size[1], &s.Size[2]); n != 3 || err != nil {
				return nil, usagef("--size %q: expected three numbers such as 96x96x80", size)
			}
		}
		if s.Seeds < 1 || s.Epochs < 1 || s.Ensemble < 1 || !(s.Rate > 0) {
			return nil, usagef("--seeds %d, --epochs %d, --ensemble %d, --rate %v: expected positive numbers", s.Seeds, s.Epochs, s.Ensemble, s.Rate)
		}
		engine, err := openDevice(device)
		if _, cpu := engine.(nn.CPU); err == nil && !cpu {
			s.Engine, s.Device = engine, engine.Name()
		}
		return s, err
	}
}

// openDevice returns the engine that --device names.
func openDevice(device string) (nn.Engine, error) {
	number := gpu.All
	switch text, isNumber := strings.CutPrefix(device, "gpu:"); {
	case device == "cpu" || device == "auto":
		return nn.CPU{}, nil
	case isNumber:
		var err error
		if number, err = strconv.Atoi(text); err != nil || number < 0 {
			return nil, usagef("--device %q: expected cpu, gpu or gpu:N", device)
		}
	case device != "gpu":
		return nil, usagef("--device %q: expected cpu, gpu or gpu:N", device)
	}
	engine, err := gpu.Open(number)
	if err != nil {
		return nil, fmt.Errorf("--device %s: %w", device, err)
	}
	return engine, nil
}
