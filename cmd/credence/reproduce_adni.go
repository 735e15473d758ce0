package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"credence/internal/study"
	"credence/nn"
	"credence/train"
)

func newReproduceADNI() *cobra.Command {
	o := studyFlags{}
	var a study.ADNI
	var size string
	var on device
	cmd := &cobra.Command{
		Use:   "adni",
		Short: "MRI scans with three imperfect labels a patient",
		Long:  helpText("reproduce-adni"),
		Example: `  credence reproduce adni --quick --out adni
  credence reproduce adni --clinical ADNI/clinical.csv --out adni`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			s := study.NewADNI(o.quick, o.seed)
			s.Clinical, s.Rules, s.Scratch, s.Keep = a.Clinical, a.Rules, a.Scratch, a.Keep
			s.Item, s.Subject, s.Path = a.Item, a.Subject, a.Path
			if s.Clinical != "" && !cmd.Flags().Changed("seeds") {
				s.Seeds = 1
			}
			f := cmd.Flags()
			if f.Changed("seeds") {
				s.Seeds = a.Seeds
			}
			if f.Changed("epochs") {
				s.Epochs = a.Epochs
			}
			if f.Changed("ensemble") {
				s.Ensemble = a.Ensemble
			}
			if f.Changed("rate") {
				s.Rate = a.Rate
			}
			if f.Changed("augment") {
				if _, err := train.ParseAugment(a.Augment); err != nil {
					return usagef("--augment %q: %w", a.Augment, err)
				}
				s.Augment = a.Augment
			}
			if size != "" {
				if n, err := fmt.Sscanf(size, "%dx%dx%d", &s.Size[0], &s.Size[1], &s.Size[2]); n != 3 || err != nil {
					return usagef("--size %q: expected three numbers such as 96x96x80", size)
				}
			}
			if s.Seeds < 1 || s.Epochs < 1 || s.Ensemble < 1 || !(s.Rate > 0) {
				return usagef("--seeds %d, --epochs %d, --ensemble %d, --rate %v: expected positive numbers", s.Seeds, s.Epochs, s.Ensemble, s.Rate)
			}
			if err := runOn(&s, on); err != nil {
				return err
			}
			return o.run(cmd, "adni", s, func(ctx context.Context, f *study.Folder) error { return s.Run(ctx, f, o.again(cmd)) })
		},
	}
	f := cmd.Flags()
	o.declare(f, "adni")
	on.declare(f)
	f.StringVar(&a.Clinical, "clinical", "", "`table` of a cohort of your own, .csv (default: a synthetic cohort)")
	f.StringVar(&a.Rules, "rules", "", "`file` of rules that make votes of scores, .yaml")
	f.StringVar(&a.Item, "item", "scan", "`column` of the scan's name")
	f.StringVar(&a.Subject, "subject", "subject", "`column` of the subject, who is never on both sides of a split")
	f.StringVar(&a.Path, "path", "path", "`column` of the path of the volume")
	f.StringVar(&size, "size", "", "`voxels` that volumes are resampled to (default 96x96x80)")
	f.IntVar(&a.Seeds, "seeds", 3, "how many `times` everything is drawn and trained anew")
	f.IntVar(&a.Epochs, "epochs", 0, "`epochs` at most (default: as the study has them)")
	f.IntVar(&a.Ensemble, "ensemble", 0, "`networks` (default: as the study has them)")
	f.Float64Var(&a.Rate, "rate", 0, "learning `rate` (default: as the study has it)")
	notZero(f, "epochs", "ensemble", "rate")
	f.StringVar(&a.Augment, "augment", "", "augmentation, such as `shift=2,flip`")
	f.StringVar(&a.Scratch, "scratch", "", "`folder` for the volumes (default: scans in --out)")
	f.BoolVar(&a.Keep, "keep-scans", false, "keep the volumes of the synthetic cohort")
	return cmd
}

// runOn has a study's networks run on a device.
func runOn(s *study.ADNI, on device) error {
	e, err := on.engine()
	if err != nil {
		return err
	}
	if _, cpu := e.(nn.CPU); !cpu {
		s.Engine, s.Device = e, e.Name()
	}
	return nil
}
